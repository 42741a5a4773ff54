# SPDX-License-Identifier: Apache-2.0
# `make check-real`: coldprof on a real vLLM (CPU). COLDPROF_REAL_DIR holds its environment.
check-real: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='%D%/real.sh'
PHONY_EXTRA += check-real

EXTRA_DIST += %D%/setup %D%/make_model.py %D%/real.sh %D%/judge.py %D%/evictions.py
