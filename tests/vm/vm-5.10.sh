#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec sh "$top_srcdir/tests/vm/run" 5.10 tests/vm/smoke.sh tests/vm/old.sh
