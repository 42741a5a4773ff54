/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from writes: a line may come in several writes, and a write may hold several lines. */
#include "probe/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/model.h"

#define LINE_MAX_BYTES 2000

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

	if (part->text.n) {
		l.text = trace_str(p->trace, str_get(&part->text));
		vec_push(&p->trace->log, l);
	}
	str_clear(&part->text);
}

void log_add(struct probe *p, int32_t process, int32_t fd, uint64_t at_ns, const char *text,
	     size_t n)
{
	struct log_part *part, want = {.key = {process, fd}};
	size_t i, from = 0;

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
