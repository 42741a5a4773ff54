/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn-old FILE: run it by posix_spawn as it was before glibc 2.15, and end as it does. Refers to
 * nothing that would be a symbol of its own, as a stream is, and lies at a fixed address.
 */
#include <spawn.h>
#include <sys/wait.h>

#if defined(__x86_64__)
__asm__(".symver posix_spawn, posix_spawn@GLIBC_2.2.5");
#endif

int main(int argc, char **argv, char **envp)
{
	int status = 0;
	pid_t pid;

	if (argc != 2 || posix_spawn(&pid, argv[1], NULL, NULL, argv + 1, envp) ||
	    waitpid(pid, &status, 0) != pid)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
