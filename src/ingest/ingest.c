/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest.h"

#include "engine/engine.h"
#include "model/model.h"

int ingest_run(const struct ingest_options *opt, const void *map, size_t size, struct trace *t,
	       struct err *err)
{
	(void)map;
	(void)size;
	(void)err;
	engine_declare_spans(opt->engine, t);
	return 0;
}
