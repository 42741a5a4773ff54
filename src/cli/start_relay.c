/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the world and the guest: which processes are
 * the guest's, and which signals it is to get from us.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/record.h"

#define NAMED_MAX 8

int start_living(struct start *s, member_list *ret)
{
	pid_t not_ours[] = {s->memory.holder.pid > 0 ? s->memory.holder.pid : -1,
			    s->finisher > 0 ? s->finisher : -1, 0};
	VEC(pid_t) known = {0};
	VEC(uint64_t) since = {0};
	struct tree_options opt = {
		.root = s->root.gone ? -1 : s->launch.pid,
		.session = s->memory.session[0] ? s->memory.session : NULL,
		.not_ours = not_ours,
		.subreaper = s->rec->counted,
	};
	int rc;

	vec_for_each (p, &s->trace.processes) {
		if (p->end_ns == UNKNOWN && p->pid > 0 && p->pid != s->launch.pid) {
			vec_push(&known, p->pid);
			vec_push(&since, p->start_ns);
		}
	}
	vec_push(&known, 0);
	vec_push(&since, 0);
	opt.known = known.v;
	opt.known_start_ns = since.v;
	rc = tree_living(&opt, ret);
	vec_free(&known);
	vec_free(&since);
	return rc;
}

/* A guest that sends a signal to its group has told itself already. */
static bool sent_by_guest(struct start *s, pid_t sender)
{
	member_list living = {0};
	bool found = false;

	if (sender <= 0 || start_living(s, &living))
		return false;
	vec_for_each (m, &living)
		found |= m->pid == sender;
	vec_free(&living);
	return found || sender == s->launch.pid;
}

static bool ends_us(int signal)
{
	return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

bool relay_signal(struct start *s, const struct signalfd_siginfo *i)
{
	int number = (int)i->ssi_signo;
	bool sent = i->ssi_code <= 0;

	/* What we did to ourselves is not for the guest. */
	if ((number == SIGPIPE || number == SIGTTOU || number == SIGXFSZ || number == SIGXCPU) &&
	    (!sent || (pid_t)i->ssi_pid == getpid()))
		return false;
	if (number == SIGUSR1) {
		finish_snapshot(s);
		return false;
	}
	if (sent && sent_by_guest(s, (pid_t)i->ssi_pid))
		return false;
	s->interrupted |= ends_us(number);
	if (s->root.gone) {
		if (!ends_us(number) || s->phase != PHASE_STARTING)
			return false;
		s->signal = number;
		return true;
	}
	/* What the terminal or the kernel sends reaches the whole process group by itself. */
	if (!sent)
		return false;
	if (i->ssi_code == SI_QUEUE)
		sigqueue(s->launch.pid, number,
			 (union sigval){.sival_ptr = (void *)(uintptr_t)i->ssi_ptr});
	else
		kill(s->launch.pid, number);
	return false;
}

void relay_survivors(struct start *s, const member_list *living)
{
	struct str names = {0};

	for (size_t i = 0; i < living->n && i < NAMED_MAX; i++)
		str_addf(&names, "%s%d (%s)", i ? ", " : "", (int)living->v[i].pid,
			 living->v[i].name);
	if (living->n > NAMED_MAX)
		str_add(&names, ", ...");
	trace_note(&s->trace, "launch", "warning", living->n,
		   "processes that outlived the main process: %s", str_get(&names));
	cli_say("the command ended, but %zu of its processes live on: %s", living->n,
		str_get(&names));
	str_free(&names);
}
