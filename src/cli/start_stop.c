/* SPDX-License-Identifier: Apache-2.0 */
/* End a guest that is ready: let it write its caches, ask it, wait for all of it, then kill. */
#include <signal.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "launch/settle.h"

#define QUIET_NS     (2 * NS_PER_SEC)
#define QUIET_MAX_NS (30 * NS_PER_SEC)
#define TERM_MAX_NS  (30 * NS_PER_SEC)
#define LOOK_NS	     (200 * NS_PER_MS)

/* What became of a daemon's main process: those of the living whom none of the others made. */
static void ask_daemon(struct start *s)
{
	member_list living = {0};

	if (!start_living(s, &living)) {
		vec_for_each (m, &living) {
			if (m->top)
				kill(m->pid, SIGTERM);
		}
	}
	vec_free(&living);
}

static void ask(struct start *s)
{
	s->phase = PHASE_STOPPING;
	s->stop.by_ns = clock_now_ns() + TERM_MAX_NS;
	s->next_look_ns = 0;
	if (!s->root.gone)
		kill(s->launch.pid, SIGTERM);
	else if (s->stop.daemon)
		ask_daemon(s);
}

void stop_begin(struct start *s)
{
	uint64_t now_ns = clock_now_ns();

	s->stop.daemon = s->root.gone;
	if (s->timed_out || !s->rec->caches.v[0]) {
		ask(s);
		return;
	}
	s->phase = PHASE_QUIET;
	s->stop.quiet_by_ns = now_ns + QUIET_MAX_NS;
	s->next_look_ns = now_ns;
}

static void until_quiet(struct start *s, uint64_t now_ns)
{
	uint64_t changed_ns, wall_ns;
	bool filled;

	folders_look(s->rec->caches.v, &changed_ns, &filled);
	wall_ns = clock_wall_ns();
	if (now_ns >= s->stop.quiet_by_ns) {
		if (!s->rec->quiet)
			cli_say("the compile caches were still being written after 30 s: stopping "
				"all the same");
		ask(s);
	} else if (!filled || wall_ns >= changed_ns + QUIET_NS ||
		   (s->root.gone && !s->stop.daemon)) {
		ask(s);
	} else {
		uint64_t wait_ns = changed_ns > wall_ns ? LOOK_NS : changed_ns + QUIET_NS - wall_ns;

		s->next_look_ns = now_ns + wait_ns;
	}
}

static void until_gone(struct start *s, uint64_t now_ns)
{
	member_list living = {0};
	bool blind = start_living(s, &living) < 0;

	s->next_look_ns = now_ns + LOOK_NS;
	if (blind)
		living.n = 0;
	if (living.n && now_ns >= s->stop.by_ns) {
		if (!s->stop.killed)
			cli_say("30 s after SIGTERM there were still %zu of its processes, among "
				"them %d (%s): killing them",
				living.n, (int)living.v[0].pid, living.v[0].name);
		s->stop.killed = true;
		vec_for_each (m, &living)
			kill(m->pid, SIGKILL);
	}
	if (!living.n && s->root.gone && port_is_back(s, now_ns))
		s->phase = PHASE_OVER;
	if (s->phase == PHASE_OVER && blind)
		cli_say("without a /proc of its own pid namespace coldprof cannot see whether "
			"processes of this start live on");
	vec_free(&living);
}

void stop_turn(struct start *s)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns < s->next_look_ns)
		return;
	if (s->phase == PHASE_QUIET)
		until_quiet(s, now_ns);
	else
		until_gone(s, now_ns);
}
