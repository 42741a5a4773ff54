# SPDX-License-Identifier: Apache-2.0
include src/base/local.mk
include src/wire/local.mk
include src/model/local.mk
include src/shim/local.mk
include src/cupti/local.mk
include src/launch/local.mk
include src/probe/local.mk
include src/ingest/local.mk
include src/store/local.mk
include src/attribute/local.mk
include src/engine/local.mk
include src/render/local.mk
include src/export/local.mk
include src/cli/local.mk
