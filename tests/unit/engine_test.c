/* SPDX-License-Identifier: Apache-2.0 */
/* src/engine against commands, environments and folders with known answers. */
#include "engine/engine.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tap.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"
#include "engine/adapter.h"

#define ARGV(...) ((char *const *)(const char *const[]){__VA_ARGS__, NULL})

struct variables {
	const char *const *pairs; /* name, value, …, NULL */
};

static const char *lookup(void *arg, const char *name)
{
	for (const char *const *p = ((struct variables *)arg)->pairs; *p; p += 2)
		if (strcmp(p[0], name) == 0)
			return p[1];
	return NULL;
}

static void test_commands(void)
{
	const struct {
		const char *name;
		char *const *argv;
		int port; /* 0: not vLLM, and no port */
	} cases[] = {
		{"serve", ARGV("vllm", "serve", "m"), 8000},
		{"path", ARGV("/opt/venv/bin/vllm", "serve", "m"), 8000},
		{"python and path", ARGV("python3", "/opt/venv/bin/vllm", "serve", "m"), 8000},
		{"module",
		 ARGV("python", "-m", "vllm.entrypoints.openai.api_server", "--port", "8123"),
		 8123},
		{"joined module", ARGV("python", "-mvllm.entrypoints.openai.api_server"), 8000},
		{"python flags",
		 ARGV("python", "-X", "dev", "-m", "vllm.entrypoints.openai.api_server"), 8000},
		{"wrapper",
		 ARGV("env", "A=b", "numactl", "-N", "0", "vllm", "serve", "m", "--port=81"), 81},
		{"shell",
		 ARGV("sh", "-c", "cd /srv && exec vllm serve \"m\" --port 8007 | tee log"), 8007},
		{"login shell", ARGV("/bin/bash", "-lc", "vllm serve m"), 8000},
		{"last port wins", ARGV("vllm", "serve", "m", "--port", "1", "--port", "2"), 2},
		{"bench is no server", ARGV("vllm", "bench", "latency"), 0},
		{"a file of that name", ARGV("cat", "/etc/vllm"), 0},
		{"another module", ARGV("python", "-m", "vllm.model_executor.models.registry"), 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct engine *e = engine_of_command(cases[i].argv);

		is_str(engine_name(e), cases[i].port ? "vllm" : NULL, "command: %s", cases[i].name);
		is_int(engine_port(e, cases[i].argv), cases[i].port, "port: %s", cases[i].name);
	}
	is_int(engine_port(NULL, ARGV("server", "--port", "65536")), 0, "no such port");
	is_int(engine_port(NULL, ARGV("server", "--port", "80x")), 0, "a port is a number");
	is_int(engine_port(NULL, ARGV("server", "--port=5003")), 5003, "the port of any command");
	is_int(engine_port(NULL, ARGV("server", "--portal", "5003")), 0, "whole names only");
	is_str(engine_health_path(NULL), "/health", "health path of any server");
}

static void test_lines_that_tell(void)
{
	const struct engine *e =
		engine_of_line("(EngineCore pid=71) INFO 06-12 [core.py:105] Initializing a V1 LLM "
			       "engine (v0.32.0) with config: x");

	is_str(engine_name(e), "vllm", "an engine that its command hides");
	ok(!engine_of_line("Loading weights"), "an ordinary line tells nothing");
	is_int(engine_port_of_line(
		       e, "INFO [api_server.py] Starting vLLM server on http://0.0.0.0:8011"),
	       8011, "vLLM's own line");
	is_int(engine_port_of_line(e, "Starting vLLM API server 0 on http://[::]:8012"), 8012,
	       "an IPv6 address");
	is_int(engine_port_of_line(
		       NULL,
		       "INFO:     Uvicorn running on http://127.0.0.1:8013 (Press CTRL+C to quit)"),
	       8013, "uvicorn");
	is_int(engine_port_of_line(NULL, "INFO Uvicorn running on http://[::1]:8014"), 8014,
	       "uvicorn on IPv6");
	is_int(engine_port_of_line(NULL, "fetching http://hub:3128/x"), 0,
	       "a client's URL is no port of ours");
	is_int(engine_port_of_line(NULL, "Serving metrics at http://localhost/"), 0,
	       "no number, no port");
}

static bool listed(const path_list *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], path) == 0)
			return true;
	return false;
}

