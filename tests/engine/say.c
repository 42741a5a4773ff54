/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log on descriptor 1: a few plain lines, or the
 * start-up lines of vLLM at the moments that they mean.
 */
#include "engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void put(const char *s)
{
	size_t n = strlen(s);

	if (write(STDOUT_FILENO, s, n) != (ssize_t)n)
		return; /* a reader that went away does not stop a server */
}

static const char *file_of(enum who who)
{
	return who == WHO_API	   ? "api_server.py:1277"
	       : who == WHO_ENGINE ? "core.py:97"
				   : "gpu_model_runner.py:3841";
}

void say(enum who who, int rank, const char *fmt, ...)
{
	char text[4400], stamp[32], line[4600], name[32] = "EngineCore";
	time_t now = time(NULL);
	struct tm tm;
	va_list ap;

	if (opt.style != STYLE_VLLM)
		return;
	if (who == WHO_API)
		snprintf(name, sizeof(name), "APIServer");
	else if (opt.ranks > 1)
		snprintf(name, sizeof(name), "Worker_TP%d", rank);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%m-%d %H:%M:%S", &tm);
	snprintf(line, sizeof(line), "(%s pid=%d) INFO %s [%s] %s\n", name, (int)getpid(), stamp,
		 file_of(who), text);
	put(line);
}

void say_raw(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	put(line);
}

static void weights_done(int rank, const struct model *m)
{
	double gib = (double)m->bytes / opt.ranks / (1 << 30), s = step_seconds(STEP_weights);

	say(WHO_RANK, rank, "Loading weights took %.2f seconds", s);
	say(WHO_RANK, rank, "Model loading took %.2f GiB memory and %.6f seconds", gib, s);
	say(WHO_ENGINE, rank, "Available KV cache memory: %.2f GiB", opt.kv_mib / 1024.0);
	say(WHO_ENGINE, rank, "GPU KV cache size: %d tokens", opt.kv_mib * 64);
	if (opt.jit != JIT_NONE && opt.jit_cache)
		say(WHO_RANK, rank, "Using cache directory: %s for vLLM's torch.compile",
		    opt.jit_cache);
}

static void graphs_done(int rank)
{
	double s = step_seconds(STEP_graphs);

	if (opt.style == STYLE_VLLM && !rank)
		say_raw("\rCapturing CUDA graphs (decode, FULL): 100%%|##########| %d/%d\n",
			opt.graphs, opt.graphs);
	say(WHO_RANK, rank, "Graph capturing finished in %.0f secs, took 0.01 GiB", s);
	say(WHO_ENGINE, rank,
	    "init engine (profile, create kv cache, warmup model) took %.2f seconds",
	    step_seconds(STEP_jit) + s);
}

void say_step_done(enum step step, int rank, const struct model *m)
{
	if (step == STEP_weights) {
		weights_done(rank, m);
	} else if (step == STEP_jit && opt.jit != JIT_NONE) {
		say(WHO_RANK, rank, "torch.compile takes %.2f s in total", step_seconds(STEP_jit));
	} else if (step == STEP_graphs) {
		graphs_done(rank);
	} else if (step == STEP_serving_up) {
		say(WHO_API, 0, "Starting vLLM API server 0 on http://127.0.0.1:%d", opt.port);
		if (opt.style == STYLE_VLLM)
			say_raw("(APIServer pid=%d) INFO:     Application startup complete.\n",
				(int)getpid());
		else
			say_raw("truth-engine: ready\n");
	}
}
