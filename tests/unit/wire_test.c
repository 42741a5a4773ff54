/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session string there and back; a memory that guests
 * scribbled over is read as far as it goes, never beyond.
 */
#include <errno.h>
#include <unistd.h>

#include "tests/tap.h"
#include "wire/ring.h"
#include "wire/session.h"

static void strings(void)
{
	struct session s = {.pid = 4711,
			    .fd = 9,
			    .dev = 0xfe01,
			    .ino = 1u << 31,
			    .nonce = UINT64_MAX,
			    .name = "a-b/c_9"};
	struct session back = {0};
	char text[SESSION_STRING_MAX], small[8];

	ok(session_format(&s, text, sizeof(text)) > 0, "a session is written");
	is_int(session_parse(text, &back), 0, "and read");
	ok(memcmp(&s, &back, sizeof(s)) == 0, "as it was");
	is_int(session_format(&s, small, sizeof(small)), -ENOSPC, "no room is told");
	strcpy(s.name, "a b");
	is_int(session_format(&s, text, sizeof(text)), -EINVAL, "an odd name is refused");
	is_int(session_parse("9.1.1.1.1.1.", &back), -EINVAL, "another version is refused");
}

/* Read everything. Returns: records seen. */
static unsigned long walk(struct ring *ring)
{
	static struct ring_record record;
	struct ring_reader r;
	struct wire_process p;
	struct ring_loss loss;
	unsigned long n = 0;

	if (ring_reader_init(&r, ring->map, ring->size_bytes) < 0)
		return 0;
	for (uint32_t i = 0; i < ring_process_count(&r); i++)
		n += ring_process(&r, i, &p) && strlen(p.comm) < sizeof(p.comm) ? 0 : 1;
	while (ring_next(&r, &record))
		n += record.words_bytes <= WIRE_TEXT_MAX &&
		     record.words[record.words_bytes] == '\0';
	ring_loss(&r, &loss);
	return n;
}

static void damaged(void)
{
	struct ring_options opt = {.size_bytes = 512 << 10, .process_max = 64};
	struct wire_header *h;
	struct ring_reader r;
	struct ring ring;
	unsigned seed = 7;

	is_int(ring_create(&opt, &ring), 0, "a memory is made");
	ok(ftruncate(ring.fd, 1) < 0, "it is sealed");
	is_int((int64_t)walk(&ring), 0, "it is empty");
	h = ring.map;
	for (int round = 0; round < 200; round++) {
		uint32_t *word = ring.map;

		h->next_chunk = h->next_process = UINT32_MAX;
		for (size_t i = WIRE_HEADER_SIZE / 4; i < ring.size_bytes / 4; i++) {
			seed = seed * 1664525 + 1013904223;
			/* Small numbers are tags, owners and lengths that come close to sense. */
			word[i] = seed & 0x300 ? seed >> 28 : seed;
		}
		walk(&ring);
	}
	pass("200 memories full of rubbish are read to their end");
	h->chunk_max = UINT32_MAX;
	is_int(ring_reader_init(&r, ring.map, ring.size_bytes), -EINVAL,
	       "a header that reaches beyond is refused");
	h->version++;
	is_int(ring_reader_init(&r, ring.map, ring.size_bytes), -EPROTO,
	       "another version is told apart");
	h->magic = 0;
	is_int(ring_reader_init(&r, ring.map, ring.size_bytes), -EINVAL, "a stranger is refused");
	is_int(ring_reader_init(&r, ring.map, 100), -EINVAL, "less than a header is refused");
	ring_close(&ring);
}

int main(void)
{
	strings();
	damaged();
	return done_testing();
}
