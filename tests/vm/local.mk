# SPDX-License-Identifier: Apache-2.0
# `make check-vm`: Debian's kernels under qemu. VM_TESTS run inside: programs of this build and
# scripts, with busybox, and sqlite3 and jq where this machine has them.
VM_TESTS = tests/vm/smoke.sh tests/vm/agree.sh tests/vm/starts.sh
VM_MACHINES = %D%/vm-6.1.sh %D%/vm-6.12.sh

check-vm: all
	VM_TESTS='$(VM_TESTS)' $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(VM_MACHINES)'
PHONY_EXTRA += check-vm

# Older ones: 5.15 is the oldest that takes the kernel programs, 5.10 does not.
VM_OLD_MACHINES = %D%/vm-5.10.sh %D%/vm-5.15.sh
check-vm-old: all
	VM_TESTS='$(VM_TESTS)' $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(VM_OLD_MACHINES)'
PHONY_EXTRA += check-vm-old

TESTS += %D%/faults.sh
EXTRA_DIST += %D%/run %D%/faults %D%/faults.sh %D%/kernel %D%/image %D%/init %D%/early-init %D%/smoke.sh %D%/agree.sh %D%/starts.sh %D%/old.sh $(VM_MACHINES) $(VM_OLD_MACHINES)
