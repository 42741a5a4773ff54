/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: captured, instantiated, uploaded, replayed once. */
#include "engine.h"

#define LAUNCHES 8

static void one_graph(CUstream stream, CUfunction f)
{
	CUgraphExec exec;
	CUgraph graph;
	size_t nodes = 0;
	uint64_t a = now_ns(), b, c, d;

	CU(cu.begin_capture(stream, CAPTURE_GLOBAL));
	for (int i = 0; i < LAUNCHES; i++)
		CU(cu.launch(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CU(cu.end_capture(stream, &graph));
	b = now_ns();
	CU(cu.graph_nodes(graph, NULL, &nodes));
	if (nodes != LAUNCHES)
		die("a graph of %zu nodes from %d launches", nodes, LAUNCHES);
	c = now_ns();
	CU(cu.instantiate(&exec, graph, 0));
	d = now_ns();
	truth_work("graphs_jit", "capture", a, b, 0);
	truth_work("graphs_jit", "instantiate", c, d, 0);
	a = now_ns();
	CU(cu.graph_upload(exec, stream));
	b = now_ns();
	truth_work("graphs_jit", "upload", a, b, 0);
	a = now_ns();
	CU(cu.graph_launch(exec, stream));
	truth_work("graphs_jit", "first_launch", a, now_ns(), 0);
}

void graphs_run(void)
{
	CUfunction f = jit_kernel();
	CUstream stream;
	uint64_t start;

	CU(cu.stream_create(&stream, 0));
	start = now_ns();
	CU(cu.launch(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	truth_work("graphs_jit", "first_launch", start, now_ns(), 0);
	for (int i = 0; i < opt.graphs; i++) {
		if (i == opt.graphs / 2)
			burn_ms(opt.slow_ms[STEP_graphs]);
		one_graph(stream, f);
	}
	/* The replays above were the first of their graphs: the wait for them is warm-up. */
	start = now_ns();
	CU(cu.stream_sync(stream));
	truth_work("graphs_jit", "warm_up", start, now_ns(), 0);
}
