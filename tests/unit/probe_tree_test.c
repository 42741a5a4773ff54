/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process tree, listening sockets, log lines and
 * thread states, against guests that know what they did.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "base/str.h"
#include "tests/unit/probe_run.h"

#define CHILDREN 7 /* plain forks: statuses 0, 11, 22, … */
#define EXECS	 5
#define THREADS	 3

struct tree_truth {
	pid_t children[CHILDREN], execs[EXECS], killed, threaded;
	int statuses[CHILDREN];
	uint64_t fork_ns[CHILDREN], reaped_ns[CHILDREN];
};

static void *idle(void *arg)
{
	return arg;
}

/* Exec from a thread that is not the first. */
static void *exec_here(void *arg)
{
	execl("/bin/sh", "sh", "-c", "exit 5", NULL);
	return arg;
}

static void tree_guest(void *arg)
{
	struct tree_truth *truth = arg;
	pthread_t threads[THREADS];
	pid_t pid;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, idle, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < CHILDREN; i++) {
		truth->fork_ns[i] = clock_now_ns();
		pid = fork();
		if (pid == 0) {
			prctl(PR_SET_NAME, "renamed");
			_exit(i * 11);
		}
		truth->children[i] = pid;
		waitpid(truth->children[i], &truth->statuses[i], 0);
		truth->reaped_ns[i] = clock_now_ns();
	}
	for (int i = 0; i < EXECS; i++) {
		pid = vfork();
		if (pid == 0) {
			execl("/bin/sh", "sh", "-c", "exit 3", "--token=hunter2", NULL);
			_exit(127);
		}
		truth->execs[i] = pid;
		waitpid(truth->execs[i], NULL, 0);
	}
	pid = fork();
	if (pid == 0) {
		pthread_create(&threads[0], NULL, exec_here, NULL);
		for (;;)
			pause();
	}
	truth->threaded = pid;
	waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	truth->killed = pid;
	kill(truth->killed, SIGKILL);
	waitpid(truth->killed, NULL, 0);
}

static const struct process *find(const struct trace *t, pid_t pid)
{
	vec_for_each (p, &t->processes)
		if (p->pid == pid)
			return p;
	return NULL;
}

static void test_tree(int tier)
{
	struct tree_truth *truth = shared(sizeof(*truth));
	struct observed o;
	char *program = realpath("/bin/sh", NULL);
	int good = 0, timed = 0, named = 0, execs = 0, shown = 0, commands = 0;

	observe(&o, &(struct probe_options){.max_tier = tier}, tree_guest, truth);
	if (tier && o.tier < 1) {
		skip(11, "the kernel programs cannot be loaded here");
		goto out;
	}
	if (!tier && !(o.t.saw & SAW_TREE) && !perf_allowed()) {
		skip(11, "without perf events only processes that live a while are seen");
		goto out;
	}
	ok(o.t.saw & SAW_TREE, "the tree is seen (tier %d)", tier);
	is_int((int64_t)o.t.processes.n, 1 + CHILDREN + EXECS + 2,
	       "as many processes as were made");
	for (int i = 0; i < CHILDREN; i++) {
		const struct process *p = find(&o.t, truth->children[i]);

		if (!p || p->parent != 0)
			continue;
		good += p->status == truth->statuses[i];
		timed += p->start_ns >= truth->fork_ns[i] && p->end_ns <= truth->reaped_ns[i] &&
			 p->start_ns < p->end_ns;
		named += p->name && !strcmp(p->name, "renamed") && p->exec_ns == UNKNOWN;
	}
	if (tier)
		is_int(good, CHILDREN, "each child's status");
	else
		skip(1, "a status is there only when the zombie was still there");
	is_int(timed, CHILDREN, "each child's times lie between its fork and its wait");
	is_int(named, CHILDREN, "each child's new name");
	for (int i = 0; i < EXECS; i++) {
		const struct process *p = find(&o.t, truth->execs[i]);

		execs += p && p->exec_ns > p->start_ns && p->exec_ns < p->end_ns && p->exe &&
			 program && !strcmp(p->exe, program);
	}
	is_int(execs, EXECS, "each exec with its program");
	is_int((int64_t)o.t.execs.n, EXECS + 1, "as many execs as were made");
	vec_for_each (e, &o.t.execs) {
		commands += e->command && str_starts(e->command, "sh -c exit 3 --token");
		shown += e->command && strstr(e->command, "hunter2");
	}
	if (tier)
		is_int(commands, EXECS, "each exec with its command");
	else
		skip(1, "a command is there only while the process lives");
	is_int(shown, 0, "no secret of a command line is kept");
	if (tier)
		ok(find(&o.t, truth->threaded) && find(&o.t, truth->threaded)->status == 5 << 8 &&
			   find(&o.t, truth->threaded)->exec_ns != UNKNOWN,
		   "an exec from a second thread, and its status");
	else
		ok(find(&o.t, truth->threaded) && find(&o.t, truth->threaded)->exec_ns != UNKNOWN,
		   "an exec from a second thread");
	if (tier)
		ok(find(&o.t, truth->killed) && find(&o.t, truth->killed)->status == SIGKILL,
		   "a killed process has its signal");
	else
		skip(1, "a status is there only when the zombie was still there");
out:
	free(program);
	trace_done(&o.t);
	munmap(truth, sizeof(*truth));
}

