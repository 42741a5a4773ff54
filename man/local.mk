# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += %D%/coldprof-trace.5
dist_man_MANS += %D%/coldprof.1