static void free_list(path_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	vec_free(l);
}

static void test_folders(void)
{
	struct variables plain = {(const char *const[]){"HOME", "/home/u", "USER", "u", NULL}};
	struct variables set = {(const char *const[]){
		"HOME", "/home/u", "LOGNAME", "v", "VLLM_CACHE_ROOT", "/c/", "TRITON_CACHE_DIR",
		"/t", "TMPDIR", "/scratch", "CUDA_CACHE_PATH", "rel", "XDG_CACHE_HOME", "/x",
		"FLASHINFER_WORKSPACE_BASE", "/f", NULL}};
	struct variables none = {(const char *const[]){"HOME", "", "USER", "u", NULL}};
	const struct engine *e = engine_of_command(ARGV("vllm", "serve"));
	char cwd[4096], relative[4200];
	path_list l;

	engine_cache_folders(e, ARGV("vllm", "serve"), lookup, &plain, &l);
	ok(listed(&l, "/home/u/.cache/vllm/torch_compile_cache"), "vLLM's default root");
	ok(listed(&l, "/home/u/.nv/ComputeCache"), "the driver's default");
	ok(listed(&l, "/home/u/.triton/cache"), "Triton's default");
	ok(listed(&l, "/tmp/torchinductor_u"), "Inductor's default");
	free_list(&l);

	engine_cache_folders(e, ARGV("vllm", "serve"), lookup, &set, &l);
	snprintf(relative, sizeof(relative), "%s/rel", getcwd(cwd, sizeof(cwd)));
	ok(listed(&l, "/c//torch_compile_cache") || listed(&l, "/c/torch_compile_cache"),
	   "VLLM_CACHE_ROOT");
	ok(listed(&l, "/t"), "TRITON_CACHE_DIR");
	ok(listed(&l, "/scratch/torchinductor_v"), "TMPDIR and LOGNAME");
	ok(listed(&l, relative), "a relative path is made absolute");
	ok(listed(&l, "/x/torch_extensions"), "XDG_CACHE_HOME");
	ok(listed(&l, "/f/.cache/flashinfer"), "FLASHINFER_WORKSPACE_BASE");
	ok(!listed(&l, "/home/u/.triton/cache"), "a set variable replaces the default");
	free_list(&l);

	engine_cache_folders(NULL, ARGV("serve"), lookup, &plain, &l);
	ok(listed(&l, "/home/u/.cache/vllm/torch_compile_cache"), "any command may hide vLLM");
	ok(listed(&l, "/home/u/.triton/cache"), "any command: what a CUDA program uses");
	free_list(&l);

	engine_cache_folders(NULL, ARGV("serve"), lookup, &none, &l);
	is_int((int64_t)l.n, 1, "without a home: only the temporary folder");
	free_list(&l);

	engine_cache_folders(
		NULL,
		ARGV("sh", "-c", "TRITON_CACHE_DIR=/a HOME=$H exec env DG_JIT_CACHE_DIR=/b x"),
		lookup, &plain, &l);
	ok(listed(&l, "/a") && listed(&l, "/b"), "what the command assigns");
	ok(listed(&l, "/home/u/.nv/ComputeCache"), "but nothing that a shell would expand");
	free_list(&l);
}

static void put(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		bail("cannot write %s", path);
	fputs("x", f);
	fclose(f);
}

