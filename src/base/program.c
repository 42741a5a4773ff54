/* SPDX-License-Identifier: Apache-2.0 */
#include "base/program.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/str.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

static int find(const char *name, const char *path, char *buf, size_t size)
{
	struct stat st;

	if (strchr(name, '/')) {
		snprintf(buf, size, "%s", name);
		return access(buf, X_OK);
	}
	while (*path) {
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

/* Whom the loader itself would refuse, or be. */
static enum program_kind look_at_loader(Elf *elf, const char *interpreter)
{
	GElf_Ehdr head;

	if (gelf_getclass(elf) != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		return PROGRAM_CLASS;
	if (!gelf_getehdr(elf, &head))
		return PROGRAM_UNKNOWN;
	if (head.e_machine != MACHINE)
		return PROGRAM_MACHINE;
	if (strstr(interpreter, "musl") || strstr(interpreter, "/system/bin/linker"))
		return PROGRAM_LIBC;
	return needs_sanitizer(elf) ? PROGRAM_SANITIZER : PROGRAM_FINE;
}

static enum program_kind look_at_elf(Elf *elf, int fd)
{
	size_t n = 0;

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
		return look_at_loader(elf, interpreter);
	}
	return PROGRAM_STATIC;
}

/* The interpreter that a #! line names; where PATH is told, for env the program that it will find. */
static bool interpreter_of(const char *head, const char *path, char *buf, size_t size)
{
	char words[2][PATH_MAX] = {"", ""};

	if (sscanf(head, "#! %4095s %4095s", words[0], words[1]) < 1)
		return false;
	if (path && str_ends(words[0], "/env") && words[1][0] && words[1][0] != '-')
		return !find(words[1], path, buf, size);
	snprintf(buf, size, "%s", words[0]);
	return true;
}

static bool is_secure(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
	       ((st.st_mode & (S_ISUID | S_ISGID)) ||
		getxattr(file, "security.capability", NULL, 0) > 0);
}

static enum program_kind look(const char *file, const char *path, int depth)
{
	enum program_kind kind = PROGRAM_UNKNOWN;
	char head[512] = "", next[PATH_MAX];
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	Elf *elf;

	if (fd < 0) /* sudo may be one that nobody reads */
		return is_secure(file) ? PROGRAM_SECURE : PROGRAM_UNKNOWN;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || pread(fd, head, sizeof(head) - 1, 0) < 2) {
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
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		kind = is_secure(file) ? PROGRAM_SECURE : look_at_elf(elf, fd);
	elf_end(elf);
	close(fd);
	return kind;
}

enum program_kind program_look(const char *name, const char *path)
{
	char file[PATH_MAX];

	path = path ? path : "/bin:/usr/bin";
	return find(name, path, file, sizeof(file)) ? PROGRAM_UNKNOWN : look(file, path, 0);
}

enum program_kind program_of_file(const char *file)
{
	return look(file, NULL, 0);
}

bool program_takes_shim(enum program_kind kind)
{
	return kind != PROGRAM_CLASS && kind != PROGRAM_MACHINE && kind != PROGRAM_LIBC &&
	       kind != PROGRAM_SANITIZER;
}

static const struct {
	const char *word, *why;
} told[PROGRAM_KIND_COUNT] = {
	[PROGRAM_STATIC] = {"static", "it is linked statically"},
	[PROGRAM_SECURE] = {"secure execution",
			    "it has rights of its own: set-uid, set-gid or capabilities"},
	[PROGRAM_CLASS] = {"another ELF class", "its word size is not that of coldprof"},
	[PROGRAM_MACHINE] = {"another machine", "it is built for another machine"},
	[PROGRAM_LIBC] = {"another libc", "its libc is not glibc"},
	[PROGRAM_SANITIZER] = {"sanitizer",
			       "it is built with a sanitizer, whose runtime must come first"},
};

const char *program_why(enum program_kind kind)
{
	return told[kind].why;
}

const char *program_word(enum program_kind kind)
{
	return told[kind].word;
}
