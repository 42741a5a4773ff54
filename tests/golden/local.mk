# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += tests/golden/engine_log_test
TESTS += tests/golden/engine_log_test
tests_golden_engine_log_test_SOURCES = %D%/engine_log_test.c
tests_golden_engine_log_test_LDADD = $(ROOM_LIBS)
EXTRA_DIST += \
	%D%/engine/vllm-cpu-eager.log %D%/engine/vllm-cpu-eager.spans \
	%D%/engine/vllm-cpu-compile.log %D%/engine/vllm-cpu-compile.spans
