/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of files and of log lines. The work is done
 * only for calls whose own cost is larger by far.
 */
#include "shim/shim.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define BIN_NS	       UINT64_C(10000000)
#define YIELD_BIN_NS   UINT64_C(100000000)
#define YIELD_EVERY    16
#define FILE_PROBES    32
#define LOG_SCAN_BYTES 16384 /* of one write: what is longer is no log line */
#define LOG_LINES_MAX  16384 /* of one process */
#define FILE_DULL      UINT32_MAX

#ifdef O_DIRECT
_Static_assert(O_DIRECT != 0, "O_DIRECT");
#endif

/* Lay `n` bytes of `text` behind the first `held` ones, in the slots that follow `first`. */
static void put_more(void *first, const char *text, size_t n)
{
	struct wire_more *m = first;

	while (n) {
		size_t part = n < sizeof(m->text) ? n : sizeof(m->text);

		m++;
		for (size_t i = 0; i < part; i++)
			m->text[i] = text[i];
		guest_commit(&m->head, WIRE_TAG(WIRE_MORE, 1, 0));
		text += part;
		n -= part;
	}
}

static unsigned slots_for(size_t n, size_t held)
{
	size_t each = sizeof(((struct wire_more *)0)->text);

	return 1 + (n > held ? (unsigned)((n - held + each - 1) / each) : 0);
}

static void put_line(struct local *l, int fd, const char *text, size_t n, uint64_t at_ns,
		     unsigned flags)
{
	struct wire_text *r;
	unsigned slots;
	size_t held;

	if (n > WIRE_TEXT_MAX) {
		n = WIRE_TEXT_MAX;
		flags |= WIRE_LOG_CUT;
	}
	if (__atomic_fetch_add(&l->log_lines, 1, __ATOMIC_RELAXED) >= LOG_LINES_MAX) {
		__atomic_fetch_add(&l->process->lost_records, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&guest_header->lost_records, 1, __ATOMIC_RELAXED);
		return;
	}
	slots = slots_for(n, sizeof(r->text));
	r = guest_slots(l, slots, true);
	if (!r)
		return;
	held = n < sizeof(r->text) ? n : sizeof(r->text);
	for (size_t i = 0; i < held; i++)
		r->text[i] = text[i];
	put_more(r, text + held, n - held);
	r->head.tid = guest_thread(l)->tid;
	r->at_ns = at_ns;
	r->code = (uint32_t)fd;
	r->bytes = (uint32_t)n;
	guest_commit(&r->head, WIRE_TAG(WIRE_LOG, slots, flags));
}

void record_log(int fd, const char *text, size_t n, uint64_t at_ns)
{
	struct local *l = guest_self();
	size_t begin = 0;

	if (!l)
		return;
	if (n > LOG_SCAN_BYTES)
		n = LOG_SCAN_BYTES;
	for (size_t i = 0; i < n; i++) {
		if (text[i] != '\n' && text[i] != '\r')
			continue;
		/* An empty line at the front ends what an earlier write began. */
		if (i > begin || i == 0)
			put_line(l, fd, text + begin, i - begin, at_ns,
				 text[i] == '\r' ? WIRE_LOG_CR : 0);
		begin = i + 1;
	}
	if (n > begin)
		put_line(l, fd, text + begin, n - begin, at_ns, WIRE_LOG_OPEN);
}

bool record_is_log(int fd)
{
	struct stat st;

	if ((!guest_header->log_ino[0] && !guest_header->log_ino[1]) ||
	    sys3(SYS_fstat, fd, &st, 0) != 0)
		return false;
	for (int i = 0; i < 2; i++)
		if (guest_header->log_ino[i] == st.st_ino &&
		    guest_header->log_dev[i] == wire_dev(st.st_dev))
			return true;
	return false;
}

static size_t path_of(int fd, char *path, size_t size)
{
	char link[FD_PATH_MAX];
	long got = sys4(SYS_readlinkat, AT_FDCWD, fd_path(fd, link), path, size);

	return got > 0 ? (size_t)got : 0;
}