struct listen_truth {
	uint16_t port4, port6;
	uint64_t before_ns, after_ns;
	int kept[2];
	volatile bool done;
};

static void listen_guest(void *arg)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in a4 = {.sin_family = AF_INET};
	struct listen_truth *truth = arg;
	socklen_t n = sizeof(a4);
	int s = socket(AF_INET, SOCK_STREAM, 0), only_bound = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	a4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(only_bound, (struct sockaddr *)&a4, sizeof(a4));
	bind(s, (struct sockaddr *)&a4, sizeof(a4));
	truth->before_ns = clock_now_ns();
	listen(s, 1);
	truth->after_ns = clock_now_ns();
	getsockname(s, (struct sockaddr *)&a4, &n);
	truth->port4 = ntohs(a4.sin_port);
	s = socket(AF_INET6, SOCK_STREAM, 0);
	n = sizeof(a6);
	if (bind(s, (struct sockaddr *)&a6, sizeof(a6)) == 0 && listen(s, 1) == 0 &&
	    getsockname(s, (struct sockaddr *)&a6, &n) == 0)
		truth->port6 = ntohs(a6.sin6_port);
	truth->done = true;
	/* Until the test has seen the ports, or its limit. */
	if (read(truth->kept[0], &byte, 1) != 1)
		_exit(1);
}

static uint16_t told_ports[8];
static int told;

/* A port may be told before the guest itself knows it: compared at the end. */
static void on_listener(void *arg, uint16_t port, int32_t process)
{
	(void)arg;
	if (process == 0 && told < 8)
		told_ports[told++] = port;
}

static bool was_told(uint16_t port)
{
	for (int i = 0; i < told; i++)
		if (told_ports[i] == port)
			return true;
	return false;
}

/* Like observe(), but the guest lives until its ports were told. */
static void test_listen(int tier)
{
	struct listen_truth *truth = shared(sizeof(*truth));
	struct probe_options opt = {.max_tier = tier};
	struct trace t;
	struct probe *p;
	uint64_t limit_ns;
	int go, want;

	trace_init(&t);
	if (pipe2(truth->kept, O_CLOEXEC) < 0)
		bail("pipe: %s", strerror(errno));
	opt.root_pid = guest_start(listen_guest, truth, &go);
	if (probe_open(&opt, &t, &p, NULL) < 0 || write(go, "g", 1) != 1)
		bail("probe_open");
	close(go);
	told = 0;
	limit_ns = clock_now_ns() + 20 * NS_PER_SEC;
	do {
		struct pollfd fd = {probe_fd(p), POLLIN, 0};

		poll(&fd, 1, 1000);
		probe_drain(p);
		probe_new_listeners(p, on_listener, NULL);
	} while (!(truth->done && was_told(truth->port4) &&
		   (!truth->port6 || was_told(truth->port6))) &&
		 clock_now_ns() < limit_ns);
	want = truth->port6 ? 2 : 1;
	ok(was_told(truth->port4) && (!truth->port6 || was_told(truth->port6)),
	   "the ports are told while the guest lives (tier %d)", tier);
	is_int((int64_t)t.listeners.n, want, "a socket that is only bound is not told");
	/* Without kernel programs it is seen later, and so is said. */
	ok(t.listeners.n && t.listeners.v[0].at_ns >= truth->before_ns &&
		   t.listeners.v[0].at_ns - t.listeners.v[0].late_ns <= truth->after_ns,
	   "at the moment of listen(), or up to that much later");
	ok(t.listeners.n && (t.listeners.v[0].late_ns == 0) == !!(t.saw & SAW_LISTEN),
	   "which is nothing with kernel programs alone");
	is_str(t.listeners.n ? t.listeners.v[0].address : NULL, "127.0.0.1", "with its address");
	if (write(truth->kept[1], "k", 1) == 1)
		waitpid(opt.root_pid, NULL, 0);
	probe_stop(p);
	probe_close(p);
	trace_done(&t);
	munmap(truth, sizeof(*truth));
}

