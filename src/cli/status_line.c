/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_line.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"
#include "cli/record.h"
#include "launch/ready.h"
#include "render/table.h"

#define DRAW_NS	 (NS_PER_SEC / 4)
#define LOOK_NS	 NS_PER_SEC
#define SHORTEST 12 /* columns for a mark */

int status_line_open(void)
{
	const char *term = getenv("TERM");

	if (isatty(STDOUT_FILENO) || isatty(STDERR_FILENO) || !term || !strcmp(term, "dumb"))
		return -1;
	return open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* ITEM_COUNT: it tells nothing. */
static enum item item_of_call(enum wire_class cls)
{
	switch (cls) {
	case WIRE_CLASS_INIT:
	case WIRE_CLASS_CONTEXT:
	case WIRE_CLASS_PEER:
		return ITEM_CUDA_CONTEXT;
	case WIRE_CLASS_ALLOC:
	case WIRE_CLASS_VMM:
	case WIRE_CLASS_POOL:
	case WIRE_CLASS_PINNED:
		return ITEM_ALLOCATOR;
	case WIRE_CLASS_H2D:
		return ITEM_WEIGHTS;
	case WIRE_CLASS_MODULE:
	case WIRE_CLASS_FUNCTION:
	case WIRE_CLASS_LINK:
	case WIRE_CLASS_CAPTURE_BEGIN:
	case WIRE_CLASS_CAPTURE_END:
	case WIRE_CLASS_INSTANTIATE:
	case WIRE_CLASS_UPLOAD:
	case WIRE_CLASS_COMPILE:
	case WIRE_CLASS_GRAPH_LAUNCH:
		return ITEM_GRAPHS_JIT;
	default:
		return ITEM_COUNT;
	}
}

/* The item of the latest call that the guests recorded: a hint for the eye, the ledger decides. */
static enum item present_item(const struct start *s)
{
	static struct ring_record rec;
	enum item item = ITEM_PROCESS_INIT;
	struct ring_reader reader;
	uint64_t latest_ns = 0;

	if (ring_reader_init(&reader, s->memory.ring.map, s->memory.ring.size_bytes))
		return item;
	while (ring_next(&reader, &rec)) {
		enum item of = rec.kind == WIRE_CALL ? item_of_call(rec.call.cls) : ITEM_COUNT;

		if (of != ITEM_COUNT && rec.call.end_ns >= latest_ns) {
			latest_ns = rec.call.end_ns;
			item = of;
		}
	}
	return item;
}

/* A line that is wider than the terminal would not be cleared whole. */
static void add_line(const struct start *s, uint64_t now_ns, size_t columns, struct str *ret)
{
	char waits[256];
	struct str text = {0};

	str_addf(&text, "coldprof: %.0f s, %s; waiting for ",
		 (double)(now_ns - s->trace.run.start_ns) / (double)NS_PER_SEC,
		 item_title(s->line.present));
	ready_waits_for(s->ready, waits, sizeof(waits));
	text_shorten(&text, waits, columns > text.n + SHORTEST ? columns - text.n : SHORTEST,
		     false);
	text_shorten(ret, str_get(&text), columns, false);
	str_free(&text);
}

static size_t columns_of(int fd)
{
	struct winsize size;

	return !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col > 1 ? size.ws_col : 80;
}

void status_line_draw(int fd, struct start *s, uint64_t now_ns)
{
	struct str line = {0};
	uint64_t begun_ns;

	if (fd < 0 || now_ns < s->line.next_draw_ns || tcgetpgrp(fd) != getpgrp())
		return;
	s->line.next_draw_ns = now_ns + DRAW_NS;
	if (now_ns >= s->line.next_item_ns) {
		begun_ns = clock_now_ns();
		s->line.present = present_item(s);
		s->line.next_item_ns = now_ns + LOOK_NS + 50 * (clock_now_ns() - begun_ns);
	}
	str_add(&line, "\r\033[K");
	add_line(s, now_ns, columns_of(fd) - 1, &line);
	io_write_all(fd, line.s, line.n);
	str_free(&line);
	s->line.drawn = true;
}

void status_line_clear(int fd)
{
	if (fd >= 0 && tcgetpgrp(fd) == getpgrp())
		io_write_all(fd, "\r\033[K", 4);
}
