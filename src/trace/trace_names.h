// SPDX-License-Identifier: BSD-3-Clause
// trace_names.h: what the formats call events.
#pragma once
#include "trace/trace_reader.h"

enum { TRACE_STAGE_NAMES = STAGE_COUNT + 1, TRACE_DETAIL_BYTES = 96 };

// trace_stage_name: the name as in cores/N/cycles; of STAGE_COUNT "turn": all stages together.
const char *trace_stage_name(unsigned stage);

// trace_pool_name: "blocks", ...
const char *trace_pool_name(unsigned pool);

// trace_service_name: the name of a service; "?": there is none of this number.
const char *trace_service_name(const struct trace_about *a, unsigned service);

// trace_end_name: how a request ended that was not answered: "unknown",
// "closed", or "unanswered" of a datagram. NULL: it was.
const char *trace_end_name(const struct trace_event *e);

// trace_key: what kind of instant e is: "drop", "stall", or the name of an application's event.
// NULL: e is no instant but a turn, stage, request, answer or pool. trace_detail: what happened, as
// text.
const char *trace_key(const struct trace_about *a, const struct trace_event *e);
void trace_detail(const struct trace_about *a, const struct trace_event *e,
                  char out[TRACE_DETAIL_BYTES]);
