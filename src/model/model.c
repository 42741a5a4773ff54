/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/str.h"

struct interned {
	UT_hash_handle hh;
	char s[];
};

struct strings {
	struct interned *set;
};

static const char *const item_words[] = {
#define X(id, word, title) word,
	ITEMS(X)
#undef X
};

static const char *const item_titles[] = {
#define X(id, word, title) title,
	ITEMS(X)
#undef X
};

static const char *const grade_words[] = {"measured", "declared", "inferred"};
static const char *const source_words[] = {"shim", "bpf", "perf", "proc", "log", "cupti"};
static const char *const class_words[] = {"other", "weights", "compile_cache", "library", "python"};
static const char *const role_words[] = {"plain", "compiler", "version_probe"};

static const struct {
	const char *word, *sub;
	enum item item;
} kinds[] = {
#define X(id, word, item, sub) {word, sub, ITEM_##item},
	EVIDENCE_KINDS(X)
#undef X
};

void trace_init(struct trace *t)
{
	memset(t, 0, sizeof(*t));
	t->strings = xcalloc(1, sizeof(*t->strings));
	t->run.ready_ns = UNKNOWN;
	t->run.status = -1;
}

void trace_done(struct trace *t)
{
	struct interned *i, *next;

	if (t->strings) {
		HASH_ITER (hh, t->strings->set, i, next) {
			HASH_DEL(t->strings->set, i);
			free(i);
		}
		free(t->strings);
	}
	vec_free(&t->processes);
	vec_free(&t->evidence);
	vec_free(&t->spans);
	vec_free(&t->times);
	vec_free(&t->files);
	vec_free(&t->io);
	vec_free(&t->accesses);
	vec_free(&t->numbers);
	vec_free(&t->execs);
	vec_free(&t->log);
	vec_free(&t->listeners);
	vec_free(&t->marks);
	vec_free(&t->cuda);
	vec_free(&t->coverage);
	vec_free(&t->graphs);
	vec_free(&t->diagnostics);
	vec_free(&t->settings);
	memset(t, 0, sizeof(*t));
}

const char *trace_strn(struct trace *t, const char *s, size_t n)
{
	struct interned *i;

	HASH_FIND(hh, t->strings->set, s, n, i);
	if (!i) {
		i = xcalloc(1, sizeof(*i) + n + 1);
		memcpy(i->s, s, n);
		HASH_ADD_KEYPTR(hh, t->strings->set, i->s, n, i);
	}
	return i->s;
}

const char *trace_str(struct trace *t, const char *s)
{
	return s ? trace_strn(t, s, strlen(s)) : NULL;
}

__attribute__((format(printf, 2, 0))) static const char *intern_v(struct trace *t, const char *fmt,
								  va_list ap)
{
	struct str b = {0};
	const char *s;

	str_vaddf(&b, fmt, ap);
	s = trace_str(t, str_get(&b));
	str_free(&b);
	return s;
}

const char *trace_strf(struct trace *t, const char *fmt, ...)
{
	const char *s;
	va_list ap;

	va_start(ap, fmt);
	s = intern_v(t, fmt, ap);
	va_end(ap);
	return s;
}

void trace_note(struct trace *t, const char *source, const char *severity, uint64_t count,
		const char *fmt, ...)
{
	struct diagnostic d = {trace_str(t, source), trace_str(t, severity), NULL, count};
	va_list ap;

	va_start(ap, fmt);
	d.text = intern_v(t, fmt, ap);
	va_end(ap);
	vec_push(&t->diagnostics, d);
}

int32_t trace_process_at(const struct trace *t, int32_t pid, uint64_t at_ns)
{
	int32_t found = NO_INDEX;

	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process *p = &t->processes.v[i];

		if (p->pid != pid || p->start_ns > at_ns ||
		    (p->end_ns != UNKNOWN && p->end_ns < at_ns))
			continue;
		if (found == NO_INDEX || p->start_ns >= t->processes.v[found].start_ns)
			found = (int32_t)i;
	}
	return found;
}

bool trace_is_foreign(const struct trace *t, const struct process *p)
{
	return p->pid_ns && t->pid_ns && p->pid_ns != t->pid_ns;
}

const char *item_word(enum item item)
{
	return item_words[item];
}

const char *item_title(enum item item)
{
	return item_titles[item];
}

const char *grade_word(enum grade grade)
{
	return grade_words[grade];
}

const char *kind_word(enum kind kind)
{
	return kinds[kind].word;
}

const char *kind_sub(enum kind kind)
{
	return kinds[kind].sub;
}

enum item kind_item(enum kind kind)
{
	return kinds[kind].item;
}

const char *source_word(enum source source)
{
	return source_words[source];
}

const char *file_class_word(enum file_class cls)
{
	return class_words[cls];
}

const char *role_word(enum role role)
{
	return role_words[role];
}

static int find_word(const char *const *words, int n, const char *word)
{
	for (int i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

int item_of(const char *word)
{
	return find_word(item_words, ITEM_COUNT, word);
}

int grade_of(const char *word)
{
	return find_word(grade_words, GRADE_COUNT, word);
}

int kind_of(const char *word)
{
	for (int i = 0; i < KIND_COUNT; i++)
		if (strcmp(kinds[i].word, word) == 0)
			return i;
	return -1;
}

int source_of(const char *word)
{
	return find_word(source_words, SOURCE_COUNT, word);
}

int file_class_of(const char *word)
{
	return find_word(class_words, FILE_CLASS_COUNT, word);
}

int role_of(const char *word)
{
	return find_word(role_words, ROLE_COUNT, word);
}
