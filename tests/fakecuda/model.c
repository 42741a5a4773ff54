/* SPDX-License-Identifier: Apache-2.0 */
/* FAKECUDA, the clock, and what every call checks first. */
#include "fake.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct fake_model model;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t initialised_by;

static uint64_t time_ns(const char *s)
{
	char *end;
	double v = strtod(s, &end);

	if (!strcmp(end, "s"))
		return (uint64_t)(v * 1e9);
	if (!strcmp(end, "ms"))
		return (uint64_t)(v * 1e6);
	if (!strcmp(end, "us"))
		return (uint64_t)(v * 1e3);
	return (uint64_t)v;
}

static void set_word(const char *word, const char *value)
{
#define X(name, def)                                                                               \
	if (!strcmp(word, #name)) {                                                                \
		model.name = time_ns(value);                                                       \
		return;                                                                            \
	}
	FAKE_TIMES(X)
	FAKE_COUNTS(X)
#undef X
#define X(name, def)                                                                               \
	if (!strcmp(word, #name)) {                                                                \
		model.name = strtod(value, NULL);                                                  \
		return;                                                                            \
	}
	FAKE_RATES(X)
#undef X
	if (!strcmp(word, "fail")) {
		snprintf(model.fail, sizeof(model.fail), "%s", value);
		return;
	}
	/* A test that misspells a word must not pass by chance. */
	fprintf(stderr, "fake libcuda: FAKECUDA has no word '%s'\n", word);
	_exit(99);
}

static void load_model(void)
{
	const char *env = getenv("FAKECUDA");
	char *copy, *save, *word;

#define X(name, def) model.name = def;
	FAKE_TIMES(X)
	FAKE_RATES(X)
	FAKE_COUNTS(X)
#undef X
	copy = env ? strdup(env) : NULL;
	if (!copy)
		return;
	for (word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(word, '=');

		if (eq)
			*eq = '\0';
		set_word(word, eq ? eq + 1 : "");
	}
	free(copy);
}

const struct fake_model *fake_model(void)
{
	pthread_once(&once, load_model);
	return &model;
}

uint64_t fake_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void fake_spend(uint64_t start_ns, uint64_t cost_ns, enum fake_how how)
{
	uint64_t until = start_ns + cost_ns;
	struct timespec ts = {(time_t)(until / 1000000000), (long)(until % 1000000000)};

	if (how == FAKE_SLEEP && fake_now() < until)
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
			;
	while (fake_now() < until)
		;
}

uint64_t fake_rate_ns(size_t bytes, double gbps)
{
	return gbps > 0 ? (uint64_t)((double)bytes / gbps) : 0;
}

void fake_initialised(void)
{
	initialised_by = getpid();
}

CUresult fake_ready(const char *symbol, bool needs_context)
{
	extern CUcontext fake_current(void);

	if (initialised_by != getpid())
		return CUDA_NOT_INITIALIZED;
	if (needs_context && !fake_current())
		return CUDA_INVALID_CONTEXT;
	if (!strcmp(fake_model()->fail, symbol))
		return CUDA_OUT_OF_MEMORY;
	return CUDA_OK;
}
