/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOG_WAIT_NS 1000000 /* no line takes that long to write */

static int truth_fd = -1;
static enum step present;
static uint64_t present_start_ns;
static uint64_t took_ns[STEP_COUNT];

static const char *const names[] = {
#define X(name, item) #name,
	STEPS(X)
#undef X
};
static const char *const items[] = {
#define X(name, item) item,
	STEPS(X)
#undef X
};

const char *step_name(enum step step)
{
	return names[step];
}

const char *step_item(enum step step)
{
	return items[step];
}

double step_seconds(enum step step)
{
	return (double)took_ns[step] / 1e9;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("truth-engine: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	_exit(2);
}

void truth_open(const char *path)
{
	if (!path)
		return;
	truth_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (truth_fd < 0)
		die("cannot write %s: %s", path, strerror(errno));
}

/* What the calling thread did since this was last asked; 0 where the kernel does not count it. */
struct ran {
	/*
	 * Waited for a CPU. The kernel hands a call's thread back to others between that call and the stamp behind it:
	 * what falls there belongs to no side, and a reader of the log must know how much it is.
	 */
	uint64_t delay_ns;
	uint64_t cpu_ns;
};

#define NOT_TOLD UINT64_MAX

/* What the calling thread's counters were when they were last asked. */
static _Thread_local struct {
	long owner;
	int schedstat, io;
	struct ran ran;
	uint64_t read_bytes;
} self;

/* A schedstat; false where it cannot be read. */
static bool read_ran(int fd, struct ran *ret)
{
	unsigned long long cpu_ns, delay_ns;
	char buf[80];
	ssize_t n = fd < 0 ? -1 : pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return false;
	buf[n] = '\0';
	if (sscanf(buf, "%llu %llu", &cpu_ns, &delay_ns) != 2)
		return false;
	*ret = (struct ran){delay_ns, cpu_ns};
	return true;
}

static _Thread_local uint64_t more_delay_ns; /* for the next line */

static void know_self(void)
{
	long tid = syscall(SYS_gettid);

	if (self.owner == tid)
		return;
	if (self.owner) { /* forked, with its parent's descriptors */
		if (self.schedstat >= 0)
			close(self.schedstat);
		if (self.io >= 0)
			close(self.io);
	}
	memset(&self, 0, sizeof(self));
	self.owner = tid;
	self.schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	self.io = open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC);
}

static struct ran ran_since(void)
{
	struct ran since = {0}, now;

	know_self();
	if (!read_ran(self.schedstat, &now))
		return since;
	since.delay_ns = now.delay_ns - self.ran.delay_ns + more_delay_ns;
	since.cpu_ns = now.cpu_ns - self.ran.cpu_ns;
	self.ran = now;
	more_delay_ns = 0;
	return since;
}

/*
 * What the kernel fetched from storage for the calling thread since its last line, whatever for; NOT_TOLD where it does
 * not count that.
 */
static uint64_t read_since(void)
{
	static const char name[] = "\nread_bytes: ";
	unsigned long long now;
	char buf[256], *at;
	uint64_t since;
	ssize_t n;

	know_self();
	n = self.io < 0 ? -1 : pread(self.io, buf, sizeof(buf) - 1, 0);
	if (n <= 0)
		return NOT_TOLD;
	buf[n] = '\0';
	at = strstr(buf, name);
	if (!at || sscanf(at + sizeof(name) - 1, "%llu", &now) != 1)
		return NOT_TOLD;
	since = now - self.read_bytes;
	self.read_bytes = now;
	return since;
}

void truth_child_delay(pid_t pid)
{
	struct ran ran;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (read_ran(fd, &ran))
		more_delay_ns += ran.delay_ns;
	if (fd >= 0)
		close(fd);
}

static void line(const char *view, const char *item, const char *sub, uint64_t start_ns,
		 uint64_t end_ns, uint64_t bytes)
{
	uint64_t before_ns, wrote_ns, read_bytes;
	char buf[512], fetched[24] = "null";
	struct ran since;
	int n;

	if (truth_fd < 0)
		return;
	since = ran_since();
	read_bytes = read_since();
	if (read_bytes != NOT_TOLD)
		snprintf(fetched, sizeof(fetched), "%llu", (unsigned long long)read_bytes);
	n = snprintf(buf, sizeof(buf),
		     "{\"view\":\"%s\",\"item\":\"%s\",\"sub\":\"%s\",\"pid\":%d,\"tid\":%ld,"
		     "\"start_ns\":%llu,\"end_ns\":%llu,\"bytes\":%llu,\"delay_ns\":%llu,"
		     "\"cpu_ns\":%llu,\"read_bytes\":%s,\"rank\":%d}\n",
		     view, item, sub, (int)getpid(), syscall(SYS_gettid),
		     (unsigned long long)start_ns, (unsigned long long)end_ns,
		     (unsigned long long)bytes, (unsigned long long)since.delay_ns,
		     (unsigned long long)since.cpu_ns, fetched, opt.rank);
	before_ns = now_ns();
	if (write(truth_fd, buf, (size_t)n) != n)
		die("cannot write the truth log: %s", strerror(errno));
	wrote_ns = now_ns() - before_ns;
	if (wrote_ns < LOG_WAIT_NS)
		return;
	/* Another process was taken off its CPU while it wrote, and held the file: no step slept, the log did. */
	ran_since();
	more_delay_ns = wrote_ns;
}

void truth_work(const char *item, const char *sub, uint64_t start_ns, uint64_t end_ns,
		uint64_t bytes)
{
	line("work", item, sub, start_ns, end_ns, bytes);
}

void truth_between(const char *item, const char *sub, uint64_t start_ns, uint64_t end_ns)
{
	line("event", item, sub, start_ns, end_ns, 0);
}

void truth_event(const char *item, const char *sub, uint64_t at_ns)
{
	truth_between(item, sub, at_ns, at_ns);
}

void truth_begin(enum step step, uint64_t born_ns)
{
	present = step;
	present_start_ns = born_ns;
	truth_event(items[step], "begin", born_ns);
}

void truth_end(void)
{
	uint64_t now = now_ns();

	line("step", items[present], names[present], present_start_ns, now, 0);
	took_ns[present] += now - present_start_ns;
	present_start_ns = now;
}

void truth_step(enum step step)
{
	truth_end();
	present = step;
	if (step != STEP_weights)
		crash_at(step);
}

void crash_at(enum step step)
{
	if (opt.crash != (int)step || (opt.ranks > 1 && opt.rank != opt.ranks - 1))
		return;
	truth_event(items[step], "crash", now_ns());
	kill(getpid(), SIGKILL);
}

void burn_ms(unsigned ms)
{
	uint64_t until = now_ns() + (uint64_t)ms * 1000000, more_ns;
	static volatile uint64_t sink = 88172645463325252ull;

	while (now_ns() < until) {
		uint64_t x = sink;

		for (int i = 0; i < 4096; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		sink = x;
	}
	/* A delay inside belongs to the step on either side's clock; not what the log took before it. */
	more_ns = more_delay_ns;
	if (truth_fd >= 0)
		ran_since();
	more_delay_ns = more_ns;
}
