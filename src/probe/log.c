/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from writes: a line may come in several writes, and a write may hold several lines. */
#include "probe/inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/str.h"
#include "model/model.h"
#include "wire/kernel.h"

#define LINE_MAX_BYTES 2000
#define KEPT_BYTES     ((uint64_t)8 << 20)

struct log_part {
	struct {
		int32_t process, fd;
	} key;
	uint64_t at_ns;
	struct str text;
	UT_hash_handle hh;
};

static void line(struct probe *p, struct log_part *part)
{
	struct log_line l = {
		.process = part->key.process,
		.fd = part->key.fd,
		.at_ns = part->at_ns,
	};

	if (part->text.n && p->opt.line)
		p->opt.line(p->opt.line_arg, str_get(&part->text), part->at_ns);
	if (part->text.n && p->log_bytes < KEPT_BYTES) {
		p->log_bytes += part->text.n + sizeof(l);
		l.text = trace_str(p->trace, str_get(&part->text));
		vec_push(&p->trace->log, l);
	} else if (part->text.n) {
		p->lines_cut++;
	}
	str_clear(&part->text);
}

void log_calm(struct probe *p)
{
	uint64_t ticks;

	if (read(p->log_timer_fd, &ticks, sizeof(ticks)) < 0)
		return; /* it was something else that woke us */
}

void log_look_again(struct probe *p)
{
	struct itimerspec once = {.it_value.tv_nsec = 2L * KERNEL_LOG_CALM_NS};

	if (p->log_came)
		timerfd_settime(p->log_timer_fd, 0, &once, NULL);
	p->log_came = false;
}

void log_add(struct probe *p, int32_t process, int32_t fd, uint64_t at_ns, const char *text,
	     size_t n)
{
	struct log_part *part, want = {.key = {process, fd}};
	size_t i, from = 0;

	p->log_came = true;
	HASH_FIND(hh, p->log, &want.key, sizeof(want.key), part);
	if (!part) {
		part = xcalloc(1, sizeof(*part));
		part->key = want.key;
		HASH_ADD(hh, p->log, key, sizeof(part->key), part);
	}
	for (i = 0; i <= n; i++) {
		bool ends = i < n && (text[i] == '\n' || text[i] == '\r');

		if (i < n && !ends)
			continue;
		if (!part->text.n)
			part->at_ns = at_ns;
		str_addn(&part->text, text + from, i - from);
		if (ends || part->text.n > LINE_MAX_BYTES)
			line(p, part);
		from = i + 1;
	}
}

void log_end(struct probe *p)
{
	struct log_part *part, *next;

	HASH_ITER (hh, p->log, part, next)
		line(p, part);
	if (p->lines_cut)
		trace_note(p->trace, "probe", "loss", p->lines_cut,
			   "log lines beyond the first 8 MiB are not kept");
}

void log_free(struct probe *p)
{
	struct log_part *part, *next;

	HASH_ITER (hh, p->log, part, next) {
		HASH_DEL(p->log, part);
		str_free(&part->text);
		free(part);
	}
}