static void test_weights(void)
{
	char root[] = "engine-test-XXXXXX", cwd[4096], path[4300];
	struct variables env = {
		(const char *const[]){"HF_HUB_CACHE", "hub", "HOME", "/nowhere", NULL}};
	path_list l;

	if (!mkdtemp(root) || !getcwd(cwd, sizeof(cwd)) || chdir(root) != 0)
		bail("no folder to work in");
	mkdir("model", 0755);
	put("model/b-2.safetensors");
	put("model/a-1.safetensors");
	put("model/config.json");
	put("model/training_args.bin");
	mkdir("model/vae", 0755);
	put("model/vae/x.gguf");
	put("one.pt");
	engine_weight_files(NULL,
			    ARGV("serve", "--model", "model", "--truth=one.pt", "-v", "missing"),
			    lookup, &env, &l);
	is_int((int64_t)l.n, 4, "shards of a folder and a file");
	is_str(l.n > 0 ? l.v[0] : NULL, "model/a-1.safetensors", "in the order of their names");
	is_str(l.n > 2 ? l.v[2] : NULL, "model/vae/x.gguf", "one folder down");
	is_str(l.n > 3 ? l.v[3] : NULL, "one.pt", "--option=FILE");
	free_list(&l);

	mkdir("hub", 0755);
	mkdir("hub/models--org--m.7b", 0755);
	mkdir("hub/models--org--m.7b/blobs", 0755);
	put("hub/models--org--m.7b/blobs/cafe");
	mkdir("hub/models--org--m.7b/snapshots", 0755);
	mkdir("hub/models--org--m.7b/snapshots/c1", 0755);
	mkdir("hub/models--org--m.7b/refs", 0755);
	put("hub/models--org--m.7b/refs/other");
	if (symlink("../../blobs/cafe", "hub/models--org--m.7b/snapshots/c1/w.safetensors") != 0 ||
	    symlink("../../blobs/cafe", "hub/models--org--m.7b/snapshots/c1/again.safetensors") !=
		    0 ||
	    symlink("../../blobs/gone", "hub/models--org--m.7b/snapshots/c1/lost.safetensors") != 0)
		bail("no symbolic links here");
	FILE *f = fopen("hub/models--org--m.7b/refs/main", "w");
	fputs("c1\n", f);
	fclose(f);
	engine_weight_files(NULL, ARGV("vllm", "serve", "org/m.7b"), lookup, &env, &l);
	is_int((int64_t)l.n, 1, "a model id: each blob once, a dangling link harmless");
	snprintf(path, sizeof(path), "%s/%s/hub/models--org--m.7b/snapshots/c1/again.safetensors",
		 cwd, root);
	is_str(l.n ? l.v[0] : NULL, path, "by its friendly name");
	free_list(&l);
	engine_weight_files(NULL, ARGV("vllm", "serve", "--revision", "nope", "org/m.7b"), lookup,
			    &env, &l);
	is_int((int64_t)l.n, 0, "another revision is not there");
	free_list(&l);

	if (chdir(cwd) != 0)
		bail("cannot go back");
	snprintf(path, sizeof(path), "rm -rf '%s'", root);
	if (system(path) != 0)
		diag("left %s behind", root);
}

static void test_variables(void)
{
	ok(engine_keeps_variable("CUDA_VISIBLE_DEVICES"), "CUDA_VISIBLE_DEVICES is kept");
	ok(engine_keeps_variable("VLLM_CACHE_ROOT"), "an engine's variable is kept");
	ok(engine_keeps_variable("NCCL_DEBUG"), "NCCL's are kept");
	ok(engine_keeps_variable("TOKENIZERS_PARALLELISM"), "tokenizers are no token");
	ok(!engine_keeps_variable("HF_TOKEN"), "no token");
	ok(!engine_keeps_variable("VLLM_API_KEY"), "no key");
	ok(!engine_keeps_variable("NVIDIA_APIKEY"), "no key, whatever its spelling");
	ok(!engine_keeps_variable("HF_AUTH") && !engine_keeps_variable("RAY_PASSPHRASE"),
	   "nor any other word for a secret");
	ok(!engine_keeps_variable("AWS_REGION"), "what is not on the list is not kept");
}

int main(void)
{
	test_commands();
	test_lines_that_tell();
	test_folders();
	test_weights();
	test_variables();
	return done_testing();
}
