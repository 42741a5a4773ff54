/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers are known by what they exec, whoever their parent is. Evidence is one piece for each
 * outermost compiler, its lifetime in its own process; the passes that it runs have the role alone.
 * `g++ --version` and its like are version probes and no evidence.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ingest/inside.h"

/*
 * "x86_64-linux-gnu-g++-12" → "g++": a target in front
 * and a version behind do not change what it is.
 */
static bool is_driver(const char *name)
{
	static const char *const drivers[] = {"gcc", "g++", "cc", "c++", "clang", "clang++"};

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		const char *at = strstr(name, drivers[i]);
		size_t n = strlen(drivers[i]);

		for (; at; at = strstr(at + 1, drivers[i])) {
			const char *rest = at + n;

			if (at != name && at[-1] != '-')
				continue;
			if (*rest == '-' && isdigit((unsigned char)rest[1]))
				rest += 1 + strspn(rest + 1, "0123456789.");
			if (*rest == '\0')
				return true;
		}
	}
	return false;
}

static bool is_compiler(const char *name)
{
	static const char *const passes[] = {
		"cc1",	  "cc1plus",   "collect2", "lto1",  "lto-wrapper", "as",   "ld",
		"ld.bfd", "ld.gold",   "ld.lld",   "lld",   "nvcc",	   "cicc", "ptxas",
		"nvlink", "fatbinary", "cudafe++", "ninja", "tileiras",	   "mold"};

	name = str_base_name(name);
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
		if (strcmp(name, passes[i]) == 0)
			return true;
	return is_driver(name);
}

/* A word that names something to be compiled, linked or built. */
static bool is_input(const char *word, size_t n)
{
	static const char *const ends[] = {".c",     ".cc", ".cpp", ".cxx", ".C",  ".cu", ".ptx",
					   ".cubin", ".o",  ".s",   ".S",   ".ll", ".bc", ".h",
					   ".hpp",   ".a",  ".i",   ".ii",  ".gpu"};

	if (n == 0 || (word[0] == '-' && n > 1))
		return false;
	if (word[0] == '@' || (n == 1 && word[0] == '-'))
		return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t m = strlen(ends[i]);

		if (n > m && strncmp(word + n - m, ends[i], m) == 0)
			return true;
	}
	return false;
}

static bool is_question(const char *word, size_t n, bool verbose_builds)
{
	static const char *const flags[] = {
		"--version",	"-version", "-dumpversion", "-dumpfullversion",
		"-dumpmachine", "--help",   "-###",	    "-V"};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (n == strlen(flags[i]) && strncmp(word, flags[i], n) == 0)
			return true;
	if (n >= 7 && strncmp(word, "-print-", 7) == 0)
		return true;
	return !verbose_builds && n == 2 && strncmp(word, "-v", 2) == 0;
}

static bool is_version_probe(const char *name, const char *command)
{
	bool asks = false, builds = strcmp(str_base_name(name), "ninja") == 0, first = true;

	if (!command)
		return false;
	while (*command) {
		size_t n = strcspn(command, " ");

		if (n && !first) {
			asks |= is_question(command, n, builds);
			if (is_input(command, n))
				return false;
		}
		first &= n == 0;
		command += n;
		command += strspn(command, " ");
	}
	return asks;
}

static void set_role(struct process *p, const char *exe, const char *command)
{
	if (!exe || !is_compiler(exe))
		return;
	if (is_version_probe(exe, command))
		p->role = p->role == ROLE_COMPILER ? ROLE_COMPILER : ROLE_VERSION_PROBE;
	else
		p->role = ROLE_COMPILER;
}

/* argv[0], since exe of a script or a link (cc → gcc-12) is another name. */
static const char *first_word(struct trace *t, const char *command)
{
	return command ? trace_strn(t, command, strcspn(command, " ")) : NULL;
}

static bool under(const struct trace *t, const struct process *p, uint8_t role)
{
	int32_t parent = p->parent;

	for (size_t hops = 0; parent >= 0 && (size_t)parent < t->processes.n && hops < 64; hops++) {
		if (t->processes.v[parent].role == role)
			return true;
		parent = t->processes.v[parent].parent;
	}
	return false;
}

static void add_compiler(struct trace *t, int32_t index)
{
	const struct process *p = &t->processes.v[index];
	uint64_t end = p->end_ns == UNKNOWN ? t->run.end_ns : p->end_ns;
	struct evidence *e;

	if (end < p->start_ns)
		return;
	e = evidence_add(t, index, p->pid, KIND_COMPILER,
			 t->saw & SAW_TREE ? SOURCE_BPF : SOURCE_PROC, p->start_ns, end);
	e->what = p->exe ? trace_str(t, str_base_name(p->exe)) : p->name;
}

void roles_derive(struct ingest *in)
{
	struct trace *t = in->t;

	/*
	 * The root is the server, or what starts it: a
	 * build as a whole is not a compile of a server.
	 */
	for (size_t i = 1; i < t->processes.n; i++) {
		struct process *p = &t->processes.v[i];

		set_role(p, p->exe, p->command);
		if (p->role == ROLE_PLAIN)
			set_role(p, first_word(t, p->command), p->command);
		if (p->role == ROLE_PLAIN && !p->exe && !p->command)
			set_role(p, p->name, NULL);
		/* A child that forked and never called exec has its parent's names. */
		if (p->exec_ns == UNKNOWN && p->parent > 0 &&
		    t->processes.v[p->parent].role == ROLE_PLAIN)
			p->role = ROLE_PLAIN;
	}
	vec_for_each (e, &t->execs)
		if (e->process > 0 && (size_t)e->process < t->processes.n)
			set_role(&t->processes.v[e->process], e->exe, e->command);
	/* What a version probe runs is part of it. */
	for (size_t i = 1; i < t->processes.n; i++)
		if (t->processes.v[i].role == ROLE_COMPILER &&
		    under(t, &t->processes.v[i], ROLE_VERSION_PROBE))
			t->processes.v[i].role = ROLE_VERSION_PROBE;
	for (size_t i = 1; i < t->processes.n; i++)
		if (t->processes.v[i].role == ROLE_COMPILER &&
		    !under(t, &t->processes.v[i], ROLE_COMPILER))
			add_compiler(t, (int32_t)i);
}
