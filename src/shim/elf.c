/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking up symbols without dlsym: on glibc ≤ 2.33 a program without libdl has neither dlsym nor
 * dlvsym, and a plain call of ours would take the caller's place in the search order anyway.
 */
#include "shim/shim.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

struct object {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	size_t strings_bytes;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const ElfW(Half) * versions;
	const ElfW(Verneed) * needs;
};

/* A symbol as somebody asks for it. */
struct wanted {
	const char *name;
	bool old; /* not the default version but the one before it, or one without a version */
};

struct search {
	const char *name;
	const void *inside; /* only the object that holds this address; NULL: all but our own */
	void *found;
};

/* ld.so has made most of these absolute; the vDSO's it has not. */
static const void *pointer(uintptr_t base, uintptr_t value)
{
	return (const void *)(value < base ? base + value : value);
}

static bool open_dynamic(uintptr_t base, const ElfW(Dyn) * dyn, struct object *ret)
{
	struct object o = {.base = base};

	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		const void *p = pointer(o.base, dyn->d_un.d_ptr);

		if (dyn->d_tag == DT_SYMTAB)
			o.symbols = p;
		else if (dyn->d_tag == DT_STRTAB)
			o.strings = p;
		else if (dyn->d_tag == DT_STRSZ)
			o.strings_bytes = dyn->d_un.d_val;
		else if (dyn->d_tag == DT_GNU_HASH)
			o.gnu_hash = p;
		else if (dyn->d_tag == DT_HASH)
			o.sysv_hash = p;
		else if (dyn->d_tag == DT_VERSYM)
			o.versions = p;
		else if (dyn->d_tag == DT_VERNEED)
			o.needs = p;
	}
	*ret = o;
	return o.symbols && o.strings && (o.gnu_hash || o.sysv_hash);
}

static bool open_object(const struct dl_phdr_info *info, struct object *ret)
{
	const ElfW(Dyn) *dyn = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return open_dynamic(info->dlpi_addr, dyn, ret);
}

#define HIDDEN 0x8000 /* of a version that is not the default */

/* 2: what is wanted best; 1: next to it; 0: not it. */
static int match(const struct object *o, uint32_t i, const struct wanted *w)
{
	const ElfW(Sym) *s = &o->symbols[i];
	int type = ELF64_ST_TYPE(s->st_info);
	unsigned version = o->versions ? o->versions[i] : VER_NDX_GLOBAL;

	if (s->st_shndx == SHN_UNDEF || s->st_value == 0 ||
	    (type != STT_FUNC && type != STT_NOTYPE) || ELF64_ST_BIND(s->st_info) == STB_LOCAL ||
	    !text_same(o->strings + s->st_name, w->name))
		return 0;
	if (w->old)
		return version & HIDDEN ? 2 : version <= VER_NDX_GLOBAL;
	return version & HIDDEN ? 1 : 2;
}

static void consider(const struct object *o, uint32_t i, const struct wanted *w, int *best,
		     void **found)
{
	int m = match(o, i, w);

	if (m > *best) {
		*best = m;
		*found = (void *)(o->base + o->symbols[i].st_value);
	}
}

static void *find_gnu(const struct object *o, const struct wanted *w)
{
	const uint32_t *h = o->gnu_hash;
	uint32_t buckets_n = h[0], first = h[1], bloom_n = h[2], shift = h[3], hash = 5381, i;
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(h + 4);
	const uint32_t *buckets = (const uint32_t *)(bloom + bloom_n), *chain = buckets + buckets_n;
	ElfW(Addr) word;
	void *found = NULL;
	int best = 0;

	for (const unsigned char *p = (const unsigned char *)w->name; *p; p++)
		hash = hash * 33 + *p;
	if (buckets_n == 0 || bloom_n == 0)
		return NULL;
	word = bloom[hash / 64 % bloom_n];
	if (!(word >> (hash % 64) & 1) || !(word >> (hash >> shift) % 64 & 1))
		return NULL;
	i = buckets[hash % buckets_n];
	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t c = chain[i - first];

		if ((c | 1) == (hash | 1))
			consider(o, i, w, &best, &found);
		if (c & 1)
			return found;
	}
}

static void *find_sysv(const struct object *o, const struct wanted *w)
{
	const uint32_t *h = o->sysv_hash;
	uint32_t hash = 0;
	void *found = NULL;
	int best = 0;

	for (const unsigned char *p = (const unsigned char *)w->name; *p; p++) {
		hash = (hash << 4) + *p;
		hash ^= hash >> 24 & 0xf0;
		hash &= 0x0fffffff;
	}
	if (h[0] == 0)
		return NULL;
	for (uint32_t i = h[2 + hash % h[0]]; i != 0; i = h[2 + h[0] + i])
		consider(o, i, w, &best, &found);
	return found;
}

static void *find(const struct object *o, const struct wanted *w)
{
	return o->gnu_hash ? find_gnu(o, w) : find_sysv(o, w);
}

static bool holds(const struct dl_phdr_info *info, const void *address)
{
	uintptr_t at = (uintptr_t)address - info->dlpi_addr;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && at - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct object o;

	(void)size;
	if (s->inside) {
		if (!holds(info, s->inside))
			return 0;
	} else if (holds(info, (const void *)visit)) {
		return 0;
	}
	if (open_object(info, &o))
		s->found = find(&o, &(struct wanted){.name = s->name});
	return s->found || s->inside;
}

/*
 * ld.so's own list of what it loaded, in order. Not dl_iterate_phdr: a sanitizer's runtime has that
 * intercepted before it can stand it, and asks us for symbols in between. The objects of the start
 * never go, so no lock is needed up to libc. Weak: musl lacks it, and a debugger finds the list of
 * any libc by the program's own DT_DEBUG.
 */
