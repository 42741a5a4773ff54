/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which member of which struct lies in which column: the one list that writing and reading share.
 */
#include "store/internal.h"

#include "model/model.h"

#define FIELD(type, struct_name, member)                                                           \
	{                                                                                          \
#member, offsetof(struct struct_name, member), type                                \
	}
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define OF_RUN(type, member)                                                                       \
	{                                                                                          \
#member, offsetof(struct trace, run.member), type                                  \
	}
static const struct field run_fields[] = {
	OF_RUN(F_OWN, command_json),   OF_RUN(F_OWN, cwd),
	OF_RUN(F_OWN, label),	       OF_RUN(F_OWN, engine),
	OF_RUN(F_OWN, kernel),	       OF_RUN(F_OWN, host),
	OF_RUN(F_U64, wall_anchor_ns), OF_RUN(F_U64, mono_anchor_ns),
	OF_RUN(F_U64, start_ns),       OF_RUN(F_U64, ready_ns),
	OF_RUN(F_U64, end_ns),	       OF_RUN(F_OWN, ready_mark),
	OF_RUN(F_OWN, ending),	       OF_RUN(F_STATUS, tier),
	OF_RUN(F_STATUS, status),      OF_RUN(F_OWN, state),
	OF_RUN(F_OWN, state_files),    OF_RUN(F_OWN, state_caches),
	FIELD(F_I32, trace, saw),
};

static const struct field process_fields[] = {
	FIELD(F_I32, process, pid),	  FIELD(F_I32, process, ppid),
	FIELD(F_NUMBER, process, ns_pid), FIELD(F_PROCESS, process, parent),
	FIELD(F_U64, process, start_ns),  FIELD(F_U64, process, exec_ns),
	FIELD(F_U64, process, end_ns),	  FIELD(F_STATUS, process, status),
	FIELD(F_ROLE, process, role),	  FIELD(F_BOOL, process, shim),
	FIELD(F_STR, process, name),	  FIELD(F_STR, process, exe),
	FIELD(F_STR, process, command),	  FIELD(F_STR, process, uncovered),
};

static const struct field file_fields[] = {
	FIELD(F_STR, file, path),	FIELD(F_STR, file, target),
	FIELD(F_U64, file, dev),	FIELD(F_U64, file, ino),
	FIELD(F_U64, file, size_bytes), FIELD(F_STR, file, fs),
	FIELD(F_CLASS, file, cls),	FIELD(F_U64, file, resident_before_bytes),
};

static const struct field evidence_fields[] = {
	FIELD(F_PROCESS, evidence, process), FIELD(F_I32, evidence, tid),
	FIELD(F_KIND, evidence, kind),	     FIELD(F_SOURCE, evidence, source),
	FIELD(F_FILE, evidence, file),	     FIELD(F_U64, evidence, start_ns),
	FIELD(F_U64, evidence, end_ns),	     FIELD(F_U64, evidence, bytes),
	FIELD(F_U64, evidence, wait_ns),     FIELD(F_STR, evidence, what),
};

static const struct field span_fields[] = {
	FIELD(F_PROCESS, span, process), FIELD(F_ITEM, span, item),  FIELD(F_BOOL, span, container),
	FIELD(F_U64, span, start_ns),	 FIELD(F_U64, span, end_ns), FIELD(F_STR, span, name),
};

static const struct field time_fields[] = {
	FIELD(F_PROCESS, thread_time, process), FIELD(F_I32, thread_time, tid),
	FIELD(F_U64, thread_time, start_ns),	FIELD(F_U64, thread_time, end_ns),
	FIELD(F_U64, thread_time, cpu_ns),	FIELD(F_U64, thread_time, runnable_ns),
	FIELD(F_U64, thread_time, io_wait_ns),	FIELD(F_U64, thread_time, sleep_ns),
	FIELD(F_U64, thread_time, yields),
};

static const struct field io_fields[] = {
	FIELD(F_PROCESS, file_io, process),   FIELD(F_FILE, file_io, file),
	FIELD(F_U64, file_io, bin_ns),	      FIELD(F_U64, file_io, asked_bytes),
	FIELD(F_U64, file_io, storage_bytes), FIELD(F_U64, file_io, mapped_bytes),
	FIELD(F_U64, file_io, reads),	      FIELD(F_U64, file_io, faults),
	FIELD(F_U64, file_io, wait_ns),	      FIELD(F_U8, file_io, mode),
};

static const struct field exec_fields[] = {
	FIELD(F_PROCESS, exec_event, process),
	FIELD(F_U64, exec_event, at_ns),
	FIELD(F_STR, exec_event, exe),
	FIELD(F_STR, exec_event, command),
};

static const struct field log_fields[] = {
	FIELD(F_PROCESS, log_line, process),
	FIELD(F_I32, log_line, fd),
	FIELD(F_U64, log_line, at_ns),
	FIELD(F_STR, log_line, text),
};

