/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file's path, read from the dentries, up to where the paths of coldprof and its command begin: it
 * holds for deleted files and for processes that are gone when coldprof looks.
 */
#pragma once
#include "state.bpf.h"

#define PATH_DEPTH 48

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct inode_key);
	__type(value, uint8_t);
} named SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernel_path);
} path_room SEC(".maps");

/* The first that has a path is the root of the tree. */
static __always_inline void top_find(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (top_mount)
		return;
	top_dentry = (uint64_t)BPF_CORE_READ(task, fs, root.dentry);
	top_mount = (uint64_t)BPF_CORE_READ(task, fs, root.mnt);
}

/*
 * The offset lives in `out`, not in a register: what the verifier knows about it is then the same
 * in every round, and it walks the loop once instead of once for each sum of lengths.
 */
static __always_inline void path_walk(struct file *file, struct kernel_names *out)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct vfsmount *vfs = BPF_CORE_READ(file, f_path.mnt);
	uint64_t inside = bpf_core_field_offset(struct mount, mnt);

	top_find();
	out->bytes = 0;
	out->cut = 0;
	for (int i = 0; i < PATH_DEPTH; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		uint32_t at = out->bytes;
		long n;

		if ((uint64_t)dentry == top_dentry && (uint64_t)vfs == top_mount)
			return;
		if (dentry == BPF_CORE_READ(vfs, mnt_root)) {
			struct mount *mount = (void *)vfs - inside;
			struct mount *above = BPF_CORE_READ(mount, mnt_parent);

			if (above == mount)
				return;
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			vfs = (void *)above + inside;
			continue;
		}
		if (parent == dentry)
			return;
		if (at >= KERNEL_PATH_BYTES)
			break;
		n = bpf_probe_read_kernel_str(out->names + at, KERNEL_NAME_MAX,
					      BPF_CORE_READ(dentry, d_name.name));
		if (n <= 0)
			break;
		out->bytes = (uint16_t)(at + n);
		dentry = parent;
	}
	out->cut = 1;
}

/* Not static: so it is verified once, whatever its callers know. `address` is of a struct file. */
__noinline int path_emit(struct thread *th, uint64_t address, uint64_t dev, uint64_t ino)
{
	struct file *file = (struct file *)address;
	struct inode_key key = {dev, ino};
	struct kernel_path *room;
	uint32_t zero = 0;
	uint8_t one = 1;
	uint64_t size;

	if (!th || bpf_map_lookup_elem(&named, &key))
		return 0;
	bpf_map_update_elem(&named, &key, &one, BPF_ANY);
	room = bpf_map_lookup_elem(&path_room, &zero);
	if (!room)
		return 0;
	head_fill(&room->head, KERNEL_PATH, th, bpf_ktime_get_ns());
	room->dev = dev;
	room->ino = ino;
	room->magic = BPF_CORE_READ(file, f_inode, i_sb, s_magic);
	room->size_bytes = (uint64_t)BPF_CORE_READ(file, f_inode, i_size);
	path_walk(file, &room->path);
	size = sizeof(*room) - sizeof(room->path.names) + room->path.bytes;
	if (size > sizeof(*room))
		size = sizeof(*room);
	emit(room, size, false);
	return 0;
}

/* Tell coldprof the path of an inode, once. */
static __always_inline void path_tell(struct thread *th, struct file *file, uint64_t dev,
				      uint64_t ino)
{
	if (th->told.ino == ino && th->told.dev == dev)
		return;
	th->told.dev = dev;
	th->told.ino = ino;
	path_emit(th, (uint64_t)file, dev, ino);
}
