/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include <stddef.h>

/* From linux/magic.h and, for those outside the kernel, from statfs(2). */
static const struct {
	uint32_t magic;
	const char *name;
} systems[] = {
	{0xef53, "ext4"},	  {0x58465342, "xfs"},	    {0x9123683e, "btrfs"},
	{0x794c7630, "overlay"},  {0x01021994, "tmpfs"},    {0x858458f6, "ramfs"},
	{0x6969, "nfs"},	  {0x65735546, "fuse"},	    {0x73717368, "squashfs"},
	{0xe0f5e1e2, "erofs"},	  {0x0bd00bd0, "lustre"},   {0x00c36400, "ceph"},
	{0xff534d42, "cifs"},	  {0xfe534d42, "smb2"},	    {0x2fc12fc1, "zfs"},
	{0x01021997, "9p"},	  {0x6a656a63, "virtiofs"}, {0xf2f52010, "f2fs"},
	{0xca451a4e, "bcachefs"}, {0x47504653, "gpfs"},
};

const char *fs_name(uint32_t magic)
{
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		if (systems[i].magic == magic)
			return systems[i].name;
	return NULL;
}
