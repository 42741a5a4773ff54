/* SPDX-License-Identifier: Apache-2.0 */
/* src/ingest: hand-made memories and traces with known answers. Numbers are primes, so that no two
 * can be mistaken. */
#include "ingest/ingest.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tap.h"
#include "base/err.h"
#include "ingest/inside.h"
#include "wire_writer.h"

#define MS UINT64_C(1000000)
#define MB (UINT64_C(1) << 20)

static const char argv_words[] = "server\0--port\0"
				 "8009";

static int32_t add_process(struct trace *t, int32_t pid, int32_t parent, uint64_t start_ns,
			   const char *exe, const char *command)
{
	struct process *p = vec_add(&t->processes);

	p->pid = pid;
	p->ppid = parent < 0 ? 1 : t->processes.v[parent].pid;
	p->parent = parent;
	p->start_ns = start_ns;
	p->exec_ns = exe ? start_ns : UNKNOWN;
	p->end_ns = UNKNOWN;
	p->status = -1;
	p->exe = trace_str(t, exe);
	p->command = trace_str(t, command);
	p->name = exe ? trace_str(t, strrchr(exe, '/') + 1) : NULL;
	return (int32_t)t->processes.n - 1;
}

static int32_t add_file(struct trace *t, const char *path, uint64_t ino, uint64_t size_bytes,
			enum file_class cls)
{
	struct file *f = vec_add(&t->files);

	f->path = trace_str(t, path);
	f->dev = 7;
	f->ino = ino;
	f->size_bytes = size_bytes;
	f->cls = (uint8_t)cls;
	f->resident_before_bytes = UNKNOWN;
	return (int32_t)t->files.n - 1;
}

static struct access *add_access(struct trace *t, int32_t process, int32_t file, enum io_mode mode,
				 uint64_t start_ns, uint64_t end_ns, uint64_t bytes)
{
	struct access *a = vec_add(&t->accesses);

	a->process = process;
	a->tid = t->processes.v[process].pid;
	a->file = file;
	a->mode = (uint8_t)mode;
	a->source = SOURCE_BPF;
	a->start_ns = start_ns;
	a->end_ns = end_ns;
	a->ops = 1;
	a->bytes = bytes;
	a->busy_ns = end_ns - start_ns;
	a->min_offset = a->max_offset = UNKNOWN;
	return a;
}

static void open_trace(struct trace *t, unsigned saw)
{
	trace_init(t);
	t->saw = saw;
	add_process(t, 1009, NO_INDEX, 11 * MS, "/nowhere/server", "server");
	t->run.start_ns = 11 * MS;
	t->run.end_ns = 9973 * MS;
}

static int run(struct trace *t, struct wire_writer *w)
{
	struct ingest_options opt = {0};

	return ingest_run(&opt, w ? w->ring.map : NULL, w ? w->ring.size_bytes : 0, t, NULL);
}

static uint64_t sum_bytes(const struct trace *t, enum kind kind)
{
	uint64_t n = 0;

	vec_for_each (e, &t->evidence)
		n += e->kind == kind ? e->bytes : 0;
	return n;
}

static uint64_t sum_time(const struct trace *t, enum kind kind)
{
	uint64_t n = 0;

	vec_for_each (e, &t->evidence)
		n += e->kind == kind ? e->end_ns - e->start_ns : 0;
	return n;
}

static int count(const struct trace *t, enum kind kind)
{
	int n = 0;

	vec_for_each (e, &t->evidence)
		n += e->kind == kind;
	return n;
}

static const struct evidence *first(const struct trace *t, enum kind kind)
{
	vec_for_each (e, &t->evidence)
		if (e->kind == kind)
			return e;
	return NULL;
}

