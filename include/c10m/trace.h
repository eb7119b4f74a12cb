// SPDX-License-Identifier: BSD-3-Clause
// c10m/trace.h: what an application adds to a trace of the server (docs/profiling.md): its requests
// and events of its own. Without a trace each call costs a branch. Call them on the worker, in a
// callback of the connection.
//
// If an application does not mark its requests, a request begins with data for a connection that
// has no open request, and ends when the application queues the next bytes.
#pragma once
#include "c10m/app.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    C10M_TRACE_EVENTS_MAX = 16,  // kinds of events of one service
    C10M_TRACE_NAME_BYTES = 32,
};

// c10m_request_begin: a request of the connection was received. c10m_request_end: its answer is
// queued completely. A connection has one request at a time; an end without a begin is ignored. An
// application that calls them sets c10m_app.marks_requests.
void c10m_request_begin(struct c10m_conn *c);
void c10m_request_end(struct c10m_conn *c);

// c10m_trace_event: registers a kind of event; longer names than C10M_TRACE_NAME_BYTES - 1 are cut.
// Returns its number, or -1 if the service has C10M_TRACE_EVENTS_MAX kinds already. In init only.
int c10m_trace_event(struct c10m_service *s, const char *name);

// c10m_trace: such an event happens now, with a value. event: as returned by c10m_trace_event(); -1
// is ignored.
void c10m_trace(struct c10m_conn *c, int event, uint32_t value);

#ifdef __cplusplus
}
#endif
