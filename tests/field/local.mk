# SPDX-License-Identifier: Apache-2.0
# Public problem reports as small starts.
FIELD_TESTS = %D%/weights.sh %D%/deaths.sh %D%/namespaces.sh %D%/unseen.sh %D%/caches.sh %D%/other-reads.sh %D%/overlay.sh %D%/outside.sh %D%/attempts.sh %D%/readiness.sh %D%/drivers.sh
TESTS += $(FIELD_TESTS)
EXTRA_DIST += $(FIELD_TESTS) %D%/field.sh %D%/guest.py