static void test_calls(void)
{
	struct wire_writer w;
	struct wire_call *c;
	struct trace t;

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_symbol(&w, 3, WIRE_CLASS_INIT, "cuInit", 1, 17 * MS, 0,
		      WIRE_ROUTE_DLSYM | WIRE_ROUTE_PROC);
	writer_symbol(&w, 5, WIRE_CLASS_LAUNCH, "cuLaunchKernel", 104729, 0, 0, WIRE_ROUTE_PROC);
	c = writer_call(&w, 1009, WIRE_CLASS_INIT, 100 * MS, 117 * MS, 0);
	c->symbol = 3;
	writer_call(&w, 1009, WIRE_CLASS_CONTEXT, 119 * MS, 131 * MS, 0);
	c = writer_call(&w, 1009, WIRE_CLASS_ALLOC, 137 * MS, 139 * MS, 31337);
	c->result = 2;
	writer_call(&w, 1009, WIRE_CLASS_ALLOC, 149 * MS, 151 * MS, 7919);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 157 * MS, 163 * MS, 65537);
	writer_call(&w, 1009, WIRE_CLASS_MODULE, 167 * MS, 173 * MS, 0);
	c = writer_call(&w, 1009, WIRE_CLASS_CAPTURE_BEGIN, 179 * MS, 180 * MS, 0);
	c->handle = 0xabc;
	c = writer_call(&w, 1009, WIRE_CLASS_CAPTURE_END, 190 * MS, 191 * MS, 0);
	c->handle = 0xabc;
	c->aux = 0xd1;
	c->extra = 43;
	c = writer_call(&w, 1009, WIRE_CLASS_INSTANTIATE, 193 * MS, 197 * MS, 0);
	c->handle = 0xe1;
	c->aux = 0xd1;
	c = writer_call(&w, 1009, WIRE_CLASS_UPLOAD, 199 * MS, 211 * MS, 0);
	c->handle = 0xe1;
	c = writer_call(&w, 1009, WIRE_CLASS_GRAPH_LAUNCH, 223 * MS, 226 * MS, 0);
	c->handle = 0xe1;
	c = writer_call(&w, 1009, WIRE_CLASS_SYNC, 227 * MS, 229 * MS, 0);
	is_int(run(&t, &w), 0, "calls are read");
	is_int((int64_t)t.processes.n, 1, "the image finds its process");
	ok(t.processes.v[0].shim, "which has the shim");
	is_str(t.processes.v[0].command, "server --port 8009", "and its words");
	is_int((int64_t)sum_time(&t, KIND_CU_INIT), 17 * MS, "cuInit");
	is_str(first(&t, KIND_CU_INIT)->what, "cuInit", "by its name");
	is_int((int64_t)sum_time(&t, KIND_CONTEXT), 12 * MS, "context");
	is_int((int64_t)sum_bytes(&t, KIND_ALLOC), 7919, "a failed allocation is none");
	is_int(count(&t, KIND_DEVICE_QUERY), 1, "but its time is kept");
	is_int((int64_t)sum_bytes(&t, KIND_H2D), 65537, "H2D bytes");
	is_int((int64_t)sum_time(&t, KIND_MODULE_LOAD), 6 * MS, "module load");
	is_int((int64_t)sum_time(&t, KIND_CAPTURE), 12 * MS,
	       "a capture is from its begin to its end");
	is_int((int64_t)sum_time(&t, KIND_SYNC), 2 * MS, "sync");
	is_int((int64_t)t.graphs.n, 1, "one graph");
	if (t.graphs.n) {
		is_int((int64_t)t.graphs.v[0].nodes, 43, "its nodes");
		is_int((int64_t)t.graphs.v[0].capture_ns, 12 * MS, "its capture");
		is_int((int64_t)t.graphs.v[0].instantiate_ns, 4 * MS, "its instantiation");
		is_int((int64_t)t.graphs.v[0].upload_ns, 12 * MS, "its upload");
		is_int((int64_t)t.graphs.v[0].first_replay_ns, 3 * MS, "its first replay");
	}
	is_int((int64_t)t.cuda.n, 2, "symbols are counted");
	is_int((int64_t)t.cuda.v[1].calls, 104729, "launches by number");
	is_str(t.coverage.v[0].route, "dlsym+cuGetProcAddress", "routes");
	writer_close(&w);
	trace_done(&t);
}

static void test_copies(void)
{
	struct wire_writer w;
	struct trace t;

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_call(&w, 1009, WIRE_CLASS_H2D, 1000 * MS, 1010 * MS, 3 * MB);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 1500 * MS, 1501 * MS, 4099);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 5000 * MS, 5001 * MS, 101);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 7300 * MS, 7301 * MS, 103);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 8000 * MS, 8010 * MS, 5 * MB);
	run(&t, &w);
	is_int((int64_t)sum_bytes(&t, KIND_H2D), (int64_t)(8 * MB + 4099 + 103),
	       "copies of weights, and small ones near them");
	is_int((int64_t)sum_bytes(&t, KIND_DEVICE_USE), 101,
	       "a small copy far from weights is input");
	writer_close(&w);
	trace_done(&t);
}

