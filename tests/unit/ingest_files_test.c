/* SPDX-License-Identifier: Apache-2.0 */
/* src/ingest: files, reads, faults and caches, from hand-made traces with known answers. */
#include "ingest_trace.h"

#include <sys/stat.h>

/*
 * A copy of `bytes` and the reads around it on one
 * thread: the read gives way, no time is counted twice.
 */
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

/*
 * A forward walk whose faults come 2 MiB apart: its
 * mapped bytes are the file, not faults times a page.
 */
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

	/*
	 * Half a file, at random, cold: each fault brought
	 * a page; and warm: at most what a fault can map.
	 */
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

/*
 * Two threads walk a file one after the other, and of the first no fault was seen: where faults are
 * sampled it may have had some, as many as fit there.
 */
static void test_unseen_head(void)
{
	static const struct {
		unsigned saw;
		uint64_t from, ops, mapped;
	} cases[] = {{SAW_TREE | SAW_FAULTS, 3 * MB / 2, 238, 16 * MB},
		     {SAW_TREE | SAW_FAULTS, 27 * 65536, 221, 16 * MB},
		     {SAW_TREE | SAW_FAULTS | SAW_WAITS, 3 * MB / 2, 238, 16 * MB - 3 * MB / 2},
		     {SAW_TREE | SAW_FAULTS, 3 * MB, 238, 13 * MB},
		     {SAW_TREE | SAW_FAULTS, 3 * MB / 2, 119, 16 * MB - 3 * MB / 2}};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct access *a;
		struct trace t;

		open_trace(&t, cases[c].saw);
		add_file(&t, "/nowhere/model.safetensors", 211, 16 * MB, FILE_OTHER);
		a = add_access(&t, 0, 0, IO_MAPPED, 1000 * MS, 1009 * MS, UNKNOWN);
		a->ops = cases[c].ops;
		a->min_offset = cases[c].from;
		a->max_offset = 16 * MB - 65536;
		run(&t, NULL);
		is_int((int64_t)t.io.v[0].mapped_bytes, (int64_t)cases[c].mapped,
		       "what an unseen thread mapped at the head, case %zu", c);
		trace_done(&t);
	}
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

/* A mapping populated at once is bytes of a mapping, counted once; a read beside it is what was asked for. */
static void test_populated(void)
{
	struct trace t;
	uint64_t asked = 0, mapped = 0;

	open_trace(&t, SAW_TREE | SAW_READS | SAW_FAULTS | SAW_FILLS);
	add_file(&t, "/nowhere/model.safetensors", 211, 61 * MB, FILE_OTHER);
	add_access(&t, 0, 0, IO_READ, 1000 * MS, 1003 * MS, 7 * MB);
	add_access(&t, 0, 0, IO_POPULATE, 1020 * MS, 1027 * MS, 61 * MB);
	run(&t, NULL);
	vec_for_each (x, &t.io) {
		asked += x->asked_bytes;
		mapped += x->mapped_bytes;
	}
	is_int((int64_t)asked, 7 * MB, "populated: asked for is what was read");
	is_int((int64_t)mapped, 61 * MB, "and the mapping counts once");
	is_int((int64_t)sum_bytes(&t, KIND_POPULATE), 61 * MB, "in the evidence too");
	trace_done(&t);
}

