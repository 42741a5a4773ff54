#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec sh "$top_srcdir/tests/vm/run" 5.15 ${VM_TESTS:-tests/vm/smoke.sh}