extern struct r_debug _r_debug __attribute__((weak));

static const struct link_map *by_program(void)
{
	const ElfW(Phdr) *head = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	const ElfW(Dyn) *dyn = NULL;
	uintptr_t base = 0;

	for (unsigned long i = 0, n = getauxval(AT_PHNUM); head && i < n; i++) {
		if (head[i].p_type == PT_PHDR)
			base = (uintptr_t)head - head[i].p_vaddr;
		else if (head[i].p_type == PT_DYNAMIC)
			dyn = (const ElfW(Dyn) *)(base + head[i].p_vaddr);
	}
	for (; dyn && dyn->d_tag != DT_NULL; dyn++)
		if (dyn->d_tag == DT_DEBUG && dyn->d_un.d_ptr)
			return ((const struct r_debug *)dyn->d_un.d_ptr)->r_map;
	return NULL;
}

static const struct link_map *us(void)
{
	const struct link_map *m = &_r_debug ? _r_debug.r_map : by_program();

	while (m && m->l_ld != _DYNAMIC)
		m = m->l_next;
	return m;
}

const char *elf_own_path(void)
{
	const struct link_map *m = us();

	return m ? m->l_name : NULL;
}

void elf_next_all(const char *const *names, void **found, size_t n)
{
	const struct link_map *m = us();
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		left += !found[i];
	for (m = m ? m->l_next : NULL; m && left; m = m->l_next) {
		struct object o;

		if (!open_dynamic(m->l_addr, m->l_ld, &o))
			continue;
		for (size_t i = 0; i < n; i++) {
			if (found[i])
				continue;
			found[i] = find(&o, &(struct wanted){.name = names[i]});
			left -= found[i] != NULL;
		}
	}
}

void *elf_next(const char *name)
{
	void *found = NULL;

	elf_next_all(&name, &found, 1);
	return found;
}

void *elf_next_old(const char *name)
{
	const struct link_map *m = us();
	const struct wanted w = {name, true};
	void *found = NULL;
	struct object o;

	for (m = m ? m->l_next : NULL; m && !found; m = m->l_next)
		if (open_dynamic(m->l_addr, m->l_ld, &o))
			found = find(&o, &w);
	return found;
}

typedef int (*visitor)(struct dl_phdr_info *, size_t, void *);

/* The real one: not seen through our own, and found without it. */
static void walk(visitor each, void *arg)
{
	static void *cache;
	void *fn = __atomic_load_n(&cache, __ATOMIC_ACQUIRE);

	if (!fn) {
		fn = elf_next("dl_iterate_phdr");
		__atomic_store_n(&cache, fn, __ATOMIC_RELEASE);
	}
	if (fn)
		((int (*)(visitor, void *))fn)(each, arg);
}

void *elf_any(const char *name)
{
	struct search s = {.name = name};

	walk(visit, &s);
	return s.found;
}

void *elf_beside(const void *address, const char *name)
{
	struct search s = {.name = name, .inside = address};

	walk(visit, &s);
	return s.found;
}

#define SYMBOLS_BYTES_MAX ((size_t)1 << 20)

struct reference {
	const void *inside;
	const char *name, *version;
	unsigned of_it, of_others; /* references to that version, and to any other */
};

static const char *version_needed(const struct object *o, unsigned version)
{
	const ElfW(Verneed) *need = o->needs;

	while (need) {
		const ElfW(Vernaux) *aux =
			(const ElfW(Vernaux) *)((const char *)need + need->vn_aux);

		for (unsigned i = 0; i < need->vn_cnt; i++) {
			if (aux->vna_other == version)
				return o->strings + aux->vna_name;
			aux = (const ElfW(Vernaux) *)((const char *)aux + aux->vna_next);
		}
		need = need->vn_next ? (const ElfW(Verneed) *)((const char *)need + need->vn_next)
				     : NULL;
	}
	return NULL;
}

/*
 * How many symbols are to be looked through for what an object only refers to: that comes before
 * what it has. A table of an object that has nothing tells nothing; the strings are behind the
 * symbols then.
 */
static size_t symbols_to_see(const struct object *o)
{
	uintptr_t from = (uintptr_t)o->symbols, to = (uintptr_t)o->strings;

	if (o->sysv_hash)
		return o->sysv_hash[1];
	if (o->gnu_hash[1] > 1)
		return o->gnu_hash[1];
	return to > from && to - from <= SYMBOLS_BYTES_MAX ? (to - from) / sizeof(ElfW(Sym)) : 0;
}

static int count_references(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct reference *r = arg;
	struct object o;
	size_t n;

	(void)size;
	if (!holds(info, r->inside))
		return 0;
	if (!open_object(info, &o) || !o.versions)
		return 1;
	n = symbols_to_see(&o);
	for (size_t i = 1; i < n; i++) {
		const ElfW(Sym) *s = &o.symbols[i];
		const char *version;

		if (s->st_shndx != SHN_UNDEF || s->st_name >= o.strings_bytes ||
		    !text_same(o.strings + s->st_name, r->name))
			continue;
		version = version_needed(&o, o.versions[i] & ~HIDDEN);
		if (version && text_same(version, r->version))
			r->of_it++;
		else
			r->of_others++;
	}
	return 1;
}

bool elf_refers(const void *address, const char *name, const char *version)
{
	struct reference r = {.inside = address, .name = name, .version = version};

	walk(count_references, &r);
	return r.of_it && !r.of_others;
}
