/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells of a child whose name looks like the fields behind it. */
#include "base/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"

#define NAME	") Z 1 (x) R 2"
#define TICK_NS (NS_PER_SEC / 100)

int main(void)
{
	uint64_t before_ns = clock_now_ns(), start_ns;
	struct proc_stat st = {0};
	int said[2], hold[2];
	siginfo_t ended;
	char byte = 0;
	pid_t pid;

	if (pipe(said) || pipe(hold) || (pid = fork()) < 0)
		bail("no child");
	if (!pid) {
		close(hold[1]);
		prctl(PR_SET_NAME, NAME);
		if (write(said[1], &byte, 1) != 1 || read(hold[0], &byte, 1) != 0)
			_exit(1);
		_exit(3);
	}
	close(hold[0]);
	if (read(said[0], &byte, 1) != 1)
		bail("the child said nothing");
	ok(proc_stat(pid, &st) == 0, "a child is read");
	is_str(st.comm, NAME, "its name ends at the last bracket");
	is_int(st.ppid, getpid(), "its parent");
	ok(strchr("RS", st.state), "its state");
	start_ns = proc_start_ns(&st);
	ok(start_ns + 2 * TICK_NS >= before_ns && start_ns <= clock_now_ns(),
	   "it began when it did, within a tick");
	is_int(proc_thread_state(pid, getpid()), '?', "a thread that is not its own");
	close(hold[1]);
	if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT))
		bail("cannot wait");
	ok(proc_stat(pid, &st) == 0 && st.state == 'Z', "ended and not awaited");
	is_int(st.exit_code, 3 << 8, "how it ended");
	is_int(proc_thread_state(pid, pid), 'Z', "its thread too");
	waitpid(pid, NULL, 0);
	is_int(proc_stat(pid, &st), -ENOENT, "gone");
	return done_testing();
}
