/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way to exec: execs FILE ARG: fork and run FILE with the arguments "one", ARG, "three" by
 * each, in an environment of its own (and what LD_PRELOAD and COLDPROF_SESSION hold) where the way
 * takes one. Prints the way and what became of it. Built as execs-old it means posix_spawn as it was
 * before glibc 2.15.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

enum way {
	EXECV,
	EXECVE,
	EXECVP,
	EXECVPE,
	EXECL,
	EXECLP,
	EXECLE,
	FEXECVE,
	EXECVEAT,
	SPAWN,
	SPAWNP,
	WAYS
};
static const char *const words[] = {"execv",	"execve",      "execvp",      "execvpe",
				    "execl",	"execlp",      "execle",      "fexecve",
				    "execveat", "posix_spawn", "posix_spawnp"};

extern int execveat(int, const char *, char *const *, char *const *, int) __attribute__((weak));

#if defined(OLD_SPAWN) && defined(__x86_64__)
__asm__(".symver posix_spawn, posix_spawn@GLIBC_2.2.5");
__asm__(".symver posix_spawnp, posix_spawnp@GLIBC_2.2.5");
#endif

/* Ends as the child does; returns when there was none. */
static void spawn(enum way way, char *file, char **argv, char **envp)
{
	pid_t pid;
	int status;

	errno = way == SPAWN ? posix_spawn(&pid, file, NULL, NULL, argv, envp)
			     : posix_spawnp(&pid, file, NULL, NULL, argv, envp);
	if (errno || waitpid(pid, &status, 0) != pid)
		return;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void run(enum way way, char *file, char *arg)
{
	static char a[] = "A=of my own", preload[8192], session[1024], one[] = "one",
		    three[] = "three";
	char *argv[] = {one, arg, three, NULL}, *envp[] = {a, preload, session, NULL};
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	const char *had;

	had = getenv("LD_PRELOAD");
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", had ? had : "");
	had = getenv("COLDPROF_SESSION");
	snprintf(session, sizeof(session), "COLDPROF_SESSION=%s", had ? had : "");
	switch (way) {
	case EXECV:
		execv(file, argv);
		break;
	case EXECVE:
		execve(file, argv, envp);
		break;
	case EXECVP:
		execvp(file, argv);
		break;
	case EXECVPE:
		execvpe(file, argv, envp);
		break;
	case EXECL:
		execl(file, one, arg, three, NULL);
		break;
	case EXECLP:
		execlp(file, one, arg, three, NULL);
		break;
	case EXECLE:
		execle(file, one, arg, three, NULL, envp);
		break;
	case FEXECVE:
		fexecve(fd, argv, envp);
		break;
	case EXECVEAT:
		if (execveat)
			execveat(AT_FDCWD, file, argv, envp, 0);
		break;
	case SPAWN:
	case SPAWNP:
		spawn(way, file, argv, envp);
		break;
	default:
		break;
	}
	printf("errno %d\n", errno);
	_exit(99);
}

int main(int argc, char **argv)
{
	int status;

	if (argc != 3)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	setenv("A", "inherited", 1);
	for (enum way way = 0; way < WAYS; way++) {
		printf("%s:\n", words[way]);
		if (fork() == 0)
			run(way, argv[1], argv[2]);
		wait(&status);
		printf("status %d\n",
		       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
	return 0;
}
