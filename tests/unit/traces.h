/* SPDX-License-Identifier: Apache-2.0 */
/* Random and hand-made traces for tests of what keeps or shows them. */
#pragma once
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

/*
 * Names that break careless writers: commas, quotes,
 * tabs, newlines, escapes, bytes that are not UTF-8.
 */
static const char *const hostile_strings[] = {
	"plain",
	"",
	"a,b;c=d",
	"say \"hi\"",
	"it's",
	"tab\there",
	"line\nbreak\r\nmore",
	"\033[31mred\033[0m\a",
	"\xff\xfe not utf-8 \xc3(",
	"caf\xc3\xa9 \xe6\xa8\xa1\xe5\x9e\x8b",
	"\\back\\slash\\",
	"{\"json\": [1, 2]}",
	"%s%n%d",
	"'); DROP TABLE run; --",
	" leading and trailing ",
	"=1+1",
};
#define N_HOSTILE (sizeof(hostile_strings) / sizeof(hostile_strings[0]))

static uint64_t random_state = 1;

/* splitmix64: the same on every machine. */
static inline uint64_t random_u64(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t n)
{
	return random_u64() % n;
}

static inline uint64_t some_u64(void)
{
	switch (random_below(8)) {
	case 0:
		return UNKNOWN;
	case 1:
		return 0;
	case 2:
		return UINT64_C(1) << 63 |
		       random_below(1000); /* not representable as a positive SQL integer */
	default:
		return random_below(UINT64_C(1) << 50);
	}
}

static inline const char *some_str(struct trace *t)
{
	uint64_t i = random_below(N_HOSTILE + 3);

	if (i == N_HOSTILE)
		return NULL;
	if (i > N_HOSTILE)
		return trace_strf(t, "name %llu", (unsigned long long)random_below(50));
	return trace_str(t, hostile_strings[i]);
}

static inline int32_t some_index(size_t n)
{
	uint64_t i = random_below(n + 1);

	return i == n ? NO_INDEX : (int32_t)i;
}

static inline void random_run(struct trace *t)
{
	struct run *r = &t->run;

	r->command_json = some_str(t);
	r->cwd = some_str(t);
	r->label = some_str(t);
	r->engine = some_str(t);
	r->kernel = some_str(t);
	r->host = some_str(t);
	r->wall_anchor_ns = some_u64();
	r->mono_anchor_ns = some_u64();
	r->start_ns = some_u64();
	r->ready_ns = some_u64();
	r->end_ns = some_u64();
	r->ready_mark = some_str(t);
	r->ending = some_str(t);
	r->tier = (int32_t)random_below(3);
	r->status = (int32_t)random_below(70000) - 1;
	r->state = some_str(t);
	r->state_files = some_str(t);
	r->state_caches = some_str(t);
	t->saw = (unsigned)random_below(512);
}

static inline void random_rows(struct trace *t)
{
	size_t np = t->processes.n, nf = t->files.n;

	vec_push(&t->evidence,
		 ((struct evidence){some_index(np), (int32_t)random_below(99999),
				    (uint16_t)random_below(KIND_COUNT),
				    (uint16_t)random_below(SOURCE_COUNT), some_index(nf),
				    some_u64(), some_u64(), some_u64(), some_u64(), some_str(t)}));
	vec_push(&t->spans, ((struct span){some_index(np), (uint16_t)random_below(ITEM_COUNT),
					   random_below(2), some_u64(), some_u64(), some_str(t)}));
	vec_push(&t->times, ((struct thread_time){some_index(np), (int32_t)random_below(99999),
						  some_u64(), some_u64(), some_u64(), some_u64(),
						  some_u64(), some_u64(), some_u64()}));
	vec_push(&t->io,
		 ((struct file_io){some_index(np), some_index(nf), some_u64(), some_u64() >> 1,
				   some_u64() >> 1, some_u64() >> 1, some_u64() >> 1,
				   some_u64() >> 1, some_u64() >> 1, (uint8_t)random_below(64)}));
	vec_push(&t->execs,
		 ((struct exec_event){some_index(np), some_u64(), some_str(t), some_str(t)}));
	vec_push(&t->log, ((struct log_line){some_index(np), (int32_t)random_below(3), some_u64(),
					     some_str(t)}));
	vec_push(&t->listeners, ((struct listener){some_index(np), (uint16_t)random_below(65536),
						   some_u64(), some_u64(), some_str(t)}));
	vec_push(&t->marks, ((struct mark){some_str(t), some_u64(), some_u64()}));
	vec_push(&t->cuda, ((struct cuda_count){some_index(np), some_str(t), some_u64(), some_u64(),
						some_u64()}));
	vec_push(&t->coverage, ((struct coverage){some_index(np), some_str(t), some_str(t),
						  some_u64(), random_below(2)}));
	vec_push(&t->graphs, ((struct graph){some_index(np), some_u64(), some_u64(), some_u64(),
					     some_u64(), some_u64(), some_u64()}));
	vec_push(&t->diagnostics,
		 ((struct diagnostic){some_str(t), some_str(t), some_str(t), some_u64()}));
	vec_push(&t->settings, ((struct setting){some_str(t), some_str(t)}));
}

static inline void random_trace(struct trace *t)
{
	size_t n = random_below(60);

	trace_init(t);
	random_run(t);
	for (size_t i = 0; i < 1 + n / 4; i++) {
		vec_push(&t->processes,
			 ((struct process){(int32_t)random_below(99999),
					   (int32_t)random_below(99999), 0,
					   (int32_t)random_below(3), some_index(i), some_u64(),
					   some_u64(), some_u64(), (int32_t)random_below(70000) - 1,
					   (uint8_t)random_below(ROLE_COUNT), random_below(2),
					   some_str(t), some_str(t), some_str(t), some_str(t)}));
		vec_push(&t->files,
			 ((struct file){some_str(t), some_str(t), some_u64(), some_u64(),
					some_u64(), some_str(t),
					(uint8_t)random_below(FILE_CLASS_COUNT), some_u64()}));
	}
	while (n--)
		random_rows(t);
}
