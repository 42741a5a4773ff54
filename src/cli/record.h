/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the record verb share. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/engine.h"
#include "launch/holder.h"
#include "launch/launch.h"
#include "launch/listen.h"
#include "launch/mark.h"
#include "launch/outside.h"
#include "launch/tree.h"
#include "launch/user.h"
#include "model/model.h"
#include "wire/ring.h"
#include "wire/session.h"

struct err;
struct probe;
struct ready;
struct signalfd_siginfo;

/* What stays the same over all starts of one command. */
struct record {
	char **argv;
	const struct engine *engine; /* NULL unknown */
	struct mark_spec mark;
	const char *db;
	char *label; /* "key=value;key=value" or NULL */
	struct guest_user user;
	bool as_user, quiet;
	bool counted;	     /* -n was given */
	char shim[PATH_MAX]; /* "": none */
	char *shim_why;	     /* why there is none, or why it is not in the command; NULL */
	bool preload;
	struct signal_state signals;
	int max_tier;
	uint64_t timeout_ns; /* 0 none */
	path_list weights, caches;
	bool caches_all;   /* the command told its engine: there are no others */
	VEC(int64_t) runs; /* stored so far, in order */
};

enum phase {
	PHASE_STARTING, /* recording */
	PHASE_SERVING,	/* ready, or ended: coldprof is only the parent */
	PHASE_QUIET,	/* -n: until the caches are written */
	PHASE_STOPPING, /* asked to end */
	PHASE_OVER,
};

/* One start. */
struct start {
	struct record *rec;
	bool stop_when_ready, show_delta;
	bool cold_wanted; /* it was made cold: the claim is to be verified */
	enum phase phase;
	struct trace trace;
	char **env;
	struct launch launch;
	struct probe *probe;
	struct ready *ready;
	uint16_t port; /* the server's own, as far as known */
	struct {
		disk_list disks;
		VEC(int8_t) caches_held; /* beside rec->caches: folder_holds() */
		struct port_holder port_holder;
	} before;
	struct {
		struct ring ring; /* map NULL: no memory */
		struct holder holder;
		char session[SESSION_STRING_MAX];
	} memory;
	struct {
		int epoll_fd, signal_fd, tick_fd;
		uint64_t tick_ns; /* period of the tick; 0 off */
	} watch;
	uint64_t next_scan_ns; /* of the memory, for log lines */
	struct {
		bool exec_failed, gone;
		int status; /* as wait(2) gives it */
	} root;
	bool timed_out, interrupted;
	int signal;	      /* that ended our waiting for a guest without a main process */
	uint64_t deadline_ns; /* of --timeout */
	uint64_t next_look_ns;
	struct {
		uint64_t by_ns, quiet_by_ns;
		bool killed, port_awaited;
		bool daemon; /* its main process had ended when it was to be stopped */
	} stop;
	struct {
		int tty_fd; /* -1 none */
		bool drawn;
		enum item present;
		uint64_t next_draw_ns, next_item_ns;
	} line;
	pid_t finisher;	 /* child that stores and shows; 0 none */
	int64_t *stored; /* shared with the finisher: the run that is in the database; 0 none */
};

/* How one start ended. */
struct start_result {
	int64_t run; /* 0: not stored */
	bool ready, interrupted, timed_out;
	int exit_status; /* for coldprof to end with */
};

/* start.c: run one start to its end. Returns: 0, or -errno with `err` when nothing was started. */
int start_run(struct record *rec, bool stop_when_ready, bool cold, bool show_delta,
	      struct start_result *ret_result, struct err *err);

/* start_watch.c: its descriptors. Returns: 0, or -1 with errno. */
int watch_open(struct start *s);
/* The guest waits behind its barrier: watch it too. Returns: 0 or -errno. */
int watch_begin(struct start *s, struct err *err);
/* Until the guest has ended, or is ready and left to itself, and our own work is done. */
void watch_loop(struct start *s);
/* A line that the kernel side saw: for struct probe_options, with a struct start. */
void watch_line(void *start, const char *text, uint64_t at_ns);
void watch_close(struct start *s);

/*
 * start_session.c: the memory and its holder; without them the
 * guest runs as it would without us, and the run says so.
 */
void session_make(struct start *s);
/*
 * The run's row. Returns: 0 also where the trouble may pass
 * (locked, full), told on stderr; else -errno with `err`.
 */
int session_begin(struct start *s, struct err *err);
/* No program was started, so there was no run. Trouble is told. */
void session_drop(struct start *s);
/*
 * The files behind our stdout and stderr, which are the
 * guest's too: device (MAJOR << 20 | MINOR) and inode.
 */
void session_log_files(uint64_t dev[2], uint64_t ino[2]);

/* start_relay.c: the guest's living processes. Returns: 0 or -errno. */
int start_living(struct start *s, member_list *ret);
/*
 * Pass a signal on, once, if the guest has not got it already. Returns: true when nobody is left to
 * get it and it ends the start, as s->signal says.
 */
bool relay_signal(struct start *s, const struct signalfd_siginfo *i);
/* Name the processes that outlived the main process. */
void relay_survivors(struct start *s, const member_list *living);

/*
 * start_finish.c: the run is over: in a child, so that neither
 * a slow store nor a fault of ours is the guest's.
 */
void finish_begin(struct start *s, const char *ending, uint64_t end_ns);
/* The ledger so far, on standard error, from a child as well. */
void finish_snapshot(struct start *s);

/* start_stop.c: end the guest. */
void stop_begin(struct start *s);
/* To be called at each tick of PHASE_QUIET and PHASE_STOPPING. */
void stop_turn(struct start *s);

/*
 * start_port.c: who listens on the server's port. A stranger who does is named: when the port is known
 * before the start, or by a line of the log; and what is not waited for between two starts.
 */
void port_before(struct start *s);
void port_named(struct start *s);
/* A listener that the probe saw: for probe_new_listeners(), with a struct start. */
void port_listener(void *start, uint16_t port, int32_t process);
/* A daemon's double fork can take it out of the probe's sight at tier 0. */
void port_look(struct start *s, const member_list *living, uint64_t now_ns);
/* Nobody of this start lives: is its port free, or not to be waited for any longer? */
bool port_is_back(struct start *s, uint64_t now_ns);

/* start_facts.c: the run's own row and its settings. */
void facts_of_run(struct start *s);

/*
 * start_files.c: the weight files that the command names or an earlier run of the same command read, and
 * all other files of that run, go to trace.files with what of them is in the page cache. With
 * cold_wanted they are evicted first.
 */
void files_before(struct start *s);

/* start_outside.c: what others do meanwhile; the end is after ingest, before the ledger. */
void outside_begin(struct start *s);
void outside_end(struct start *s);

/*
 * start_state.c: says so when a start that was to be cold
 * was not; `t` after ingest, which tells the states.
 */
void state_judge(struct trace *t, bool cold_wanted);
