# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/adapter.h \
	%D%/command.c \
	%D%/engine.h \
	%D%/folders.c \
	%D%/lines.c \
	%D%/pattern.c \
	%D%/vllm.c \
	%D%/weights.c
