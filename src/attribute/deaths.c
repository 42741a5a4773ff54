/* SPDX-License-Identifier: Apache-2.0 */
/* Which ends of processes are deaths that can have ended the start. */
#include <signal.h>
#include <sys/wait.h>

#include "attribute/world.h"

/* Signals that a program does not get by being asked to stop. */
static bool is_crash(int sig)
{
	return sig == SIGBUS || sig == SIGSEGV || sig == SIGABRT || sig == SIGILL ||
	       sig == SIGFPE || sig == SIGSYS || sig == SIGTRAP;
}

/* Died, or failed, in a way that can have ended the start. */
static bool broke(const struct world *w, size_t p)
{
	const struct process *x = &w->t->processes.v[p];
	bool matters = w->actor[p] >= 0 || x->role == ROLE_COMPILER;

	if (x->status == -1 || x->end_ns == UNKNOWN || x->end_ns > w->e)
		return false;
	if (WIFSIGNALED(x->status))
		return matters || is_crash(WTERMSIG(x->status));
	return w->actor[p] >= 0 && WIFEXITED(x->status) && WEXITSTATUS(x->status) &&
	       w->t->run.ready_ns == UNKNOWN;
}

int32_t world_first_death(const struct world *w, size_t *ret_more)
{
	const struct process *all = w->t->processes.v;
	int32_t first = NO_INDEX;
	size_t n = 0;

	for (size_t p = 1; p < w->t->processes.n; p++) {
		if (!broke(w, p))
			continue;
		n++;
		if (first < 0 || all[p].end_ns < all[first].end_ns)
			first = (int32_t)p;
	}
	if (ret_more)
		*ret_more = n ? n - 1 : 0;
	return first;
}