static void log_guest(void *arg)
{
	struct iovec v[2] = {{(char[]){"vector "}, 7}, {(char[]){"line\n"}, 5}};
	int fd = *(int *)arg, other = open("/dev/null", O_WRONLY);

	if (write(fd, "first\nsec", 9) != 9 || write(fd, "ond\n", 4) != 4 ||
	    writev(fd, v, 2) != 12 || write(other, "not log\n", 8) != 8 ||
	    write(fd, "no newline", 10) != 10)
		_exit(1);
}

static void test_log(void)
{
	static const char *const want[] = {"first", "second", "vector line", "no newline"};
	struct probe_options opt = {.max_tier = 1};
	struct observed o;
	struct stat st;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0 || fstat(pipes[1], &st) < 0)
		bail("pipe: %s", strerror(errno));
	opt.log_dev[0] = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	opt.log_ino[0] = st.st_ino;
	observe(&o, &opt, log_guest, &pipes[1]);
	if (!(o.t.saw & SAW_LOG)) {
		skip(5, "writes are not seen here");
	} else {
		is_int((int64_t)o.t.log.n, 4, "as many log lines as were written");
		for (size_t i = 0; i < 4; i++)
			is_str(i < o.t.log.n ? o.t.log.v[i].text : NULL, want[i], "line %d",
			       (int)i + 1);
	}
	trace_done(&o.t);
	close(pipes[0]);
	close(pipes[1]);
}

#define BURN_NS (300 * NS_PER_MS)

struct times_truth {
	int32_t burner, sleeper;
	uint64_t burn_start_ns, burn_end_ns, cpu_ns;
	uint64_t sleep_start_ns, sleep_end_ns;
	int pipe[2];
};

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void *burn(void *arg)
{
	struct times_truth *truth = arg;
	uint64_t from = thread_cpu_ns();

	truth->burner = (int32_t)syscall(SYS_gettid);
	truth->burn_start_ns = clock_now_ns();
	while (thread_cpu_ns() - from < BURN_NS)
		;
	truth->cpu_ns = thread_cpu_ns() - from;
	truth->burn_end_ns = clock_now_ns();
	if (write(truth->pipe[1], "x", 1) != 1)
		_exit(1);
	return NULL;
}

static void *block(void *arg)
{
	struct times_truth *truth = arg;
	char byte;

	truth->sleeper = (int32_t)syscall(SYS_gettid);
	truth->sleep_start_ns = clock_now_ns();
	if (read(truth->pipe[0], &byte, 1) != 1)
		_exit(1);
	truth->sleep_end_ns = clock_now_ns();
	return NULL;
}

