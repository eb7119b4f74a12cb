// SPDX-License-Identifier: BSD-3-Clause
// web_pprof.h: the routes of Go's net/http/pprof: /debug/pprof/ (an index page), cmdline, symbol,
// and one for each kind of profile (prof/prof_kinds.h), as `go tool pprof URL` asks for them:
//
//     web_pprof --> an answer at once
//               |-> a run (prof.h): the request waits until web_pprof_ready()
//
// As for all routes a token is needed if one is configured, here also as the password of HTTP
// Basic. Without a token, which the configuration permits on a loopback address only, every user of
// the host may take those that have no addresses of code; timed kinds and symbol are for root,
// because they tell the layout of this process and interrupt its workers. prof/prof.h bounds how
// many run at a time. Pages of other origins may take none: to a loopback address a browser names
// their site in the header Sec-Fetch-Site; elsewhere they lack the token.
#pragma once
#include "ctl/http/web_serve.h"

// web_is_pprof: whether the path is one of these routes. NULL is none. web_pprof_posts: whether it
// takes a POST.
bool web_is_pprof(const char *path);
bool web_pprof_posts(const char *path);

// web_pprof: sets *a, which is initialized, to the answer, or starts its run.
void web_pprof(struct web *w, const struct web_request *r, struct web_answer *a);

// web_pprof_waits: whether the run of the answer still goes on. web_pprof_ready: completes an
// answer whose run is over; call it once. Does nothing without a run. web_pprof_leave: ends the
// run.
bool web_pprof_waits(const struct web_answer *a);
void web_pprof_ready(struct web *w, struct web_answer *a);
void web_pprof_leave(struct web_answer *a);

// web_pprof_index: appends the index page.
void web_pprof_index(const struct prof *prof, struct text *out);