/*
 * Python's modules: thousands in each process, which
 * would take the room of what this memory is for.
 */
static bool is_dull(const char *path, size_t n)
{
	return (n > 3 && path[n - 3] == '.' && path[n - 2] == 'p' && path[n - 1] == 'y') ||
	       (n > 4 && path[n - 4] == '.' && path[n - 3] == 'p' && path[n - 2] == 'y' &&
		path[n - 1] == 'c');
}

static uint32_t put_file(struct local *l, int fd, const struct stat *st)
{
	char path[WIRE_TEXT_MAX + 1];
	size_t n = path_of(fd, path, sizeof(path)), held;
	struct statfs fs = {0};
	unsigned flags = 0, slots;
	struct wire_file *r;

	if (is_dull(path, n))
		return FILE_DULL;
	if (n > WIRE_TEXT_MAX) {
		n = WIRE_TEXT_MAX;
		flags = WIRE_TEXT_CUT;
	}
	slots = slots_for(n, sizeof(r->text));
	r = guest_slots(l, slots, true);
	if (!r)
		return 0;
	held = n < sizeof(r->text) ? n : sizeof(r->text);
	for (size_t i = 0; i < held; i++)
		r->text[i] = path[i];
	put_more(r, path + held, n - held);
	if (sys3(SYS_fstatfs, fd, &fs, 0) == 0)
		r->fs_magic = (uint32_t)fs.f_type;
	r->head.tid = guest_thread(l)->tid;
	r->dev = wire_dev(st->st_dev);
	r->ino = st->st_ino;
	r->size_bytes = (uint64_t)st->st_size;
	r->file = __atomic_add_fetch(&l->files, 1, __ATOMIC_RELAXED);
	r->bytes = (uint32_t)n;
	guest_commit(&r->head, WIRE_TAG(WIRE_FILE, slots, flags));
	return r->file;
}

/*
 * The number of the regular file at `fd`; 0 when it is
 * none or there is no room; FILE_DULL: not recorded.
 */
