/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mask.h"
#include "base/str.h"
#include "cli/record.h"

static void setting(struct trace *t, const char *name, const char *value)
{
	struct setting s = {.name = trace_str(t, name), .value = trace_str(t, value)};

	if (value && *value)
		vec_push(&t->settings, s);
}

static void setting_u64(struct trace *t, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	setting(t, name, text);
}

/* The first line of a small file. */
static void setting_file(struct trace *t, const char *name, const char *path)
{
	char text[256];

	if (io_read_small(path, text, sizeof(text)) <= 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	setting(t, name, text);
}

/* A control group's limit, left out where there is none: "max", or v1's largest page count in bytes. */
static void setting_limit(struct trace *t, const char *name, const char *path)
{
	char text[64];

	if (io_read_small(path, text, sizeof(text)) > 0 && strncmp(text, "max", 3) != 0 &&
	    strtoull(text, NULL, 10) < INT64_MAX - (UINT64_C(1) << 20))
		setting_file(t, name, path);
}

static void environment(struct start *s)
{
	for (char **e = s->env; *e; e++) {
		size_t n = strcspn(*e, "=");
		char name[128];
		struct str value = {0};

		if (n >= sizeof(name) - 4 || (*e)[n] != '=')
			continue;
		memcpy(name, *e, n);
		name[n] = '\0';
		if (!engine_keeps_variable(name))
			continue;
		mask_variable(name, *e + n + 1, &value);
		memmove(name + 4, name, n + 1);
		memcpy(name, "env.", 4);
		setting(&s->trace, name, str_get(&value));
		str_free(&value);
	}
}

static void host(struct trace *t)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
	struct utsname u;

	if (!uname(&u)) {
		t->run.kernel = trace_str(t, u.release);
		t->run.host = trace_str(t, u.nodename);
		setting(t, "host.machine", u.machine);
	}
	if (cpus > 0)
		setting_u64(t, "host.cpus", (uint64_t)cpus);
	if (pages > 0)
		setting_u64(t, "host.memory_bytes",
			    (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE));
	setting_file(t, "host.gpu_driver", "/proc/driver/nvidia/version");
	setting_limit(t, "cgroup.memory_max", "/sys/fs/cgroup/memory.max");
	setting_limit(t, "cgroup.cpu_max", "/sys/fs/cgroup/cpu.max");
	setting_limit(t, "cgroup.memory_max", "/sys/fs/cgroup/memory/memory.limit_in_bytes");
}

void facts_of_run(struct start *s)
{
	struct record *rec = s->rec;
	struct trace *t = &s->trace;
	struct str command = {0};
	char *cwd = getcwd(NULL, 0);

	mask_command_json(rec->argv, &command);
	t->run.command_json = trace_str(t, str_get(&command));
	str_free(&command);
	t->run.cwd = trace_str(t, cwd);
	free(cwd);
	t->run.label = trace_str(t, rec->label);
	t->run.engine = rec->engine ? trace_str(t, engine_name(rec->engine)) : NULL;
	t->run.wall_anchor_ns = clock_wall_ns();
	t->run.mono_anchor_ns = clock_now_ns();
	t->run.start_ns = t->run.mono_anchor_ns;
	t->run.end_ns = t->run.ready_ns = UNKNOWN;
	t->run.tier = -1;
	t->run.status = -1;
	t->run.state = t->run.state_files = t->run.state_caches = trace_str(t, "unknown");
	setting(t, "until", rec->mark.text ? rec->mark.text : "default");
	setting(t, "coldprof.version", PACKAGE_VERSION);
	host(t);
	environment(s);
	if (rec->shim_why)
		trace_note(t, "launch", "warning", UNKNOWN, "%s", rec->shim_why);
}
