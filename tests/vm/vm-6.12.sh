#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec sh "$top_srcdir/tests/vm/run" 6.12 ${VM_TESTS:-tests/vm/smoke.sh}