static uint32_t file_of(struct local *l, int fd)
{
	struct stat st;
	unsigned at;

	if (sys3(SYS_fstat, fd, &st, 0) != 0 || !S_ISREG(st.st_mode) || st.st_ino == 0)
		return 0;
	at = (unsigned)((st.st_ino ^ st.st_dev << 17) * UINT64_C(0x9e3779b97f4a7c15) >> 40) %
	     KNOWN_FILES;
	for (int i = 0; i < FILE_PROBES; i++, at = (at + 1) % KNOWN_FILES) {
		struct known_file *k = &l->file[at];
		uint64_t ino = 0;
		uint32_t file;

		if (__atomic_compare_exchange_n(&k->ino, &ino, st.st_ino, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			k->dev = st.st_dev;
			file = put_file(l, fd, &st);
			__atomic_store_n(&k->file, file, __ATOMIC_RELEASE);
			return file;
		}
		file = __atomic_load_n(&k->file, __ATOMIC_ACQUIRE);
		if (ino == st.st_ino && file && k->dev == st.st_dev)
			return file;
	}
	/*
	 * Full, or another thread is at it: a second number
	 * for the same device and inode does no harm.
	 */
	return put_file(l, fd, &st);
}

static void grow_read(struct wire_read *r, int64_t offset, uint64_t bytes, uint64_t start_ns,
		      uint64_t end_ns)
{
	r->ops++;
	r->bytes += bytes;
	r->busy_ns += end_ns - start_ns;
	r->end_ns = end_ns;
	if (offset == NO_OFFSET)
		return;
	if ((uint64_t)offset < r->min_offset)
		r->min_offset = (uint64_t)offset;
	if ((uint64_t)offset + bytes > r->max_offset)
		r->max_offset = (uint64_t)offset + bytes;
}

void record_read(int fd, int64_t offset, uint64_t bytes, uint64_t start_ns)
{
	uint64_t end_ns = sys_now_ns(), bin = start_ns / BIN_NS;
	struct local *l = guest_self();
	struct thread_state *t;
	struct wire_read *r;
	uint32_t file;
	long flags, at;

	if (!l)
		return;
	file = file_of(l, fd);
	if (!file || file == FILE_DULL)
		return;
	if (offset == NO_OFFSET) { /* a plain read: it ends where the descriptor now stands */
		at = sys3(SYS_lseek, fd, 0, 1 /* SEEK_CUR */);
		if (at >= (long)bytes)
			offset = at - (long)bytes;
	}
	t = guest_thread(l);
	if (t->read && t->read_file == file && t->read_bin == bin) {
		grow_read(t->read, offset, bytes, start_ns, end_ns);
		return;
	}
	t->read = NULL;
	r = guest_slots(l, 1, true);
	if (!r)
		return;
	flags = sys3(SYS_fcntl, fd, F_GETFL, 0);
	r->head.tid = t->tid;
	r->file = file;
	r->start_ns = start_ns;
	r->min_offset = UINT64_MAX;
	grow_read(r, offset, bytes, start_ns, end_ns);
	guest_commit(&r->head, WIRE_TAG(WIRE_READ, 1,
					flags >= 0 && (flags & O_DIRECT) ? WIRE_READ_DIRECT : 0));
	t->read_file = file;
	t->read_bin = bin;
	t->read = r;
}

void record_map(int fd, int prot, int flags, int64_t offset, uint64_t address, uint64_t size,
		uint64_t start_ns)
{
	uint64_t end_ns = sys_now_ns();
	struct local *l = guest_self();
	struct wire_map *r;
	uint32_t file;

	if (!l)
		return;
	file = file_of(l, fd);
	if (!file || file == FILE_DULL)
		return;
	r = guest_slots(l, 1, true);
	if (!r)
		return;
	r->head.tid = guest_thread(l)->tid;
	r->file = file;
	r->prot = (uint16_t)prot;
	r->start_ns = start_ns;
	r->end_ns = end_ns;
	r->address = address;
	r->size_bytes = size;
	r->offset = (uint64_t)offset;
	r->flags = (uint32_t)flags;
	guest_commit(&r->head,
		     WIRE_TAG(WIRE_MAP, 1, flags & 1 /* MAP_SHARED */ ? WIRE_MAP_SHARED : 0));
}

void record_populate(enum wire_populate how, int fd, int64_t offset, uint64_t address,
		     uint64_t size, int result, uint64_t start_ns)
{
	uint64_t end_ns = sys_now_ns();
	struct local *l = guest_self();
	struct wire_map *r;
	uint32_t file;

	if (!l)
		return;
	file = fd >= 0 ? file_of(l, fd) : 0;
	r = guest_slots(l, 1, false);
	if (!r)
		return;
	r->head.tid = guest_thread(l)->tid;
	r->file = file == FILE_DULL ? 0 : file;
	r->how = (uint16_t)how;
	r->start_ns = start_ns;
	r->end_ns = end_ns;
	r->address = address;
	r->size_bytes = size;
	r->offset = (uint64_t)offset;
	r->result = result;
	guest_commit(&r->head, WIRE_TAG(WIRE_POPULATE, 1, 0));
}

void record_yield(void)
{
	struct local *l = guest_self();
	struct thread_state *t;
	struct wire_yield *r;
	uint64_t now;

	if (!l)
		return;
	t = guest_thread(l);
	if (++t->yields % YIELD_EVERY)
		return;
	now = sys_now_ns();
	r = t->yield;
	if (r && r->start_ns / YIELD_BIN_NS == now / YIELD_BIN_NS) {
		r->end_ns = now;
		r->calls += YIELD_EVERY;
		return;
	}
	t->yield = NULL;
	r = guest_slots(l, 1, true);
	if (!r)
		return;
	r->head.tid = t->tid;
	r->start_ns = now;
	r->end_ns = now;
	r->calls = YIELD_EVERY;
	guest_commit(&r->head, WIRE_TAG(WIRE_YIELD, 1, 0));
	t->yield = r;
}