static void times_guest(void *arg)
{
	struct times_truth *truth = arg;
	pthread_t a, b;

	if (pipe(truth->pipe) < 0)
		_exit(1);
	pthread_create(&a, NULL, block, arg);
	pthread_create(&b, NULL, burn, arg);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

/* Its end is that of the last record. */
static struct thread_time total(const struct trace *t, int32_t tid, bool *ret_whole)
{
	struct thread_time sum = {0};
	uint64_t end_ns = 0;

	*ret_whole = true;
	vec_for_each (x, &t->times) {
		if (x->tid != tid)
			continue;
		if ((end_ns && x->start_ns != end_ns) ||
		    (x->sleep_ns != UNKNOWN &&
		     x->cpu_ns + x->runnable_ns + x->io_wait_ns + x->sleep_ns !=
			     x->end_ns - x->start_ns))
			*ret_whole = false;
		end_ns = x->end_ns;
		sum.cpu_ns += x->cpu_ns;
		sum.runnable_ns += x->runnable_ns;
		sum.sleep_ns += x->sleep_ns;
		sum.io_wait_ns += x->io_wait_ns;
	}
	sum.end_ns = end_ns;
	return sum;
}

static void test_times(int tier)
{
	struct times_truth *truth = shared(sizeof(*truth));
	struct thread_time x;
	struct observed o;
	uint64_t slept, unseen = 0, took;
	bool whole;

	observe(&o, &(struct probe_options){.max_tier = tier}, times_guest, truth);
	x = total(&o.t, truth->burner, &whole);
	took = truth->burn_end_ns - truth->burn_start_ns;
	/* A sampler does not see what comes after its last look. */
	if (!(o.t.saw & SAW_TIMES) && x.end_ns < truth->burn_end_ns)
		unseen = truth->burn_end_ns - x.end_ns;
	/* The thread's own clock leaves out its creation and end. */
	if (!ok(x.cpu_ns <= truth->cpu_ns / 4 * 5 && x.cpu_ns + unseen >= truth->cpu_ns / 4 * 3 &&
			unseen < took / 2,
		"CPU of a thread that burns (tier %d)", tier))
		diag("cpu %llu of %llu, the last %llu of %llu not seen",
		     (unsigned long long)x.cpu_ns, (unsigned long long)truth->cpu_ns,
		     (unsigned long long)unseen, (unsigned long long)took);
	ok(whole, "its records lie end to end and add up");
	if (!(o.t.saw & SAW_TIMES)) {
		ok(o.t.saw & SAW_CPU, "tier 0 says that it sees CPU alone");
		skip(2, "sleep is not seen at tier 0");
	} else {
		x = total(&o.t, truth->sleeper, &whole);
		slept = truth->sleep_end_ns - truth->sleep_start_ns;
		ok(whole, "the records of a sleeper add up");
		/* It waits for a CPU when it wakes, and before it sleeps. */
		if (!ok(x.sleep_ns <= slept + slept / 20 &&
				x.sleep_ns + x.runnable_ns >= slept - slept / 20,
			"sleep of a thread that blocks"))
			diag("slept %llu, waited %llu, of %llu", (unsigned long long)x.sleep_ns,
			     (unsigned long long)x.runnable_ns, (unsigned long long)slept);
		x = total(&o.t, truth->burner, &whole);
		ok(x.cpu_ns + x.runnable_ns >=
			   truth->burn_end_ns - truth->burn_start_ns - 5 * NS_PER_MS,
		   "what does not run is runnable");
	}
	trace_done(&o.t);
	munmap(truth, sizeof(*truth));
}

/* Burns at the least weight on a CPU that another process burns on: it hardly ever runs, and never sleeps. */
static void starved_guest(void *arg)
{
	struct times_truth *truth = arg;
	struct sched_param param = {0};
	uint64_t until_ns;
	cpu_set_t one;
	pid_t other;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		_exit(1);
	other = fork();
	if (!other)
		for (;;)
			;
	sched_setscheduler(0, SCHED_IDLE, &param);
	truth->burn_start_ns = clock_now_ns();
	until_ns = truth->burn_start_ns + BURN_NS;
	while (clock_now_ns() < until_ns)
		;
	truth->burn_end_ns = clock_now_ns();
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static void test_starved(void)
{
	struct times_truth *truth = shared(sizeof(*truth));
	uint64_t idle_ns = 0, all_ns;
	struct observed o;

	observe(&o, &(struct probe_options){.max_tier = 0}, starved_guest, truth);
	vec_for_each (x, &o.t.times)
		if (x->process == 0 && x->end_ns <= truth->burn_end_ns &&
		    x->start_ns >= truth->burn_start_ns)
			idle_ns += x->end_ns - x->start_ns - x->cpu_ns - x->runnable_ns;
	all_ns = truth->burn_end_ns - truth->burn_start_ns;
	if (!ok(idle_ns <= all_ns / 10, "a thread that is kept off the CPU does not seem to sleep"))
		vec_for_each (x, &o.t.times)
			diag("p%d %.1f-%.1f cpu %.1f runnable %.1f", x->process,
			     ((double)x->start_ns - (double)truth->burn_start_ns) / 1e6,
			     ((double)x->end_ns - (double)truth->burn_start_ns) / 1e6,
			     (double)x->cpu_ns / 1e6, (double)x->runnable_ns / 1e6);
	trace_done(&o.t);
	munmap(truth, sizeof(*truth));
}

int main(void)
{
	test_tree(1);
	test_tree(0);
	for (int tier = 1; tier >= -1; tier--) {
		test_listen(tier);
		test_times(tier);
	}
	test_starved();
	test_log();
	return done_testing();
}