static const struct field listener_fields[] = {
	FIELD(F_PROCESS, listener, process), FIELD(F_U16, listener, port),
	FIELD(F_U64, listener, at_ns),	     FIELD(F_U64, listener, late_ns),
	FIELD(F_STR, listener, address),
};

static const struct field mark_fields[] = {
	FIELD(F_STR, mark, name),
	FIELD(F_U64, mark, at_ns),
	FIELD(F_U64, mark, late_ns),
};

static const struct field cuda_fields[] = {
	FIELD(F_PROCESS, cuda_count, process), FIELD(F_STR, cuda_count, symbol),
	FIELD(F_U64, cuda_count, calls),       FIELD(F_U64, cuda_count, total_ns),
	FIELD(F_U64, cuda_count, bytes),
};

static const struct field coverage_fields[] = {
	FIELD(F_PROCESS, coverage, process), FIELD(F_STR, coverage, symbol),
	FIELD(F_STR, coverage, route),	     FIELD(F_U64, coverage, calls),
	FIELD(F_BOOL, coverage, hooked),
};

static const struct field graph_fields[] = {
	FIELD(F_PROCESS, graph, process),     {"graph_id", offsetof(struct graph, id), F_U64},
	FIELD(F_U64, graph, nodes),	      FIELD(F_U64, graph, capture_ns),
	FIELD(F_U64, graph, instantiate_ns),  FIELD(F_U64, graph, upload_ns),
	FIELD(F_U64, graph, first_replay_ns),
};

static const struct field diagnostic_fields[] = {
	FIELD(F_STR, diagnostic, source),
	FIELD(F_STR, diagnostic, severity),
	FIELD(F_STR, diagnostic, text),
	FIELD(F_U64, diagnostic, count),
};

static const struct field setting_fields[] = {
	FIELD(F_STR, setting, name),
	FIELD(F_STR, setting, value),
};

static const struct field segment_fields[] = {
	FIELD(F_U64, segment, start_ns),    FIELD(F_U64, segment, end_ns),
	FIELD(F_ITEM, segment, item),	    FIELD(F_GRADE, segment, grade),
	FIELD(F_PROCESS, segment, process), FIELD(F_STR, segment, sub),
	FIELD(F_STR, segment, rule),	    FIELD(F_U64, segment, cpu_ns),
	FIELD(F_U64, segment, runnable_ns), FIELD(F_U64, segment, io_wait_ns),
	FIELD(F_U64, segment, sleep_ns),
};

static const struct field row_fields[] = {
	FIELD(F_ITEM, ledger_row, item),      FIELD(F_GRADE, ledger_row, grade),
	FIELD(F_STR, ledger_row, sub),	      FIELD(F_U64, ledger_row, wall_ns),
	FIELD(F_U64, ledger_row, work_ns),    FIELD(F_U64, ledger_row, bytes),
	FIELD(F_U64, ledger_row, cpu_ns),     FIELD(F_U64, ledger_row, runnable_ns),
	FIELD(F_U64, ledger_row, io_wait_ns), FIELD(F_U64, ledger_row, sleep_ns),
};

#define LAYOUT(table, vec, struct_name, fields)                                                    \
	{                                                                                          \
		table, offsetof(struct trace, vec), sizeof(struct struct_name), fields,            \
			COUNT(fields)                                                              \
	}

const struct layout store_layouts[] = {
	LAYOUT("process", processes, process, process_fields),
	LAYOUT("file", files, file, file_fields),
	LAYOUT("evidence", evidence, evidence, evidence_fields),
	LAYOUT("span", spans, span, span_fields),
	LAYOUT("thread_time", times, thread_time, time_fields),
	LAYOUT("file_io", io, file_io, io_fields),
	LAYOUT("exec", execs, exec_event, exec_fields),
	LAYOUT("log_line", log, log_line, log_fields),
	LAYOUT("listener", listeners, listener, listener_fields),
	LAYOUT("mark", marks, mark, mark_fields),
	LAYOUT("cuda_count", cuda, cuda_count, cuda_fields),
	LAYOUT("coverage", coverage, coverage, coverage_fields),
	LAYOUT("graph", graphs, graph, graph_fields),
	LAYOUT("diagnostic", diagnostics, diagnostic, diagnostic_fields),
	LAYOUT("setting", settings, setting, setting_fields),
};
const size_t store_n_layouts = COUNT(store_layouts);

const struct layout store_run_layout = {"run", 0, sizeof(struct trace), run_fields,
					COUNT(run_fields)};
const struct layout store_segment_layout = {"segment", 0, sizeof(struct segment), segment_fields,
					    COUNT(segment_fields)};
const struct layout store_row_layout = {"ledger_row", 0, sizeof(struct ledger_row), row_fields,
					COUNT(row_fields)};
