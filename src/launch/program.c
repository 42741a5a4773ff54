/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/program.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

static int find(const char *name, const char *path, char *buf, size_t size)
{
	struct stat st;

	if (strchr(name, '/')) {
		snprintf(buf, size, "%s", name);
		return access(buf, X_OK);
	}
	for (path = path ? path : "/bin:/usr/bin"; *path;) {
		size_t n = strcspn(path, ":");

		snprintf(buf, size, "%.*s%s%s", (int)n, path, n ? "/" : "", name);
		if (!access(buf, X_OK) && !stat(buf, &st) && S_ISREG(st.st_mode))
			return 0;
		path += n + (path[n] == ':');
	}
	return -1;
}

static bool is_sanitizer(const char *soname)
{
	return str_starts(soname, "libasan.so") || str_starts(soname, "libtsan.so") ||
	       str_starts(soname, "libclang_rt.");
}

static bool needs_sanitizer(Elf *elf)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr head;
		Elf_Data *data;
		GElf_Dyn dyn;

		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &dyn); i++) {
			const char *name = dyn.d_tag == DT_NEEDED
						   ? elf_strptr(elf, head.sh_link, dyn.d_un.d_val)
						   : NULL;

			if (name && is_sanitizer(name))
				return true;
		}
	}
	return false;
}

static enum program_kind look_at_elf(Elf *elf, int fd)
{
	size_t n = 0;

	if (gelf_getclass(elf) != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		return PROGRAM_CLASS;
	if (elf_getphdrnum(elf, &n))
		return PROGRAM_UNKNOWN;
	for (size_t i = 0; i < n; i++) {
		char interpreter[PATH_MAX] = "";
		GElf_Phdr part;

		if (!gelf_getphdr(elf, (int)i, &part) || part.p_type != PT_INTERP)
			continue;
		if (part.p_filesz >= sizeof(interpreter) ||
		    pread(fd, interpreter, part.p_filesz, (off_t)part.p_offset) < 0)
			return PROGRAM_UNKNOWN;
		if (strstr(interpreter, "musl") || strstr(interpreter, "/system/bin/linker"))
			return PROGRAM_LIBC;
		return needs_sanitizer(elf) ? PROGRAM_SANITIZER : PROGRAM_FINE;
	}
	return PROGRAM_STATIC;
}

/* The interpreter that a #! line names; for env, the program that env will find. */
static bool interpreter_of(const char *head, const char *path, char *buf, size_t size)
{
	char words[2][PATH_MAX] = {"", ""};

	if (sscanf(head, "#! %4095s %4095s", words[0], words[1]) < 1)
		return false;
	if (str_ends(words[0], "/env") && words[1][0] && words[1][0] != '-')
		return !find(words[1], path, buf, size);
	snprintf(buf, size, "%s", words[0]);
	return true;
}

static enum program_kind look(const char *file, const char *path, int depth)
{
	enum program_kind kind = PROGRAM_UNKNOWN;
	char head[512] = "", next[PATH_MAX];
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	Elf *elf;

	if (fd < 0)
		return PROGRAM_UNKNOWN;
	if (pread(fd, head, sizeof(head) - 1, 0) < 2) {
		close(fd);
		return PROGRAM_UNKNOWN;
	}
	if (!memcmp(head, "#!", 2)) {
		close(fd);
		head[strcspn(head, "\n")] = '\0';
		return depth < 4 && interpreter_of(head, path, next, sizeof(next))
			       ? look(next, path, depth + 1)
			       : PROGRAM_UNKNOWN;
	}
	if (!fstat(fd, &st) && (st.st_mode & (S_ISUID | S_ISGID))) {
		close(fd);
		return PROGRAM_SECURE;
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		kind = look_at_elf(elf, fd);
	elf_end(elf);
	close(fd);
	return kind;
}

enum program_kind program_look(const char *name, const char *path)
{
	char file[PATH_MAX];

	return find(name, path, file, sizeof(file)) ? PROGRAM_UNKNOWN : look(file, path, 0);
}

bool program_takes_shim(enum program_kind kind)
{
	return kind != PROGRAM_CLASS && kind != PROGRAM_LIBC && kind != PROGRAM_SANITIZER;
}

const char *program_why(enum program_kind kind)
{
	switch (kind) {
	case PROGRAM_STATIC:
		return "it is linked statically";
	case PROGRAM_SECURE:
		return "it runs set-uid or set-gid";
	case PROGRAM_CLASS:
		return "its word size is not that of coldprof";
	case PROGRAM_LIBC:
		return "its libc is not glibc";
	case PROGRAM_SANITIZER:
		return "it is built with a sanitizer, whose runtime must come first";
	case PROGRAM_FINE:
	case PROGRAM_UNKNOWN:
		break;
	}
	return NULL;
}
