/* SPDX-License-Identifier: Apache-2.0 */
/* What can be measured here, found by trying it, and why the rest cannot. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/str.h"
#include "cli/cli.h"
#include "launch/environment.h"
#include "launch/holder.h"
#include "launch/launch.h"
#include "launch/residency.h"
#include "model/model.h"
#include "probe/probe.h"
#include "wire/ring.h"

struct args {
	const char *db;
};

static const struct opt options[] = {
	{"db", 0, "FILE", OPT_STRING, offsetof(struct args, db), NULL,
	 "the database that would be used"},
	{0},
};

static const struct {
	int bit;
	const char *name;
} powers[] = {{39, "CAP_BPF"}, {38, "CAP_PERFMON"}, {21, "CAP_SYS_ADMIN"}, {19, "CAP_SYS_PTRACE"}};

__attribute__((format(printf, 3, 4))) static void row(const char *name, const char *verdict,
						      const char *fmt, ...)
{
	va_list ap;

	printf("%-18s %-4s ", name, verdict);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static void show_file(const char *name, const char *path, const char *absent)
{
	char text[256];

	if (io_read_small(path, text, sizeof(text)) <= 0) {
		row(name, "-", "%s", absent);
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	row(name, "-", "%s", text);
}

static void show_machine(void)
{
	struct utsname u;
	char text[4096], *at;
	unsigned long long effective = 0;
	struct str held = {0};

	if (!uname(&u))
		row("kernel", "-", "%s %s", u.release, u.machine);
	if (io_read_small("/proc/self/status", text, sizeof(text)) > 0 &&
	    (at = strstr(text, "CapEff:")))
		effective = strtoull(at + 7, NULL, 16);
	for (size_t i = 0; i < sizeof(powers) / sizeof(powers[0]); i++) {
		if (effective >> powers[i].bit & 1)
			str_addf(&held, "%s%s", held.n ? ", " : "", powers[i].name);
	}
	row("powers", held.n ? "yes" : "no", "%s (uid %d)", held.n ? str_get(&held) : "none",
	    (int)geteuid());
	str_free(&held);
	show_file("perf paranoid", "/proc/sys/kernel/perf_event_paranoid",
		  "no perf events in this kernel");
	show_file("ptrace scope", "/proc/sys/kernel/yama/ptrace_scope", "no Yama");
	show_file("lockdown", "/sys/kernel/security/lockdown", "not told");
	row("kernel types", access("/sys/kernel/btf/vmlinux", R_OK) ? "no" : "yes",
	    "/sys/kernel/btf/vmlinux");
}

static void show_shim(void)
{
	char path[PATH_MAX];
	int rc = shim_find(path, sizeof(path));

	if (rc == -ENOENT)
		row("shim", "no", "not found: %s", path);
	else if (rc)
		row("shim", "no", "its path holds a blank or a colon: %s", path);
	else
		row("shim", "yes", "%s", path);
}

/* As a guest would: a child opens the holder's descriptor. */
static void show_memory(void)
{
	struct session session = {0};
	struct holder holder = {0};
	struct ring ring = {.fd = -1};
	struct err err = {0};
	char path[64];
	int rc = ring_create(NULL, &ring);

	if (rc) {
		row("session memory", "no", "%s", strerror(-rc));
		return;
	}
	rc = holder_start(&ring, NULL, &holder, &session, &err);
	if (rc) {
		row("session memory", "no", "%s", err.msg);
	} else {
		proc_path(path, sizeof(path), session.pid, "fd/%d", session.fd);
		row("session memory", "yes", "%u MiB%s%s", (unsigned)(ring.size_bytes >> 20),
		    access(path, R_OK | W_OK) ? "" : ", reached by /proc",
		    session.name[0] ? ", reached by socket" : "");
	}
	holder_stop(&holder);
	ring_close(&ring);
}

static void show_residency(void)
{
	struct residency r;
	int rc = residency_look("/proc/self/exe", &r);

	if (rc)
		row("page cache", "no", "%s", strerror(-rc));
	else if (!r.how)
		row("page cache", "no", "the kernel does not tell what is resident");
	else
		row("page cache", "yes", "by %s", r.how);
}

/* The probes are opened on a child that waits at its barrier, and goes away unstarted. */
static void show_probes(void)
{
	static char name[] = "true";
	char *const nothing[] = {name, NULL};
	struct launch l = {.pid = -1, .outcome_fd = -1, .go_fd = -1};
	struct probe_options opt = {.max_tier = 1};
	struct signal_state signals;
	struct probe *probe = NULL;
	struct err err = {0};
	struct trace t;

	trace_init(&t);
	launch_block_signals(&signals, NULL);
	if (launch_fork(nothing, environ, NULL, &signals, &l, &err)) {
		row("probes", "no", "%s", err.msg);
		trace_done(&t);
		return;
	}
	opt.root_pid = l.pid;
	if (probe_open(&opt, &t, &probe, &err)) {
		row("probes", "no", "%s", err.msg);
	} else {
		row("tier", "-", "%d of 2", probe_tier(probe));
		vec_for_each (d, &t.diagnostics)
			row("", "-", "%s: %s", d->source, d->text);
	}
	probe_close(probe);
	launch_close(&l);
	launch_restore_signals(&signals);
	trace_done(&t);
}

static void show_db(const char *db)
{
	char *copy = xstrdup(db), *slash = strrchr(copy, '/');
	bool there = !access(db, F_OK);

	if (slash)
		slash[slash == copy] = '\0';
	if (there)
		row("database", access(db, R_OK | W_OK) ? "no" : "yes", "%s", db);
	else
		row("database", access(slash ? copy : ".", W_OK) ? "no" : "yes", "%s (to be made)",
		    db);
	free(copy);
}

static int run(int argc, char **argv, struct err *err)
{
	struct args a = {0};
	int n = opt_parse(&verb_doctor, argc, argv, &a, err);

	if (n < 0)
		return n;
	if (n)
		return err_set(err, EINVAL, "doctor takes no '%s'", argv[0]);
	show_machine();
	show_shim();
	show_memory();
	show_residency();
	show_db(cli_db(a.db));
	show_probes();
	return 0;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.synopsis = "[--db FILE]",
	.help = "Try what can be measured on this machine, and say why the rest cannot.",
	.options = options,
	.run = run,
};
