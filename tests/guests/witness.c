/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tell everything that a parent hands down, one fact a line: two runs under unlike parents are then
 * compared as text. witness signals FIFO: say "up" there, then print each signal that comes, its
 * si_code's sign; end after SIGTERM.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	char path[300], target[4096];
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		int fd = atoi(d->d_name);
		ssize_t n;

		if (d->d_name[0] == '.' || fd == dirfd(dir))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		printf("fd %d %s flags %x cloexec %d\n", fd, target, (unsigned)fcntl(fd, F_GETFL),
		       fcntl(fd, F_GETFD));
	}
	closedir(dir);
}

static void status_lines(void)
{
	static const char *const wanted[] = {
		"SigBlk",  "SigIgn",	   "SigCgt", "SigPnd",	  "ShdPnd", "Uid",    "Gid",
		"Groups",  "CapInh",	   "CapPrm", "CapEff",	  "CapBnd", "CapAmb", "NoNewPrivs",
		"Seccomp", "Cpus_allowed", "Umask",  "TracerPid", "Threads"};
	FILE *f = fopen("/proc/self/status", "re");
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
			size_t n = strlen(wanted[i]);

			if (!strncmp(line, wanted[i], n) && line[n] == ':')
				fputs(line, stdout);
		}
	}
	if (f)
		fclose(f);
}

static void file(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[4096];

	while (f && fgets(line, sizeof(line), f))
		printf("%s: %s", path, line);
	if (f)
		fclose(f);
}

static int tell_all(void)
{
	char cwd[4096];
	int death = 0, reaper = 0;

	descriptors();
	status_lines();
	file("/proc/self/limits");
	file("/proc/self/oom_score_adj");
	file("/proc/self/coredump_filter");
	file("/proc/self/timerslack_ns");
	prctl(PR_GET_PDEATHSIG, &death);
	prctl(PR_GET_CHILD_SUBREAPER, &reaper);
	printf("nice %d group %d session %d death %d reaper %d dumpable %d cwd %s\n",
	       getpriority(PRIO_PROCESS, 0), (int)getpgrp(), (int)getsid(0), death, reaper,
	       prctl(PR_GET_DUMPABLE), getcwd(cwd, sizeof(cwd)));
	for (char **e = environ; *e; e++)
		printf("env %s\n", *e);
	return 0;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%d %s\n", number,
			 info->si_code <= 0 ? "sent" : "kernel");

	(void)context;
	if (write(1, line, (size_t)n) < 0 || number == SIGTERM)
		_exit(number == SIGTERM ? 3 : 4);
}

_Noreturn static void tell_signals(const char *fifo)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	int fd;

	for (int i = 1; i < SIGRTMAX; i++)
		sigaction(i, &act, NULL);
	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	dprintf(fd, "up %d\n", (int)getpid());
	close(fd);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "signals"))
		tell_signals(argv[2]);
	return tell_all();
}
