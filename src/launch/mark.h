/* SPDX-License-Identifier: Apache-2.0 */
/* MARK: what is called ready. */
#pragma once
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

struct err;

enum mark_kind { MARK_DEFAULT, MARK_HTTP, MARK_PORT, MARK_LOG, MARK_FILE, MARK_EXIT };

struct mark_spec {
	enum mark_kind kind;
	uint16_t port; /* 0: the server's own */
	char *path;    /* of the URL or of the file; NULL: the engine's health path */
	regex_t regex; /* MARK_LOG */
	char *text;    /* as given; NULL for the default */
};

/*
 * http[:PORT][/PATH] | port[:PORT] | log:REGEX | file:PATH | exit; `text` NULL is the default mark.
 * Owns: mark_done(). Returns: 0, or -EINVAL with `err`.
 */
int mark_parse(const char *text, struct mark_spec *ret_mark, struct err *err);
void mark_done(struct mark_spec *m);
