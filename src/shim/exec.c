/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom the shim is handed to. The loader complains on the guest's standard error about a library
 * that it cannot load, and a seccomp filter ends a child for what the shim would call. So each exec
 * first looks at what it is about to run, and at the shim as that will find it: where it could not
 * be loaded (another word size or machine, a root or a user that cannot reach it), or once this
 * process has closed itself in, our own entry of LD_PRELOAD is left out and all else stays. So does
 * each posix_spawn, of which the child's own changes before its exec (its folder, its ids) are not
 * known.
 */
#include "shim/shim.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/stat.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define alloca __builtin_alloca

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

#define SCRIPT_DEPTH 5	 /* as the kernel follows */
#define HEAD_BYTES   256 /* as much of a script as the kernel reads */
#define SEARCH_BYTES 1024

typedef char *const *strings;
extern char **environ;

/* The environment that is handed on, when our entry is to be left out. */
struct trim {
	size_t entry;	   /* index of LD_PRELOAD */
	size_t count;	   /* of the strings, without the NULL */
	size_t from, upto; /* what to cut out of that string */
	size_t length;	   /* of that string; 0: it goes */
};

static const char preload[] = "LD_PRELOAD=";
#define PRELOAD_LENGTH (sizeof(preload) - 1)

static size_t length_of(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static bool begins(const char *s, const char *with)
{
	while (*with && *s == *with)
		s++, with++;
	return !*with;
}

static bool is_gap(char c)
{
	return c == ' ' || c == ':';
}

/* Where our own entry stands. False: it is not there, and nothing is to be done. */
static bool find_entry(strings env, const char *own, struct trim *ret)
{
	size_t size = length_of(own), n = 0, entry = SIZE_MAX;
	const char *s;

	for (; env[n]; n++)
		if (entry == SIZE_MAX && begins(env[n], preload))
			entry = n;
	if (entry == SIZE_MAX)
		return false;
	s = env[entry];
	for (size_t at = PRELOAD_LENGTH; s[at];) {
		size_t end = at;

		while (s[end] && !is_gap(s[end]))
			end++;
		if (end - at == size && begins(s + at, own)) {
			bool last = !s[end];

			*ret = (struct trim){entry, n, at, end + !last, length_of(s)};
			if (last && at > PRELOAD_LENGTH)
				ret->from--; /* the gap before it */
			if (ret->upto - ret->from == ret->length - PRELOAD_LENGTH)
				ret->length = 0;
			return true;
		}
		at = s[end] ? end + 1 : end;
	}
	return false;
}

/*
 * False only where it is certain that who runs next cannot open it. Asked as access(2) does,
 * without the capabilities that a process which dropped its user still has until it execs; that
 * asks for the real user, which one with another effective one is not.
 */
static bool may_open(const char *path)
{
	uint32_t real, effective, saved;
	long got;

	if (sys3(SYS_getresuid, &real, &effective, &saved) == 0 && real != effective) {
		got = sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
		if (got >= 0)
			sys3(SYS_close, got, 0, 0);
	} else {
		got = sys3(SYS_faccessat, AT_FDCWD, path, 4 /* R_OK */);
	}
	return got >= 0 || (got != -ENOENT && got != -EACCES && got != -ENOTDIR && got != -ELOOP &&
			    got != -EPERM);
}

/* The first bytes of a file that could be run, NUL behind them. Returns: how many. */
static size_t read_head(int dir, const char *path, char head[HEAD_BYTES + 1])
{
	struct stat st;
	long fd, n;

	if (sys4(SYS_newfstatat, dir, path, &st, 0) < 0 || !S_ISREG(st.st_mode))
		return 0;
	fd = sys4(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	n = sys4(SYS_pread64, fd, head, HEAD_BYTES, 0);
	sys3(SYS_close, fd, 0, 0);
	head[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* The interpreter that a #! line names, cut out of it. */
static const char *interpreter(char *head)
{
	char *s = head + 2, *end;

	while (*s == ' ' || *s == '\t')
		s++;
	for (end = s; *end && *end != ' ' && *end != '\t' && *end != '\n';)
		end++;
	*end = '\0';
	return *s ? s : NULL;
}

/* Is it, or the interpreter of a script, of another machine or word size? False: not known. */
static bool is_foreign(int dir, const char *path)
{
	char heads[2][HEAD_BYTES + 1];

	for (int depth = 0; path && depth < SCRIPT_DEPTH; depth++, dir = AT_FDCWD) {
		char *head = heads[depth % 2];
		const Elf64_Ehdr *elf = (const Elf64_Ehdr *)head;
		size_t n = read_head(dir, path, head);

		if (n >= 20 && begins(head, ELFMAG))
			return head[EI_CLASS] != ELFCLASS64 || elf->e_machine != MACHINE;
		path = n > 2 && head[0] == '#' && head[1] == '!' ? interpreter(head) : NULL;
	}
	return false;
}

/* The file that a search of PATH will run, into `buf`; NULL: none. */
static const char *search(const char *file, char buf[SEARCH_BYTES])
{
	const char *path = NULL;
	struct stat st;

	for (size_t i = 0; file[i]; i++)
		if (file[i] == '/')
			return file;
	for (strings e = environ; e && *e; e++)
		if (begins(*e, "PATH=")) {
			path = *e + 5;
			break;
		}
	for (path = path ? path : "/bin:/usr/bin";; path++) {
		size_t n = 0, f = length_of(file);

		for (; *path && *path != ':'; path++)
			if (n < SEARCH_BYTES)
				buf[n++] = *path;
		if (n + f + 2 <= SEARCH_BYTES) {
			if (n)
				buf[n++] = '/';
			for (size_t i = 0; i <= f; i++)
				buf[n + i] = file[i];
			if (sys3(SYS_faccessat, AT_FDCWD, buf, 1 /* X_OK */) == 0 &&
			    sys4(SYS_newfstatat, AT_FDCWD, buf, &st, 0) == 0 && S_ISREG(st.st_mode))
				return buf;
		}
		if (!*path)
			return NULL;
	}
}

enum by { BY_PATH, BY_SEARCH };

/*
 * Must the environment `env` lose our entry before `file` is run with it? With the answer true,
 * *ret tells how.
 */
static bool to_trim(int dir, const char *file, enum by by, strings env, struct trim *ret)
{
	const char *own = env ? elf_own_path() : NULL;
	char buf[SEARCH_BYTES];

	if (!own || own[0] != '/' || !find_entry(env, own, ret))
		return false;
	if (guest_closed)
		return true;
	if (!may_open(own))
		return true;
	if (by == BY_SEARCH)
		file = file ? search(file, buf) : NULL;
	return file && is_foreign(dir, file);
}

static size_t trim_words(const struct trim *t)
{
	return (t->count + 1) * sizeof(char *);
}

static char **trimmed(strings env, const struct trim *t, char **words, char *text)
{
	const char *s = env[t->entry];
	size_t n = 0, k = 0;

	for (size_t i = 0; i < t->count; i++)
		if (i != t->entry)
			words[n++] = env[i];
		else if (t->length)
			words[n++] = text;
	words[n] = NULL;
	for (size_t i = 0; t->length && i <= t->length; i++)
		if (i < t->from || i >= t->upto)
			text[k++] = s[i];
	return words;
}

/* The room is the caller's frame: this may be a child of vfork. */
#define TRIMMED(env, t) trimmed(env, t, alloca(trim_words(t)), alloca((t)->length + 1))

static int failed(long ret)
{
	errno = (int)-ret;
	return -1;
}

EXPORT int execve(const char *path, strings argv, strings env)
{
	int (*fn)(const char *, strings, strings) =
		(int (*)(const char *, strings, strings))resolve_libc_get(LIBC_execve);
	struct trim t;

	if (to_trim(AT_FDCWD, path, BY_PATH, env, &t))
		env = TRIMMED(env, &t);
	return fn ? fn(path, argv, env) : failed(sys3(SYS_execve, path, argv, env));
}

EXPORT int execv(const char *path, strings argv)
{
	int (*fn)(const char *, strings) =
		(int (*)(const char *, strings))resolve_libc_get(LIBC_execv);
	struct trim t;

	if (!fn || to_trim(AT_FDCWD, path, BY_PATH, environ, &t))
		return execve(path, argv, environ);
	return fn(path, argv);
}

EXPORT int execvpe(const char *file, strings argv, strings env)
{
	int (*fn)(const char *, strings, strings) =
		(int (*)(const char *, strings, strings))resolve_libc_get(LIBC_execvpe);
	struct trim t;

	if (!fn)
		return failed(-ENOSYS);
	if (to_trim(AT_FDCWD, file, BY_SEARCH, env, &t))
		env = TRIMMED(env, &t);
	return fn(file, argv, env);
}

EXPORT int execvp(const char *file, strings argv)
{
	int (*fn)(const char *, strings) =
		(int (*)(const char *, strings))resolve_libc_get(LIBC_execvp);
	struct trim t;

	if (!fn || to_trim(AT_FDCWD, file, BY_SEARCH, environ, &t))
		return execvpe(file, argv, environ);
	return fn(file, argv);
}

EXPORT int fexecve(int fd, strings argv, strings env)
{
	int (*fn)(int, strings, strings) =
		(int (*)(int, strings, strings))resolve_libc_get(LIBC_fexecve);
	struct trim t;
	char path[FD_PATH_MAX];

	if (!fn)
		return failed(-ENOSYS);
	if (fd >= 0 && to_trim(AT_FDCWD, fd_path(fd, path), BY_PATH, env, &t))
		env = TRIMMED(env, &t);
	return fn(fd, argv, env);
}

EXPORT int execveat(int dir, const char *path, strings argv, strings env, int flags)
{
	int (*fn)(int, const char *, strings, strings, int) =
		(int (*)(int, const char *, strings, strings, int))resolve_libc_get(LIBC_execveat);
	bool itself = (flags & AT_EMPTY_PATH) && path && !*path && dir >= 0;
	struct trim t;
	char buf[FD_PATH_MAX];

	if (to_trim(itself ? AT_FDCWD : dir, itself ? fd_path(dir, buf) : path, BY_PATH, env, &t))
		env = TRIMMED(env, &t);
	return fn ? fn(dir, path, argv, env, flags)
		  : failed(sys6(SYS_execveat, dir, (long)path, (long)argv, (long)env, flags, 0));
}

/* The arguments from `first` on as an array in the caller's frame; with execle the environment behind them. */
#define COLLECT(first, ret_argv, ret_env)                                                          \
	do {                                                                                       \
		strings *env_ = (ret_env);                                                         \
		const char *arg_ = (first);                                                        \
		size_t n_ = 0;                                                                     \
		va_list args_;                                                                     \
                                                                                                   \
		va_start(args_, first);                                                            \
		for (; arg_; arg_ = va_arg(args_, const char *))                                   \
			n_++;                                                                      \
		va_end(args_);                                                                     \
		(ret_argv) = alloca((n_ + 1) * sizeof(char *));                                    \
		va_start(args_, first);                                                            \
		arg_ = (first);                                                                    \
		for (size_t i_ = 0; i_ < n_; i_++, arg_ = va_arg(args_, const char *))             \
			(ret_argv)[i_] = (char *)(uintptr_t)arg_;                                  \
		(ret_argv)[n_] = NULL;                                                             \
		if (env_)                                                                          \
			*env_ = va_arg(args_, strings);                                            \
		va_end(args_);                                                                     \
	} while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
	char **argv;

	COLLECT(first, argv, NULL);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	char **argv;

	COLLECT(first, argv, NULL);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	strings env = NULL;
	char **argv;

	COLLECT(first, argv, &env);
	return execve(path, argv, env);
}

typedef int (*spawner)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		       const posix_spawnattr_t *, strings, strings);

/*
 * Two functions under each name: to the one before glibc 2.15 a file without a head is a script of
 * sh. An older program means that one, as its references tell.
 */
static spawner real_spawn(enum libc_hook hook, const void *caller)
{
#if defined(__x86_64__)
	if (elf_refers(caller, libc_name(hook), "GLIBC_2.2.5"))
		return (spawner)elf_next_old(libc_name(hook));
#else
	(void)caller;
#endif
	return (spawner)resolve_libc_get(hook);
}

#define SPAWN(symbol, by)                                                                          \
	EXPORT int symbol(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, \
			  const posix_spawnattr_t *attributes, strings argv, strings env)          \
	{                                                                                          \
		spawner fn = real_spawn(LIBC_##symbol, __builtin_return_address(0));               \
		struct trim t;                                                                     \
                                                                                                   \
		if (!fn)                                                                           \
			return ENOSYS;                                                             \
		if (to_trim(AT_FDCWD, file, by, env, &t))                                          \
			env = TRIMMED(env, &t);                                                    \
		return fn(pid, file, actions, attributes, argv, env);                              \
	}
SPAWN(posix_spawn, BY_PATH)
SPAWN(posix_spawnp, BY_SEARCH)
