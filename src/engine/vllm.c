/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vLLM, V1 engine: its processes are APIServer → EngineCore
 * → Worker, and each line begins with the one that wrote it.
 */
#include <stddef.h>

#include "engine/adapter.h"

#define NUM "([0-9]+(\\.[0-9]+)?)"

static const char *const subcommands[] = {"serve", NULL};

static const char *const modules[] = {"openai.api_server", "api_server", "cli.main", "grpc_server",
				      NULL};

static const char *const identity[] = {
	"Initializing a V1 LLM engine",
	"vLLM API server version",
	"Starting vLLM (API )?server",
	"init engine \\(profile, create kv cache, warmup model\\) took",
	"^\\((EngineCore|APIServer|VllmWorker)[^)]* pid=[0-9]+\\)",
	NULL,
};

static const char *const announce[] = {
	"Starting vLLM [^:]*server.* on https?://[^ ]*:([0-9]+)",
	NULL,
};

/* Not the whole root: it also holds model facts and usage counts, which are no compiled things. */
static const char *const cache_folders[] = {
#define UNDER_ROOT(name)                                                                           \
	"$VLLM_CACHE_ROOT/" name "|$XDG_CACHE_HOME/vllm/" name "|~/.cache/vllm/" name
	UNDER_ROOT("torch_compile_cache"),
	UNDER_ROOT("torch_aot_compile"),
	UNDER_ROOT("flashinfer_autotune_cache"),
	UNDER_ROOT("deep_gemm"),
#undef UNDER_ROOT
	NULL,
};

static const char *const hub_options[] = {"--download-dir", NULL};

#define TOOK(key, pattern, item, container, group)                                                 \
	{                                                                                          \
		key, pattern, LINE_TOOK, ITEM_##item, container, group, false                      \
	}
#define BEGIN(key, pattern, item, container)                                                       \
	{                                                                                          \
		key, pattern, LINE_BEGIN, ITEM_##item, container, 0, false                         \
	}
#define END(key, pattern, item)                                                                    \
	{                                                                                          \
		key, pattern, LINE_END, ITEM_##item, false, 0, false                               \
	}
#define END_ANY(key, pattern, item)                                                                \
	{                                                                                          \
		key, pattern, LINE_END, ITEM_##item, false, 0, true                                \
	}
#define BAR(key, pattern, item)                                                                    \
	{                                                                                          \
		key, pattern, LINE_BAR, ITEM_##item, false, 0, false                               \
	}

/*
 * Phrasings of several releases stand in one pattern: "s", "secs" and "seconds" are told by the
 * unit behind the number, "GiB" or "GB", "memory" or nothing, by the pattern.
 */
static const struct line_rule lines[] = {
	BEGIN("model loading", "Starting to load model [^ ]", WEIGHTS, true),
	TOOK("model loading", "Model loading took " NUM " ?Gi?B( memory)? and " NUM, WEIGHTS, true,
	     4),
	TOOK("model loading", "[Ll]oading model weights took " NUM " ?Gi?B( memory)? and " NUM,
	     WEIGHTS, true, 4),
	/* The CPU worker does not say when it has loaded: what comes next does. */
	END_ANY("model loading", "KV cache layout", WEIGHTS),
	END_ANY("model loading", "KV cache size: [0-9,]+ tokens", WEIGHTS),
	END_ANY("model loading", "Warming up model", WEIGHTS),
	TOOK("loading weights", "Loading weights took " NUM, WEIGHTS, false, 1),
	BAR("loading shards",
	    "(Loading [^:]*(checkpoint shards|safetensors|pt checkpoint)[^:]*|Multi-thread loading "
	    "shards): +[0-9]+%",
	    WEIGHTS),

	TOOK("dynamo", "Dynamo bytecode transform time: " NUM, GRAPHS_JIT, false, 1),
	TOOK("load compiled graphs",
	     "Directly load the compiled graph(\\(s\\))? for .* from the cache, took " NUM,
	     GRAPHS_JIT, false, 2),
	TOOK("load compiled graphs", "Directly load AOT compilation from path [^ ]+,? took " NUM,
	     GRAPHS_JIT, false, 1),
	TOOK("compile graph", "Compiling a graph for .* (takes|took) " NUM, GRAPHS_JIT, false, 2),
	TOOK("torch.compile", "torch\\.compile (takes|took) " NUM " s(ecs|econds)? in total",
	     GRAPHS_JIT, true, 2),
	TOOK("torch.compile and profile run", "torch\\.compile and initial profiling run took " NUM,
	     GRAPHS_JIT, true, 1),
	TOOK("profile run", "Initial profiling/warmup run took " NUM, GRAPHS_JIT, true, 1),
	TOOK("profile run", "Memory profiling takes " NUM, GRAPHS_JIT, true, 1),
	{"compile cache", "Compiling model again due to a load failure from", LINE_NOTE,
	 ITEM_GRAPHS_JIT, false, 0, false},

	/* The worker allocates; the engine's line goes before it, and what comes next ends it. */
	BEGIN("KV cache", "KV cache size: [0-9,]+ tokens", ALLOCATOR, false),
	END_ANY("KV cache", "Warming up model", ALLOCATOR),
	END_ANY("KV cache", "Capturing CUDA graphs", ALLOCATOR),
	END_ANY("KV cache", "Autotuning process starts", ALLOCATOR),
	END_ANY("KV cache", "DeepGEMM warmup", ALLOCATOR),
	END_ANY("KV cache", "init engine \\(.*\\) took", ALLOCATOR),

	BEGIN("warm-up", "Warming up model", GRAPHS_JIT, false),
	END("warm-up", "Warming up done", GRAPHS_JIT),
	BEGIN("autotune", "Autotuning process starts", GRAPHS_JIT, false),
	END("autotune", "Autotuning process ends", GRAPHS_JIT),
	BAR("DeepGEMM warm-up", "DeepGEMM warmup[^:]*: +[0-9]+%", GRAPHS_JIT),
	BAR("graph capture", "Capturing CUDA graphs?[^:]*: +[0-9]+%", GRAPHS_JIT),
	TOOK("graph capture", "Graph capturing finished in " NUM, GRAPHS_JIT, false, 1),
	TOOK("init engine", "init engine \\(.*\\) took " NUM, GRAPHS_JIT, true, 1),
	{NULL, NULL, LINE_NOTE, ITEM_OTHER, false, 0, false},
};

const struct engine engine_vllm = {
	.name = "vllm",
	.health_path = "/health",
	.port = 8000,
	.program = "vllm",
	.subcommands = subcommands,
	.module_prefix = "vllm.entrypoints.",
	.modules = modules,
	.identity = identity,
	.stamp = "[A-Z]+ ([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ",
	.announce = announce,
	.cache_folders = cache_folders,
	.hub_options = hub_options,
	.lines = lines,
};
