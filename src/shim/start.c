/* SPDX-License-Identifier: Apache-2.0 */
/* The constructor and the destructor. */
#include "shim/shim.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "wire/session.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define ADDRESS_SPACE_MIN (UINT64_C(256) * WIRE_SIZE_MAX)

static const char *find_env(char **envp, const char *name)
{
	for (; envp && *envp; envp++) {
		const char *e = *envp, *n = name;

		while (*n && *e == *n)
			e++, n++;
		if (!*n && *e == '=')
			return e + 1;
	}
	return NULL;
}

static void keep_command(struct wire_process *p, int argc, char **argv)
{
	const char *exe = (const char *)getauxval(AT_EXECFN);
	uint32_t n = 0;

	for (size_t i = 0; exe && exe[i] && i < sizeof(p->exe) - 1; i++)
		p->exe[i] = exe[i];
	for (int i = 0; i < argc && argv[i]; i++) {
		for (const char *s = argv[i];; s++) {
			if (n == sizeof(p->argv) - 1) {
				p->argv_cut = 1;
				goto out;
			}
			p->argv[n++] = *s;
			if (!*s)
				break;
		}
	}
out:
	p->argv_bytes = n;
}

/*
 * Runs in the child after fork(), not after vfork or a bare
 * clone: those find the wiped page at their first event.
 */
static void after_fork(void)
{
	struct local *l = guest_local;

	if (l && guest_live() && l->state == LOCAL_NEW)
		l->fork_ns = sys_now_ns();
}

/* Weak, as each name must be that only glibc has: musl ends a program over one that it lacks. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *dso) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/*
 * Where every byte of address space is counted, our mapping
 * could be what makes an allocation of the guest fail.
 */
static bool address_space_is_scarce(void)
{
	struct {
		uint64_t now, most;
	} limit;

	return sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 &&
	       limit.now < ADDRESS_SPACE_MIN;
}

__attribute__((constructor)) static void start(int argc, char **argv, char **envp)
{
	uint64_t start_ns = sys_now_ns();
	const char *text;
	struct local *l;
	uint32_t pid_ns;
	bool by_socket;
	long at;

	resolve_libc();
	if (!__register_atfork || guest_local) /* musl gives a constructor no arguments either */
		return;
	text = find_env(envp, SESSION_ENV);
	if (!text)
		return;
	guest_header = attach_session(text, &guest_layout, &by_socket, &pid_ns);
	if (!guest_header)
		return;
	if (address_space_is_scarce()) {
		__atomic_fetch_add(&guest_header->left, 1, __ATOMIC_RELAXED);
		sys3(SYS_munmap, guest_header, guest_layout.size_bytes, 0);
		return;
	}
	at = sys6(SYS_mmap, 0, sizeof(struct local), PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0 && at > -4096)
		return;
	if (sys3(SYS_madvise, at, sizeof(struct local), MADV_WIPEONFORK) != 0) {
		sys3(SYS_munmap, at, sizeof(struct local), 0);
		return;
	}
	l = (struct local *)at;
	__atomic_fetch_add(by_socket ? &guest_header->attached_socket
				     : &guest_header->attached_proc,
			   1, __ATOMIC_RELAXED);
	if (!guest_claim(l, start_ns, WIRE_PROCESS_EXEC | (by_socket ? WIRE_PROCESS_SOCKET : 0),
			 pid_ns))
		return;
	keep_command(l->process, argc, argv);
	guest_open(l);
	__atomic_store_n(&guest_local, l, __ATOMIC_RELEASE);
	__register_atfork(NULL, NULL, after_fork, &__dso_handle);
}

__attribute__((destructor)) static void finish(void)
{
	guest_end();
}
