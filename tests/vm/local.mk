# SPDX-License-Identifier: Apache-2.0
# `make check-vm`: Debian's kernels under qemu. VM_TESTS run inside: programs of this build and
# scripts, with busybox, and sqlite3 and jq where this machine has them.
VM_TESTS = tests/vm/smoke.sh tests/vm/agree.sh tests/vm/starts.sh
VM_MACHINES = %D%/vm-6.1.sh %D%/vm-6.12.sh

check-vm: all
	VM_TESTS='$(VM_TESTS)' $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(VM_MACHINES)'
PHONY_EXTRA += check-vm

EXTRA_DIST += %D%/run %D%/kernel %D%/image %D%/init %D%/early-init %D%/smoke.sh %D%/agree.sh %D%/starts.sh $(VM_MACHINES)
