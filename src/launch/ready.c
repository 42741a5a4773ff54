/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/ready.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "launch/http.h"
#include "launch/mark.h"
#include "model/model.h"

#define POLL_NS	     (250 * NS_PER_MS) /* four a second */
#define FILE_LOOK_NS (20 * NS_PER_MS)

struct heard {
	uint16_t port;
	char *address;
	bool reachable;
	uint64_t at_ns, late_ns; /* struct mark */
};

struct ready {
	struct ready_options opt;
	int epoll_fd, timer_fd;
	struct http *http;
	uint16_t port; /* the server's own */
	VEC(struct heard) heard;
	bool asking;	     /* it listens, and has not answered 200 yet */
	bool speaks_no_http; /* so its listening is the best that there is */
	unsigned usual;	     /* which of the usual paths is asked */
	unsigned polls;
	uint64_t next_poll_ns, asked_ns;
	uint64_t not_yet_ns; /* it was not ready when it was asked, or looked at, then; 0 never */
	struct stat before;  /* of MARK_FILE; st_ino 0: it was not there */
	const char *mark;
	uint64_t at_ns;
};

/* Where no engine tells its path; one that is not there (404) makes way for the next. */
static const char *const usual_paths[] = {"/health", "/v1/models", "/"};
#define USUAL_PATHS (sizeof(usual_paths) / sizeof(usual_paths[0]))

static const char *path_of(const struct ready *r)
{
	if (r->opt.mark->kind == MARK_HTTP && r->opt.mark->path)
		return r->opt.mark->path;
	return r->opt.health_path ? r->opt.health_path : usual_paths[r->usual];
}

static const char *note(struct ready *r, uint64_t at_ns, uint64_t late_ns, const char *name)
{
	struct mark m = {.name = name, .at_ns = at_ns, .late_ns = late_ns};

	vec_for_each (old, &r->opt.trace->marks) {
		if (!strcmp(old->name, name))
			return old->name;
	}
	vec_push(&r->opt.trace->marks, m);
	return name;
}

static void reach(struct ready *r, const char *name, uint64_t at_ns)
{
	if (r->mark)
		return;
	r->mark = name;
	r->at_ns = at_ns;
}

static void set_timer(struct ready *r, uint64_t at_ns)
{
	struct itimerspec when = {
		.it_value = {(time_t)(at_ns / NS_PER_SEC), (long)(at_ns % NS_PER_SEC)},
	};

	timerfd_settime(r->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static struct heard *find_heard(struct ready *r, uint16_t port)
{
	vec_for_each (h, &r->heard) {
		if (h->port == port)
			return h;
	}
	return NULL;
}

static void port_mark(struct ready *r, const struct heard *h)
{
	const char *name =
		note(r, h->at_ns, h->late_ns, trace_strf(r->opt.trace, "port:%u", h->port));

	if (r->opt.mark->kind == MARK_PORT ||
	    (r->opt.mark->kind == MARK_DEFAULT && r->speaks_no_http))
		reach(r, name, h->at_ns);
}

/* It listens on its own port: from now on it may be asked. */
static void begin_asking(struct ready *r)
{
	struct heard *h = r->port ? find_heard(r, r->port) : NULL;

	if (!h || r->asking)
		return;
	if (!h->reachable)
		r->speaks_no_http = true;
	port_mark(r, h);
	/* A request may be a line in the guest's log: only where the mark asks for one. */
	if (r->speaks_no_http ||
	    (r->opt.mark->kind != MARK_HTTP && r->opt.mark->kind != MARK_DEFAULT))
		return;
	r->asking = true;
	r->next_poll_ns = clock_now_ns();
	set_timer(r, r->next_poll_ns);
}

static void ask(struct ready *r)
{
	const struct heard *h = find_heard(r, r->port);

	r->asked_ns = clock_now_ns();
	r->next_poll_ns = r->asked_ns + POLL_NS;
	if (http_ask(r->http, h->address, h->port, path_of(r)))
		set_timer(r, r->next_poll_ns);
	else
		r->polls++;
}

/* Since it was last asked in vain; else since it listens. */
static uint64_t late_by(struct ready *r, uint64_t now_ns)
{
	const struct heard *h = find_heard(r, r->port);

	if (r->not_yet_ns)
		return now_ns - r->not_yet_ns;
	return h->late_ns == UNKNOWN ? UNKNOWN : now_ns - h->at_ns + h->late_ns;
}

static void answered(struct ready *r, const struct http_answer *a)
{
	uint64_t now_ns = clock_now_ns();

	if (a->status == 200) {
		r->asking = false;
		const char *name = note(r, now_ns, late_by(r, now_ns),
					trace_strf(r->opt.trace, "http:%u%s", r->port, path_of(r)));

		if (r->opt.mark->kind == MARK_HTTP || r->opt.mark->kind == MARK_DEFAULT)
			reach(r, name, now_ns);
		return;
	}
	if (a->not_http && r->opt.mark->kind == MARK_DEFAULT) {
		r->asking = false;
		r->speaks_no_http = true;
		port_mark(r, find_heard(r, r->port));
		return;
	}
	if ((a->status == 404 || a->status == 405) && !r->opt.health_path &&
	    !(r->opt.mark->kind == MARK_HTTP && r->opt.mark->path))
		r->usual = (r->usual + 1) % USUAL_PATHS; /* this says nothing of its readiness */
	else
		r->not_yet_ns = r->asked_ns;
	set_timer(r, r->next_poll_ns);
}

static void look_for_file(struct ready *r)
{
	const struct stat *was = &r->before;
	uint64_t now_ns = clock_now_ns();
	struct stat st;

	if (!stat(r->opt.mark->path, &st) &&
	    (st.st_ino != was->st_ino || st.st_dev != was->st_dev ||
	     st.st_mtim.tv_sec != was->st_mtim.tv_sec ||
	     st.st_mtim.tv_nsec != was->st_mtim.tv_nsec)) {
		/* The first look before was one before the start. */
		uint64_t start_ns = r->opt.trace->run.start_ns;
		uint64_t since_ns = r->not_yet_ns > start_ns ? r->not_yet_ns : start_ns;

		reach(r,
		      note(r, now_ns, now_ns > since_ns ? now_ns - since_ns : 0,
			   trace_strf(r->opt.trace, "file:%s", r->opt.mark->path)),
		      now_ns);
		return;
	}
	r->not_yet_ns = now_ns;
	set_timer(r, now_ns + FILE_LOOK_NS);
}

int ready_open(const struct ready_options *opt, struct ready **ret_ready, struct err *err)
{
	struct ready *r = xcalloc(1, sizeof(*r));
	struct epoll_event ev = {.events = EPOLLIN};
	int rc;

	r->opt = *opt;
	r->timer_fd = r->epoll_fd = -1;
	r->port = opt->mark->port ? opt->mark->port : opt->port;
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->timer_fd < 0 || r->epoll_fd < 0 ||
	    epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, r->timer_fd, &ev)) {
		rc = err_sys(err, errno, "cannot watch for readiness");
		ready_close(r);
		return rc;
	}
	rc = http_open(r->epoll_fd, &r->http, err);
	if (rc) {
		ready_close(r);
		return rc;
	}
	if (opt->mark->kind == MARK_FILE) {
		if (stat(opt->mark->path, &r->before))
			r->before.st_ino = 0;
		r->not_yet_ns = clock_now_ns();
		set_timer(r, clock_now_ns() + FILE_LOOK_NS);
	}
	*ret_ready = r;
	return 0;
}

