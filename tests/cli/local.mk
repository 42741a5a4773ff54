# SPDX-License-Identifier: Apache-2.0
CLI_TESTS = %D%/status.sh %D%/signals.sh %D%/sacred.sh
TESTS += $(CLI_TESTS)
EXTRA_DIST += $(CLI_TESTS) %D%/cli.sh