/* Without a view of what storage brings, a direct read beside others tells nothing of theirs. */
static void test_direct_beside_others(void)
{
	struct trace t;

	for (int others = 0; others < 3; others++) {
		open_trace(&t, SAW_TREE | SAW_READS);
		add_file(&t, "/nowhere/model.safetensors", 211, 61 * MB, FILE_OTHER);
		if (others == 1)
			add_access(&t, 0, 0, IO_READ, 1000 * MS, 1001 * MS, 7 * MB);
		add_access(&t, 0, 0, IO_DIRECT, 1002 * MS, 1003 * MS, MB)->storage_bytes = MB;
		if (others == 2)
			add_access(&t, 0, 0, IO_READ, 1004 * MS, 1005 * MS, 7 * MB);
		run(&t, NULL);
		is_int(t.io.n, 1, "one bin");
		is_int((int64_t)t.io.v[0].storage_bytes, (int64_t)(others ? UNKNOWN : MB),
		       "direct, %s", others ? "beside a read: not known" : "alone: from storage");
		trace_done(&t);
	}
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

/* stat(2) and the kernel may tell different devices of one file. */
static void test_one_file(void)
{
	struct wire_writer w;
	struct trace t;

	open_trace(&t, SAW_TREE | SAW_READS);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	add_file(&t, "/nowhere/model.safetensors", 211, 8 * MB, FILE_WEIGHTS);
	add_file(&t, "/nowhere/model.safetensors", 211, 8 * MB, FILE_OTHER);
	add_file(&t, "/nowhere/model.safetensors", 223, 16 * MB, FILE_OTHER);
	add_file(&t, "/nowhere/other.safetensors", 211, 16 * MB, FILE_OTHER);
	t.files.v[0].dev = 48;
	t.files.v[3].dev = 13;
	t.files.v[0].resident_before_bytes = 4099;
	add_access(&t, 0, 1, IO_READ, 100 * MS, 103 * MS, 8 * MB);
	writer_file(&w, 1, 19, 211, 8 * MB, "/nowhere/model.safetensors");
	run(&t, &w);
	is_int((int64_t)t.files.n, 3, "by name and inode, a file of three devices is one");
	is_int((int64_t)t.files.v[0].resident_before_bytes, 4099, "with what each tells");
	is_int(t.io.n ? t.io.v[0].file : -1, 0, "and its reads");
	writer_close(&w);
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

/*
 * A rank copies every third 4 MiB out of a mapping: that
 * is what it touched, whatever lies between its faults.
 */
static void test_touched(void)
{
	for (int faults = 0; faults < 2; faults++) {
		struct wire_writer w;
		struct trace t;
		uint64_t io = 0;

		open_trace(&t, faults ? SAW_TREE | SAW_FAULTS | SAW_WAITS : 0);
		writer_open(&w);
		writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server",
			       argv_words, sizeof(argv_words));
		writer_file(&w, 1, 7, 211, 252 * MB, "/nowhere/model.safetensors");
		writer_map(&w, 1009, 1, 20 * MS, 0x700000000000, 252 * MB, 0);
		for (uint64_t i = 0; i < 21; i++)
			writer_call(&w, 1009, WIRE_CLASS_H2D, (100 + 20 * i) * MS,
				    (117 + 20 * i) * MS, 4 * MB)
				->extra = 0x700000000000 + i * 12 * MB;
		if (faults)
			add_file(&t, "/nowhere/model.safetensors", 211, 252 * MB, FILE_OTHER);
		for (uint64_t i = 0; faults && i < 21; i++) {
			struct access *a = add_access(&t, 0, 0, IO_MAPPED, (101 + 20 * i) * MS,
						      (110 + 20 * i) * MS, UNKNOWN);

			a->ops = 17;
			a->min_offset = i * 12 * MB;
			a->max_offset = i * 12 * MB + 3 * MB;
		}
		run(&t, &w);
		vec_for_each (x, &t.io)
			io += x->mapped_bytes;
		is_int((int64_t)t.files.n, 1, "one file");
		is_int((int64_t)io, 84 * MB, "a third of the file was touched, faults %s",
		       faults ? "seen" : "not seen");
		is_int((int64_t)sum_bytes(&t, KIND_H2D), 84 * MB, "and copied");
		is_int((int64_t)sum_bytes(&t, KIND_FAULT), faults ? 84 * MB : 0,
		       "faults have bytes only where they were seen");
		writer_close(&w);
		trace_done(&t);
	}
}

/*
 * Ranks that copy out of mappings of which no fault was seen: where faults are sampled there may have
 * been some, where each is seen there was none. What was populated at once is not counted again.
 */
static void test_touched_unseen(void)
{
	static const struct {
		unsigned saw;
		bool populated;
		size_t rows;
		uint64_t faults, mapped;
	} cases[] = {{SAW_TREE | SAW_FAULTS, false, 1, UNKNOWN, 4 * MB},
		     {SAW_TREE | SAW_FAULTS | SAW_WAITS, false, 0, 0, 0},
		     {SAW_TREE, false, 1, UNKNOWN, 4 * MB},
		     {SAW_TREE | SAW_FAULTS, true, 1, 0, 8 * MB},
		     {SAW_TREE, true, 1, UNKNOWN, 8 * MB}};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct wire_writer w;
		struct trace t;

		open_trace(&t, cases[c].saw);
		writer_open(&w);
		writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server",
			       argv_words, sizeof(argv_words));
		writer_file(&w, 1, 7, 211, 8 * MB, "/nowhere/model.safetensors");
		writer_map(&w, 1009, 1, 20 * MS, 0x700000000000, 8 * MB, 0);
		writer_call(&w, 1009, WIRE_CLASS_H2D, 100 * MS, 105 * MS, 4 * MB)->extra =
			0x700000000000;
		if (cases[c].populated) {
			add_file(&t, "/nowhere/model.safetensors", 211, 8 * MB, FILE_OTHER);
			add_access(&t, 0, 0, IO_POPULATE, 21 * MS, 22 * MS, 8 * MB)->ops = 1;
		}
		run(&t, &w);
		is_int((int64_t)t.io.n, (int64_t)cases[c].rows, "lines of a touched file, case %zu",
		       c);
		if (t.io.n) {
			is_int((int64_t)t.io.v[0].faults, (int64_t)cases[c].faults, "its faults");
			is_int((int64_t)t.io.v[0].mapped_bytes, (int64_t)cases[c].mapped,
			       "its bytes");
		}
		trace_done(&t);
		writer_close(&w);
	}
}

/* Where nothing tells of faults, their number is not 0; nor is a size that nobody could ask. */
static void test_unseen(void)
{
	struct trace t;

	for (int faults = 0; faults < 2; faults++) {
		open_trace(&t, SAW_TREE | SAW_READS | (faults ? SAW_FAULTS : 0));
		add_file(&t, "/nowhere/gone.bin", 211, UNKNOWN, FILE_OTHER);
		add_file(&t, "/nowhere/empty.py", 223, 0, FILE_OTHER);
		add_access(&t, 0, 0, IO_READ, 1000 * MS, 1007 * MS, MB);
		run(&t, NULL);
		ok(t.io.n == 1 && t.io.v[0].reads && t.io.v[0].asked_bytes == MB,
		   "a read, faults %s", faults ? "seen" : "not seen");
		ok(t.io.v[0].faults == (faults ? 0 : UNKNOWN), "as many faults as were seen");
		ok(t.io.v[0].mapped_bytes == (faults ? 0 : UNKNOWN), "and bytes of mappings");
		ok(t.files.v[0].size_bytes == UNKNOWN, "a size that is not known is none");
		ok(t.files.v[1].size_bytes == 0, "an empty file is empty");
		trace_done(&t);
	}
}

int main(void)
{
	test_touched();
	test_touched_unseen();
	test_unseen();
	test_reads();
	test_cold_and_warm();
	test_mapping();
	test_unseen_head();
	test_ranges();
	test_populated();
	test_direct_beside_others();
	test_header();
	test_magic();
	test_one_file();
	test_cache();
	return done_testing();
}
