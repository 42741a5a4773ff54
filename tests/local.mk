# SPDX-License-Identifier: Apache-2.0
include tests/unit/local.mk
include tests/cli/local.mk
include tests/guests/local.mk
include tests/fakecuda/local.mk
include tests/engine/local.mk
include tests/golden/local.mk
include tests/fuzz/local.mk
include tests/bench/local.mk
include tests/real/local.mk
include tests/vm/local.mk
include tests/field/local.mk
include tests/house/local.mk

EXTRA_DIST += %D%/README %D%/tap.h %D%/tap.sh