/* A copy of `bytes` and the reads around it on one thread: the read gives way, no time is counted
 * twice. */
static void test_reads(void)
{
	struct wire_writer w;
	struct trace t;

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_file(&w, 1, 7, 211, 64 * MB,
		    "/nowhere/a/rather/long/path/to/the/first/model-00001-of-00002.safetensors");
	writer_file(&w, 2, 7, 223, 4096, "/nowhere/config.json");
	writer_read(&w, 1009, 1, 1000 * MS, 1009 * MS, 17 * MB, 0, 17 * MB);
	writer_read(&w, 1009, 1, 1010 * MS, 1019 * MS, 19 * MB, 17 * MB, 36 * MB);
	writer_read(&w, 1009, 2, 1020 * MS, 1021 * MS, 997, 0, 997);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 1003 * MS, 1005 * MS, 2 * MB);
	run(&t, &w);
	is_int((int64_t)sum_bytes(&t, KIND_READ), 36 * MB,
	       "bytes of reads, their source not known");
	is_int((int64_t)sum_time(&t, KIND_READ), 16 * MS, "no read time inside a copy");
	is_int((int64_t)sum_time(&t, KIND_H2D), 2 * MS, "the copy");
	is_int(count(&t, KIND_READ_STORAGE) + count(&t, KIND_READ_CACHE), 0,
	       "without fills nobody knows where from");
	is_int((int64_t)t.io.n, 3, "three bins");
	ok(t.io.n && t.io.v[0].storage_bytes == UNKNOWN, "storage bytes are unknown, not zero");
	is_str(file_class_word(t.files.v[0].cls), "weights", "weights by their name");
	is_str(t.files.v[0].fs, "ext4", "the file system's name");
	is_str(t.run.state, "unknown", "the state is unknown");
	writer_close(&w);
	trace_done(&t);

	/* The same reads where the kernel side saw them: the shim's are not counted again. */
	open_trace(&t, SAW_TREE | SAW_READS | SAW_FILLS | SAW_WAITS | SAW_FAULTS);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_file(&w, 1, 7, 211, 64 * MB, "/nowhere/model.safetensors");
	writer_read(&w, 1009, 1, 1000 * MS, 1009 * MS, 17 * MB, 0, 17 * MB);
	add_file(&t, "/nowhere/model.safetensors", 211, 64 * MB, FILE_OTHER);
	add_access(&t, 0, 0, IO_READ, 1000 * MS, 1009 * MS, 17 * MB)->storage_bytes = 16 * MB;
	run(&t, &w);
	is_int((int64_t)sum_bytes(&t, KIND_READ_STORAGE), 17 * MB, "once, from storage");
	is_int(count(&t, KIND_READ), 0, "and not by the shim");
	is_int((int64_t)t.io.v[0].storage_bytes, 16 * MB, "with its fills");
	is_str(t.run.state, "mixed", "16 of 17 from storage is neither cold nor warm");
	writer_close(&w);
	trace_done(&t);
}

