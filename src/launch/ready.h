/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When is it ready? Fed with what is seen of the guest; asks the server itself only by HTTP, only
 * on the port that is known to be its HTTP port, only once a process of the tree listens there, at
 * most four times a second.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct mark_spec;
struct ready;
struct trace;

struct ready_options {
	const struct mark_spec *mark;
	uint16_t port; /* the HTTP port as the command or the engine tells it; 0 not known */
	const char *health_path; /* the engine's; NULL: the usual ones are tried */
	struct trace *trace;	 /* every mark that is reached goes to trace.marks */
};

/* `opt` is copied; what it points to must live as long. Returns: 0 or -errno. */
int ready_open(const struct ready_options *opt, struct ready **ret_ready, struct err *err);
void ready_close(struct ready *r);

/* Readable when ready_turn() has something to do. */
int ready_fd(const struct ready *r);
void ready_turn(struct ready *r);

/*
 * A process of the tree listens, since at_ns or up to late_ns earlier (UNKNOWN). `address` may be
 * NULL; `reachable` false: in another network namespace.
 */
void ready_listener(struct ready *r, uint16_t port, const char *address, bool reachable,
		    uint64_t at_ns, uint64_t late_ns);
/* The HTTP port became known by a log line. */
void ready_port(struct ready *r, uint16_t port);
void ready_line(struct ready *r, const char *text, uint64_t at_ns);
/*
 * Nothing of the tree is left, or the main process ended
 * otherwise than by exit 0. `status` as wait(2) gives it.
 */
void ready_ended(struct ready *r, int status, uint64_t at_ns);

/* True once the chosen mark is reached; its name is borrowed from the trace. */
bool ready_reached(const struct ready *r, const char **ret_mark, uint64_t *ret_at_ns);
/* Does the mark ask for the lines of the guest? */
bool ready_wants_lines(const struct ready *r);
/* How often the server was asked. */
unsigned ready_polls(const struct ready *r);
/* What the chosen mark still waits for, in words, for the terminal. */
const char *ready_waits_for(const struct ready *r, char *buf, unsigned long size);