void ready_close(struct ready *r)
{
	if (!r)
		return;
	http_close(r->http);
	vec_for_each (h, &r->heard)
		free(h->address);
	vec_free(&r->heard);
	if (r->timer_fd >= 0)
		close(r->timer_fd);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	free(r);
}

int ready_fd(const struct ready *r)
{
	return r->epoll_fd;
}

void ready_turn(struct ready *r)
{
	struct http_answer a;
	uint64_t ticks;

	if (read(r->timer_fd, &ticks, sizeof(ticks)) == sizeof(ticks)) {
		if (r->opt.mark->kind == MARK_FILE && !r->mark)
			look_for_file(r);
		if (r->asking && !http_busy(r->http) && clock_now_ns() >= r->next_poll_ns)
			ask(r);
	}
	if (http_turn(r->http, &a))
		answered(r, &a);
}

void ready_listener(struct ready *r, uint16_t port, const char *address, bool reachable,
		    uint64_t at_ns, uint64_t late_ns)
{
	struct heard h = {.port = port, .reachable = reachable, .at_ns = at_ns, .late_ns = late_ns};
	struct heard *kept = find_heard(r, port);

	if (kept)
		return;
	h.address = xstrdup(address ? address : "127.0.0.1");
	vec_push(&r->heard, h);
	kept = vec_last(&r->heard);
	if (port == r->port)
		begin_asking(r);
	else if (r->opt.mark->kind == MARK_PORT && !r->port)
		port_mark(r, kept);
}

void ready_port(struct ready *r, uint16_t port)
{
	if (r->opt.mark->port || r->asking || r->port == port)
		return;
	r->port = port;
	r->speaks_no_http = false;
	begin_asking(r);
}

void ready_line(struct ready *r, const char *text, uint64_t at_ns)
{
	if (r->opt.mark->kind == MARK_LOG && !r->mark &&
	    !regexec(&r->opt.mark->regex, text, 0, NULL, 0))
		reach(r, note(r, at_ns, 0, trace_str(r->opt.trace, r->opt.mark->text)), at_ns);
}

void ready_ended(struct ready *r, int status, uint64_t at_ns)
{
	bool chosen =
		r->opt.mark->kind == MARK_EXIT || (r->opt.mark->kind == MARK_DEFAULT && !r->port &&
						   WIFEXITED(status) && !WEXITSTATUS(status));

	if (chosen)
		reach(r, note(r, at_ns, 0, "exit"), at_ns);
}

bool ready_reached(const struct ready *r, const char **ret_mark, uint64_t *ret_at_ns)
{
	if (!r->mark)
		return false;
	*ret_mark = r->mark;
	*ret_at_ns = r->at_ns;
	return true;
}

bool ready_wants_lines(const struct ready *r)
{
	return !r->mark && (r->opt.mark->kind == MARK_LOG || !r->port);
}

unsigned ready_polls(const struct ready *r)
{
	return r->polls;
}

const char *ready_waits_for(const struct ready *r, char *buf, unsigned long size)
{
	const struct mark_spec *m = r->opt.mark;

	if (m->kind == MARK_LOG || m->kind == MARK_FILE || m->kind == MARK_EXIT)
		snprintf(buf, size, "%s", m->text);
	else if (!r->port)
		snprintf(buf, size, "%s", m->text ? m->text : "exit");
	else if (!find_heard((struct ready *)r, r->port))
		snprintf(buf, size, "port %u", r->port);
	else
		snprintf(buf, size, "200 on %u%s", r->port, path_of(r));
	return buf;
}