static void test_cold_and_warm(void)
{
	static const struct {
		uint64_t resident, storage;
		const char *word;
	} cases[] = {
		{0, 61 * MB, "cold"},	     {0, 31 * MB, "mixed"},
		{61 * MB, 0, "warm"},	     {61 * MB, 29 * MB, "mixed"},
		{37 * MB, 24 * MB, "mixed"}, {UNKNOWN, 61 * MB, "cold"},
		{UNKNOWN, 0, "warm"},	     {UNKNOWN, 23 * MB, "mixed"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trace t;

		open_trace(&t, SAW_TREE | SAW_READS | SAW_FILLS);
		add_file(&t, "/nowhere/model.safetensors", 211, 61 * MB, FILE_OTHER);
		t.files.v[0].resident_before_bytes = cases[i].resident;
		for (uint64_t j = 0; j < 61; j++)
			add_access(&t, 0, 0, IO_READ, (1000 + 10 * j) * MS, (1007 + 10 * j) * MS,
				   MB)
				->storage_bytes = j < cases[i].storage / MB ? MB : 0;
		run(&t, NULL);
		is_str(t.run.state, cases[i].word, "state %zu", i);
		is_int((int64_t)(sum_bytes(&t, KIND_READ_STORAGE) + sum_bytes(&t, KIND_READ_CACHE)),
		       61 * MB, "every byte once, %zu", i);
		if (cases[i].storage == 0)
			is_int(count(&t, KIND_READ_STORAGE), 0,
			       "a warm start reads nothing from storage");
		trace_done(&t);
	}
}

/* A forward walk whose faults come 2 MiB apart: its mapped bytes are the file, not faults times a
 * page. */
static void test_mapping(void)
{
	uint64_t size = 521 * MB + 12288, io = 0;
	struct trace t;

	open_trace(&t, SAW_TREE | SAW_FAULTS | SAW_WAITS | SAW_FILLS);
	add_file(&t, "/nowhere/model.safetensors", 211, size, FILE_OTHER);
	for (uint64_t j = 0; j < 53; j++) {
		struct access *a = add_access(&t, 0, 0, IO_MAPPED, (1000 + 10 * j) * MS,
					      (1009 + 10 * j) * MS, UNKNOWN);

		a->ops = 5;
		a->min_offset = j * 10 * MB;
		a->max_offset = j == 52 ? 520 * MB : j * 10 * MB + 8 * MB;
		a->busy_ns = 3 * MS;
	}
	run(&t, NULL);
	vec_for_each (x, &t.io)
		io += x->mapped_bytes;
	is_int((int64_t)sum_bytes(&t, KIND_FAULT), (int64_t)size, "a forward walk mapped the file");
	is_int((int64_t)io, (int64_t)size, "in file_io too");
	is_int((int64_t)sum_time(&t, KIND_FAULT), 53 * 3 * MS,
	       "evidence is as long as the faults took");
	is_int((int64_t)t.evidence.v[0].start_ns, 1000 * MS, "from the first touch");
	is_int((int64_t)vec_last(&t.evidence)->end_ns, (1009 + 520) * MS, "to the last");
	is_int((int64_t)t.io.v[0].wait_ns, 3 * MS, "the wait");
	trace_done(&t);

	/* Half a file, at random, cold: each fault brought a page; and warm: at most what a fault
	 * can map. */
	for (int warm = 0; warm < 2; warm++) {
		open_trace(&t, SAW_TREE | SAW_FAULTS | SAW_WAITS | SAW_FILLS);
		add_file(&t, "/nowhere/model.safetensors", 211, 64 * MB, FILE_OTHER);
		for (uint64_t j = 0; j < 7; j++) {
			struct access *a =
				add_access(&t, 0, 0, IO_MAPPED_RANDOM, (1000 + 10 * j) * MS,
					   (1009 + 10 * j) * MS, UNKNOWN);

			a->ops = 101;
			a->min_offset = 0;
			a->max_offset = 63 * MB;
			a->storage_bytes = warm ? 0 : 101 * 4096;
		}
		run(&t, NULL);
		is_int((int64_t)sum_bytes(&t, KIND_FAULT), warm ? 7 * 101 * 65536 : 7 * 101 * 4096,
		       "random, %s", warm ? "warm" : "cold");
		trace_done(&t);
	}

	/* A source that knows what was touched is believed, up to the file's size. */
	open_trace(&t, SAW_TREE | SAW_FAULTS | SAW_WAITS);
	add_file(&t, "/nowhere/model.safetensors", 211, 64 * MB, FILE_OTHER);
	add_access(&t, 0, 0, IO_MAPPED, 1000 * MS, 1009 * MS, 41 * MB);
	add_access(&t, 0, 0, IO_MAPPED, 1010 * MS, 1019 * MS, 41 * MB);
	run(&t, NULL);
	is_int((int64_t)sum_bytes(&t, KIND_FAULT), 64 * MB, "never more than the file");
	trace_done(&t);
}

/* 135 ranges of one file by four threads at once: all bytes once, overlapping in time. */
static void test_ranges(void)
{
	struct trace t;
	uint64_t io = 0;

	open_trace(&t, SAW_TREE | SAW_READS | SAW_FILLS);
	add_file(&t, "/nowhere/model.safetensors", 211, 135 * 4 * MB, FILE_OTHER);
	for (uint64_t j = 0; j < 135; j++) {
		struct access *a =
			add_access(&t, 0, 0, IO_READ, (1000 + j) * MS, (1005 + j) * MS, 4 * MB);

		a->tid = 2000 + (int32_t)(j * 7 % 4);
		a->min_offset = (j * 7 % 135) * 4 * MB;
		a->max_offset = a->min_offset + 4 * MB;
		a->storage_bytes = 4 * MB;
	}
	run(&t, NULL);
	vec_for_each (x, &t.io)
		io += x->asked_bytes;
	is_int((int64_t)sum_bytes(&t, KIND_READ_STORAGE), 135 * 4 * MB,
	       "135 ranges: every byte once");
	is_int((int64_t)io, 135 * 4 * MB, "in file_io too");
	trace_done(&t);
}

static void test_header(void)
{
	char path[] = "ingest-test-XXXXXX", full[5000], cwd[4096];
	uint64_t json = 1987;
	struct stat st;
	struct trace t;
	int fd = mkstemp(path);

	if (fd < 0 || !getcwd(cwd, sizeof(cwd)) || write(fd, &json, 8) != 8 ||
	    write(fd, "{", 1) != 1 || ftruncate(fd, 3 * (off_t)MB) != 0 || fstat(fd, &st) != 0)
		bail("cannot write a file");
	close(fd);
	snprintf(full, sizeof(full), "%s/%s", cwd, path);
	open_trace(&t, SAW_TREE | SAW_READS | SAW_FILLS);
	add_process(&t, 1013, 0, 12 * MS, "/nowhere/worker", "worker");
	add_file(&t, full, st.st_ino, 3 * MB, FILE_OTHER);
	add_access(&t, 0, 0, IO_READ, 100 * MS, 101 * MS, 8)->max_offset = 8;
	add_access(&t, 0, 0, IO_READ, 102 * MS, 103 * MS, 1987)->max_offset = 1995;
	add_access(&t, 1, 0, IO_READ, 200 * MS, 201 * MS, 1995)->max_offset = 1995;
	add_access(&t, 1, 0, IO_READ, 210 * MS, 211 * MS, 3 * MB - 1995)->max_offset = 3 * MB;
	run(&t, NULL);
	is_str(file_class_word(t.files.v[0].cls), "weights",
	       "safetensors by its first bytes, whatever its name");
	is_int((int64_t)sum_bytes(&t, KIND_HEADER), 1995 + 1995,
	       "header reads are headers, in both processes");
	is_int((int64_t)sum_bytes(&t, KIND_READ_CACHE), 3 * MB - 1995, "the rest is weights");
	is_int(first(&t, KIND_READ_CACHE)->process, 1, "of the process that read on");
	trace_done(&t);
	unlink(path);
}

static void test_magic(void)
{
	unsigned char zip[64] = {'P', 'K', 3, 4},
		      legacy[] = {0x80, 2,    0x8a, 10,	  0x6c, 0xfc, 0x9c, 0x46,
				  0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
	unsigned char tensors[16] = {16, 0, 0, 0, 0, 0, 0, 0, '{'},
		      huge[16] = {0, 0, 0, 0, 1, 0, 0, 0, '{'};
	uint64_t n;

	zip[26] = 16;
	memcpy(zip + 30, "archive/data.pkl", 16);
	is_int(header_class(zip, sizeof(zip), &n), FILE_WEIGHTS, "a torch zip");
	memcpy(zip + 30, "archive/data.txt", 16);
	is_int(header_class(zip, sizeof(zip), &n), FILE_OTHER, "another zip");
	is_int(header_class(zip, 30, &n), FILE_OTHER, "a cut zip");
	is_int(header_class(legacy, sizeof(legacy), &n), FILE_WEIGHTS, "a legacy torch pickle");
	is_int(header_class((const unsigned char *)"\x80\x04\x95", 3, &n), FILE_OTHER,
	       "another pickle");
	is_int(header_class((const unsigned char *)"GGUF\x03", 5, &n), FILE_WEIGHTS, "GGUF");
	is_int(header_class((const unsigned char *)"|TZR|", 5, &n), FILE_WEIGHTS, "Tensorizer");
	is_int(header_class(tensors, sizeof(tensors), &n), FILE_WEIGHTS, "safetensors");
	is_int((int64_t)n, 24, "its header ends at 8 + N");
	is_int(header_class(huge, sizeof(huge), &n), FILE_OTHER,
	       "a header beyond the format's limit");
	is_int(header_class((const unsigned char *)"{}", 2, &n), FILE_OTHER, "JSON");
}

static void test_roles(void)
{
	static const struct {
		const char *exe, *command;
		int role;
	} cases[] = {
		{"/usr/bin/x86_64-linux-gnu-g++-12", "g++ -O2 -c a.cpp -o a.o", ROLE_COMPILER},
		{"/usr/bin/g++", "g++ --version", ROLE_VERSION_PROBE},
		{"/usr/bin/g++", "g++ -v", ROLE_VERSION_PROBE},
		{"/usr/bin/g++", "g++ -v x.cpp", ROLE_COMPILER},
		{"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "cc1plus -quiet a.cpp", ROLE_COMPILER},
		{"/usr/local/cuda/bin/ptxas", "ptxas -arch sm_90 a.ptx", ROLE_COMPILER},
		{"/usr/bin/clang-14", "clang-14 -x c - -o b", ROLE_COMPILER},
		{"/usr/bin/ninja", "ninja -v -j 3", ROLE_COMPILER},
		{"/usr/bin/ninja", "ninja --version", ROLE_VERSION_PROBE},
		{"/usr/bin/ld", "ld -r a.o", ROLE_COMPILER},
		{"/usr/bin/gcc", "gcc -print-file-name=libc.so", ROLE_VERSION_PROBE},
		{"/usr/bin/python3", "python3 compile_worker.py", ROLE_PLAIN},
		{"/usr/bin/accelerate", "accelerate launch", ROLE_PLAIN},
		{"/usr/bin/lscpu", "lscpu", ROLE_PLAIN},
	};
	struct trace t;

	open_trace(&t, SAW_TREE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int32_t p = add_process(&t, 2000 + (int32_t)i, 0, (100 + i) * MS, cases[i].exe,
					cases[i].command);

		t.processes.v[p].end_ns = (1100 + i) * MS;
	}
	/* g++ runs cc1plus: one compile. */
	add_process(&t, 3001, 1, 101 * MS, "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
		    "cc1plus a.cpp");
	/* g++ --version runs nothing that counts. */
	add_process(&t, 3011, 2, 102 * MS, "/usr/bin/as", "as --version");
	run(&t, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_int(t.processes.v[i + 1].role, cases[i].role, "%s", cases[i].command);
	is_int(count(&t, KIND_COMPILER), 7, "one piece for each outermost compiler");
	is_int((int64_t)sum_time(&t, KIND_COMPILER), 7 * 1000 * MS, "for its lifetime");
	trace_done(&t);
}

static void test_cache(void)
{
	static char folder[] = "/nowhere/cache";
	char *const folders[] = {folder, NULL};
	struct ingest_options opt = {.cache_folders = folders};
	struct trace t;

	open_trace(&t, SAW_TREE | SAW_READS);
	add_process(&t, 1013, 0, 12 * MS, "/usr/bin/g++", "g++ -c x.cpp");
	add_file(&t, "/nowhere/cache/ab/kernel.so", 211, 8191, FILE_OTHER);
	add_file(&t, "/nowhere/cached/kernel.so", 223, 8191, FILE_OTHER);
	add_access(&t, 0, 0, IO_READ, 100 * MS, 103 * MS, 8191);
	add_access(&t, 0, 0, IO_WRITE, 110 * MS, 115 * MS, 509);
	add_access(&t, 0, 1, IO_READ, 120 * MS, 127 * MS, 8191);
	add_access(&t, 1, 0, IO_WRITE, 130 * MS, 137 * MS, 4093);
	ingest_run(&opt, NULL, 0, &t, NULL);
	is_str(file_class_word(t.files.v[0].cls), "compile_cache", "a file of a cache folder");
	is_str(file_class_word(t.files.v[1].cls), "library",
	       "a folder of a longer name is another");
	is_int((int64_t)sum_bytes(&t, KIND_CACHE_IO), 8191 + 509,
	       "reads and writes of the server, not of its compiler");
	is_int((int64_t)sum_time(&t, KIND_CACHE_IO), 8 * MS, "and their time");
	trace_done(&t);
}

static void test_lines(void)
{
	struct wire_writer w;
	struct trace t;
	char line[64];

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_log(&w, 300 * MS, WIRE_LOG_CR, "load:  50%");
	writer_log(&w, 301 * MS, 0, "load: 100%");
	writer_log(&w, 200 * MS, WIRE_LOG_OPEN, "one ");
	writer_log(&w, 200 * MS + 1, WIRE_LOG_OPEN,
		   "line of a length that needs more than a single slot to hold it");
	writer_log(&w, 200 * MS + 2, 0, "!");
	for (int i = 0; i < 997; i++) {
		snprintf(line, sizeof(line), "waiting for shard %d, %d s", i % 4, i);
		writer_log(&w, (1000 + (uint64_t)i) * MS, 0, line);
	}
	run(&t, &w);
	is_int((int64_t)t.log.n, 5, "997 repeats are two lines");
	is_str(t.log.v[0].text,
	       "one line of a length that needs more than a single slot to hold it!",
	       "a line of three writes");
	is_str(t.log.v[1].text, "load:  50%", "bars in order of time");
	is_int((int64_t)t.log.v[3].at_ns, 1000 * MS, "the first repeat");
	is_int((int64_t)t.log.v[4].at_ns, 1996 * MS, "the last repeat");
	trace_done(&t);

	open_trace(&t, SAW_LOG);
	struct log_line *l = vec_add(&t.log);
	l->text = trace_str(&t, "a\rb\r\nc\n");
	l->at_ns = 100 * MS;
	run(&t, &w);
	is_int((int64_t)t.log.n, 3,
	       "lines that the kernel side saw are split, and the shim's are not taken again");
	writer_close(&w);
	trace_done(&t);
}

/* Without kernel side: images are the tree. */
static void test_tree(void)
{
	struct wire_writer w;
	struct trace t;

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1031, 1021, 50 * MS, 0, "/nowhere/worker", "", 0);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_process(&w, 1021, 1009, 40 * MS, WIRE_PROCESS_EXEC, "/usr/bin/gcc", "gcc\0-c\0a.c",
		       10);
	writer_call(&w, 1021, WIRE_CLASS_INIT, 41 * MS, 43 * MS, 0);
	run(&t, &w);
	is_int((int64_t)t.processes.n, 3, "two more processes");
	is_int(t.processes.v[1].parent, 0, "child of the root");
	is_int(t.processes.v[2].parent, 1, "grandchild");
	is_int(t.processes.v[1].role, ROLE_COMPILER, "known by its words");
	is_int(first(&t, KIND_CU_INIT)->process, 1, "records find their process");
	writer_close(&w);
	trace_done(&t);

	/* Another pid namespace: the number is another's, the program and the moment tell. */
	open_trace(&t, SAW_TREE);
	add_process(&t, 5003, 0, 400 * MS, "/nowhere/worker", "worker");
	writer_open(&w);
	writer_process(&w, 2, 1, 403 * MS, WIRE_PROCESS_EXEC, "/nowhere/worker", "worker", 6);
	run(&t, &w);
	is_int((int64_t)t.processes.n, 2, "no process is made up");
	ok(t.processes.v[1].shim, "the worker is found by program and time");
	writer_close(&w);
	trace_done(&t);
}

static void test_nothing(void)
{
	struct err err = {{0}, {0}};
	struct trace t;

	open_trace(&t, 0);
	is_int(run(&t, NULL), 0, "no shim and no probe: still a trace");
	is_int((int64_t)t.evidence.n, 0, "without evidence");
	is_str(t.run.state, "unknown", "and of unknown state");
	trace_done(&t);

	trace_init(&t);
	is_int(ingest_run(&(struct ingest_options){0}, NULL, 0, &t, &err), -EINVAL,
	       "no process: an error");
	ok(err.msg[0], "in words");
	trace_done(&t);
}

int main(void)
{
	test_calls();
	test_copies();
	test_reads();
	test_cold_and_warm();
	test_mapping();
	test_ranges();
	test_header();
	test_magic();
	test_roles();
	test_cache();
	test_lines();
	test_tree();
	test_nothing();
	return done_testing();
}
