/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who does what. One rank: the process serves and works. More: the first process serves and never
 * touches the device, each rank is a child. A rank writes one byte when it has started; then it
 * answers questions on the same socket until that is closed.
 */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_RANKS 64

extern char **environ;
static pid_t pids[MAX_RANKS];
static int socks[MAX_RANKS];
static bool alone;

/* Everything up to the last graph. */
static void start(int rank)
{
	struct model m;

	model_read_headers(opt.model, &m);
	truth_event("weights", "headers", now_ns());
	device_find();
	burn_ms(opt.init_ms + opt.slow_ms[STEP_process_init]);
	if (rank == opt.late_rank)
		burn_ms(opt.late_ms);
	crash_at(STEP_process_init);
	say(WHO_ENGINE, rank, "Initializing a V1 LLM engine (v0.32.0) with config: model='%s'",
	    opt.model);
	truth_step(STEP_cuda_context);
	device_context(rank);
	truth_step(STEP_allocator);
	loader_prepare(&m, rank);
	truth_step(STEP_other);
	burn_ms(opt.slow_ms[STEP_other]);
	say(WHO_RANK, rank, "Starting to load model %s...", opt.model);
	truth_step(STEP_weights);
	loader_run(&m);
	truth_step(STEP_allocator);
	say_step_done(STEP_weights, rank, &m);
	device_kv_cache((size_t)opt.kv_mib << 20);
	truth_step(STEP_jit);
	jit_run();
	truth_step(STEP_graphs);
	say_step_done(STEP_jit, rank, &m);
	graphs_run();
	truth_step(STEP_serving_up);
	say_step_done(STEP_graphs, rank, &m);
}

static void stop_child(int sig)
{
	if (jit_child > 0)
		kill(jit_child, sig);
	_exit(0);
}

int rank_child(int rank, int fd, uint64_t born_ns)
{
	uint64_t hash;
	char byte = 1;

	signal(SIGTERM, stop_child);
	signal(SIGINT, stop_child);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	opt.rank = rank;
	truth_begin(STEP_process_init, born_ns);
	start(rank);
	if (write(fd, &byte, 1) != 1)
		return 1;
	while (read(fd, &byte, 1) == 1) {
		hash = loader_fingerprint();
		if (write(fd, &hash, sizeof(hash)) != sizeof(hash))
			break;
	}
	return 0;
}

static void spawn_exec(int rank, int fd, uint64_t born_ns)
{
	char as[96], *argv[256];
	int n = 0;

	snprintf(as, sizeof(as), "%d:%d:%llu", rank, fd, (unsigned long long)born_ns);
	while (opt.argv[n] && n < 250) {
		argv[n] = opt.argv[n];
		n++;
	}
	argv[n++] = (char *)"--as-rank";
	argv[n++] = as;
	argv[n] = NULL;
	if (posix_spawn(&pids[rank], "/proc/self/exe", NULL, NULL, argv, environ))
		die("cannot execute rank %d: %s", rank, strerror(errno));
}

static void spawn_rank(int rank)
{
	uint64_t born_ns;
	int pair[2];

	/*
	 * An executed rank finds its end by number; it
	 * must not hold the other end, nor its brothers'.
	 */
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || fcntl(pair[0], F_SETFD, FD_CLOEXEC))
		die("cannot make a socket pair: %s", strerror(errno));
	socks[rank] = pair[0];
	born_ns = now_ns();
	if (opt.spawn == SPAWN_EXEC) {
		spawn_exec(rank, pair[1], born_ns);
	} else {
		pids[rank] = fork();
		if (pids[rank] < 0)
			die("cannot fork rank %d: %s", rank, strerror(errno));
		if (!pids[rank]) {
			server_close();
			for (int i = 0; i <= rank; i++)
				close(socks[i]);
			_exit(rank_child(rank, pair[1], born_ns));
		}
	}
	close(pair[1]);
}

static void stop(int sig)
{
	(void)sig;
	if (jit_child > 0)
		kill(jit_child, SIGTERM);
	for (int i = 0; i < opt.ranks && !alone; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGTERM);
	for (int i = 0; i < opt.ranks && !alone; i++)
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
	_exit(0);
}

/* Wait until every rank has started (or, `for_good`, until one goes): false when one died. */
static bool ranks_wait(bool for_good)
{
	struct pollfd p[MAX_RANKS];
	int left = opt.ranks;
	char byte;

	for (int i = 0; i < opt.ranks; i++)
		p[i] = (struct pollfd){.fd = socks[i], .events = for_good ? 0 : POLLIN};
	while (left) {
		if (poll(p, (nfds_t)opt.ranks, -1) < 0)
			continue;
		for (int i = 0; i < opt.ranks; i++) {
			if (p[i].fd < 0 || !p[i].revents)
				continue;
			if (for_good || read(p[i].fd, &byte, 1) != 1)
				return false;
			p[i].fd = -1;
			left--;
		}
	}
	return true;
}

static int failed(void)
{
	say(WHO_API, 0, "EngineCore failed to start");
	fprintf(stderr, "truth-engine: a rank died\n");
	for (int i = 0; i < opt.ranks; i++)
		kill(pids[i], SIGTERM);
	for (int i = 0; i < opt.ranks; i++)
		waitpid(pids[i], NULL, 0);
	return 1;
}

static void serve(void)
{
	if (opt.port && !opt.listen_early)
		server_listen();
	burn_ms(opt.slow_ms[STEP_serving_up]);
	if (opt.port)
		server_ready();
	say_step_done(STEP_serving_up, 0, NULL);
}

int ranks_run(void)
{
	alone = opt.ranks == 1;
	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	if (opt.port && opt.listen_early)
		server_listen();
	say(WHO_API, 0, "vLLM API server version 0.32.0");
	if (alone) {
		start(0);
		serve();
		while (opt.port)
			pause();
		truth_end();
		return 0;
	}
	burn_ms(opt.init_ms);
	for (int i = 0; i < opt.ranks; i++)
		spawn_rank(i);
	truth_step(STEP_other);
	if (!ranks_wait(false))
		return failed();
	truth_step(STEP_serving_up);
	serve();
	if (opt.port && !ranks_wait(true))
		return failed();
	truth_end();
	for (int i = 0; i < opt.ranks; i++) {
		close(socks[i]);
		waitpid(pids[i], NULL, 0);
	}
	return 0;
}

uint64_t ranks_fingerprint(void)
{
	uint64_t hash = 0;

	if (alone)
		return loader_fingerprint();
	if (write(socks[0], "?", 1) != 1 || read(socks[0], &hash, sizeof(hash)) != sizeof(hash))
		return 0;
	return hash;
}
