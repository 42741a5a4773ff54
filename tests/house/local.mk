# SPDX-License-Identifier: Apache-2.0
HOUSE_TESTS = %D%/includes.sh %D%/spdx.sh %D%/lengths.sh %D%/words.sh %D%/status.sh %D%/sum.sh %D%/tree.sh
TESTS += $(HOUSE_TESTS)
EXTRA_DIST += $(HOUSE_TESTS) %D%/files .gitignore src/README tests/summary

# The tests of what is never preloaded: those that the sanitizers can watch.
check-unit: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="`echo $(TESTS) | tr ' ' '\n' | grep -e '^tests/unit/' -e '^tests/golden/' -e '^tests/fuzz/' | tr '\n' ' '`"
PHONY_EXTRA += check-unit
