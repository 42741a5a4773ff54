/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps the shim out of a program, of files made by hand. */
#include "base/program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

#define LOADER "/lib/ld-linux.so.2"

static char dir[] = "/tmp/program.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, const void *data, size_t n, mode_t mode)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0700);

	if (fd < 0 || write(fd, data, n) != (ssize_t)n || fchmod(fd, mode))
		bail("cannot write %s", path_of(name));
	close(fd);
}

/* Of its own word size; the loader is "" in a static program, `needed` a library or "". */
static void write_elf(const char *name, unsigned machine, const char *loader, const char *needed,
		      mode_t mode)
{
	struct file {
		Elf64_Ehdr head;
		Elf64_Phdr part;
		Elf64_Shdr sections[3];
		Elf64_Dyn dyn[2];
		char loader[64], names[64];
	} f = {0};

	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_ident[EI_VERSION] = EV_CURRENT;
	f.head.e_type = ET_DYN;
	f.head.e_machine = (Elf64_Half)machine;
	f.head.e_version = EV_CURRENT;
	f.head.e_ehsize = sizeof(f.head);
	f.head.e_phoff = offsetof(struct file, part);
	f.head.e_phentsize = sizeof(f.part);
	f.head.e_phnum = 1;
	f.head.e_shoff = offsetof(struct file, sections);
	f.head.e_shentsize = sizeof(f.sections[0]);
	f.head.e_shnum = 3;
	f.part.p_type = *loader ? PT_INTERP : PT_LOAD;
	f.part.p_offset = offsetof(struct file, loader);
	f.part.p_filesz = strlen(loader) + 1;
	f.sections[1].sh_type = SHT_DYNAMIC;
	f.sections[1].sh_link = 2;
	f.sections[1].sh_offset = offsetof(struct file, dyn);
	f.sections[1].sh_size = sizeof(f.dyn);
	f.sections[1].sh_entsize = sizeof(f.dyn[0]);
	f.sections[2].sh_type = SHT_STRTAB;
	f.sections[2].sh_offset = offsetof(struct file, names);
	f.sections[2].sh_size = sizeof(f.names);
	f.dyn[0].d_tag = *needed ? DT_NEEDED : DT_NULL;
	f.dyn[0].d_un.d_val = 1;
	snprintf(f.loader, sizeof(f.loader), "%s", loader);
	snprintf(f.names + 1, sizeof(f.names) - 1, "%s", needed);
	write_file(name, &f, sizeof(f), mode);
}

/* Of the other word size, with the loader of such, or static. */
static void write_elf32(const char *name, const char *loader)
{
	struct file {
		Elf32_Ehdr head;
		Elf32_Phdr part;
		char loader[64];
	} f = {0};

	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS32;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_ident[EI_VERSION] = EV_CURRENT;
	f.head.e_type = ET_DYN;
	f.head.e_machine = EM_386;
	f.head.e_version = EV_CURRENT;
	f.head.e_ehsize = sizeof(f.head);
	f.head.e_phoff = offsetof(struct file, part);
	f.head.e_phentsize = sizeof(f.part);
	f.head.e_phnum = 1;
	f.part.p_type = *loader ? PT_INTERP : PT_LOAD;
	f.part.p_offset = offsetof(struct file, loader);
	f.part.p_filesz = (Elf32_Word)strlen(loader) + 1;
	snprintf(f.loader, sizeof(f.loader), "%s", loader);
	write_file(name, &f, sizeof(f), 0700);
}

/* `name` → `to`, a program of `dir`. */
static void write_script(const char *name, const char *before, const char *to)
{
	char text[PATH_MAX + 64];

	snprintf(text, sizeof(text), "#!%s%s\n", before, *before ? to : path_of(to));
	write_file(name, text, strlen(text), 0700);
}

static void is_kind(const char *name, enum program_kind want, bool takes, const char *word)
{
	enum program_kind found = program_of_file(path_of(name));

	is_int(found, want, "%s: what it is", name);
	is_int(program_look(path_of(name), NULL), want, "%s: as a command", name);
	is_int(program_look(name, dir), want, "%s: found in PATH", name);
	is_int(program_takes_shim(found), takes, "%s: %s", name,
	       takes ? "it does no harm" : "it would do harm");
	is_str(program_word(found), word, "%s: the word", name);
	ok(!program_why(found) == !word, "%s: a word and a reason, or neither", name);
}

static void test_unreadable(void)
{
	uid_t self = geteuid();

	write_elf("sudo", MACHINE, LOADER, "", 04111);
	if (chmod(dir, 0755) || (self == 0 && seteuid(65534))) /* root reads everything */
		bail("cannot become nobody");
	is_int(program_of_file(path_of("sudo")), PROGRAM_SECURE, "set-uid, and not to be read");
	if (seteuid(self))
		bail("cannot become root again");
}

int main(void)
{
	char command[64];

	if (!mkdtemp(dir))
		bail("no folder");
	write_elf("fine", MACHINE, LOADER, "libm.so.6", 0700);
	is_kind("fine", PROGRAM_FINE, true, NULL);
	write_elf("static", MACHINE, "", "", 0700);
	is_kind("static", PROGRAM_STATIC, true, "static");
	write_elf("set-uid", MACHINE, LOADER, "", 04700);
	is_kind("set-uid", PROGRAM_SECURE, true, "secure execution");
	write_elf("set-gid", MACHINE, LOADER, "", 02700);
	is_kind("set-gid", PROGRAM_SECURE, true, "secure execution");
	write_elf32("small", LOADER);
	is_kind("small", PROGRAM_CLASS, false, "another ELF class");
	write_elf32("small-static", "");
	is_kind("small-static", PROGRAM_STATIC, true, "static");
	write_elf("foreign", EM_RISCV, LOADER, "", 0700);
	is_kind("foreign", PROGRAM_MACHINE, false, "another machine");
	write_elf("musl", MACHINE, "/lib/ld-musl-x86_64.so.1", "", 0700);
	is_kind("musl", PROGRAM_LIBC, false, "another libc");
	write_elf("asan", MACHINE, LOADER, "libasan.so.8", 0700);
	is_kind("asan", PROGRAM_SANITIZER, false, "sanitizer");
	write_file("text", "echo\n", 5, 0700);
	is_kind("text", PROGRAM_UNKNOWN, true, NULL);
	write_script("script", "", "static");
	is_kind("script", PROGRAM_STATIC, true, "static");
	write_script("script-of-script", "", "script");
	is_kind("script-of-script", PROGRAM_STATIC, true, "static");
	write_script("circle", "", "circle");
	is_kind("circle", PROGRAM_UNKNOWN, true, NULL);
	write_script("by-env", "/usr/bin/env ", "static");
	is_int(program_look("by-env", dir), PROGRAM_STATIC, "what env will find");
	is_int(program_of_file(path_of("by-env")), program_of_file("/usr/bin/env"),
	       "what was run is env");
	ok(mkfifo(path_of("fifo"), 0700) == 0, "a FIFO");
	is_kind("fifo", PROGRAM_UNKNOWN, true, NULL);
	is_kind("none", PROGRAM_UNKNOWN, true, NULL);
	test_unreadable();
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	is_int(system(command), 0, "the folder goes");
	return done_testing();
}
