/* SPDX-License-Identifier: Apache-2.0 */
/* File systems by the number that statfs(2) tells. */
#pragma once
#include <stdint.h>

/* "ext4", "overlay", "tmpfs", …, as /proc/filesystems has it; static, NULL for one not known. */
const char *fs_name(uint32_t magic);
