/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells: of a child whose name looks like the fields behind it, and of sockets. */
#include "base/proc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"

#define NAME	") Z 1 (x) R 2"
#define TICK_NS (NS_PER_SEC / 100)

static void test_table(void)
{
	char table[] = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
		       "retrnsmt   uid  timeout inode\n"
		       "   0: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 "
		       "00000000     0        0 77 1\n"
		       "   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 "
		       "00000000  1000        0 78 1\n"
		       "   2: B80D0120000000000000000001000000:0050 "
		       "00000000000000000000000000000000:0000 0A "
		       "00000000:00000000 00:00000000 00000000     0        0 4294967295 1";
	char address[INET6_ADDRSTRLEN], *at = table;
	struct proc_listener l = {0};

	ok(proc_next_listener(&at, &l) && l.inode == 78 && l.port == 8080,
	   "a connection is no listener");
	is_str(inet_ntop(l.family, l.address, address, sizeof(address)), "127.0.0.1", "IPv4");
	ok(proc_next_listener(&at, &l) && l.inode == 4294967295 && l.port == 80, "the next");
	is_str(inet_ntop(l.family, l.address, address, sizeof(address)), "2001:db8::1", "IPv6");
	ok(!proc_next_listener(&at, &l), "and no more");
}

static void test_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		bail("no socket");
	ok(proc_has_socket(getpid(), st.st_ino), "a socket that we have");
	close(fd);
	ok(!proc_has_socket(getpid(), st.st_ino), "and no longer");
}

static void test_stat(void)
{
	uint64_t before_ns = clock_now_ns(), start_ns;
	struct proc_stat st = {0};
	int said[2], hold[2];
	siginfo_t ended;
	char byte = 0, name[64];
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
	ok(proc_name(pid, name, sizeof(name)) == 0 && !strcmp(name, NAME), "its name alone");
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
	ok(proc_name(pid, name, sizeof(name)) < 0 && !name[0], "and has no name");
}

int main(void)
{
	test_stat();
	test_table();
	test_socket();
	return done_testing();
}
