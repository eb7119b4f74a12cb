// SPDX-License-Identifier: BSD-3-Clause
// web_client.h: clients of the control interface over HTTP in its own process, at the other ends of
// socket pairs. The functions run the loop while they wait, and fail the test after WAIT_MS_MAX.
#pragma once
#include "ctl/event_loop.h"
#include "ctl/http/control_http.h"

enum { ANSWER_BYTES = 4 << 20, WAIT_MS_MAX = 20000 };

#define CLOSE "Host: localhost\r\nConnection: close\r\n"

extern struct ctl_loop loop;
extern struct ctl_http *http;
extern void (*between_turns)(void);  // NULL: nothing
extern char got[ANSWER_BYTES];       // what the server has sent, terminated
extern size_t got_bytes;

uint64_t now_ms(void);

// client_from: a connected client whose address ends in `last`; -1: refused, and *fd is there to
// read what it is told. client: the same for 1, which is not refused.
int client_from(unsigned last, int *fd);
int client(void);

// turn: one turn of the loop. send_all: sends while the server takes it. receive_all: what comes
// until the end, to got; closes fd.
void turn(void);
void send_all(int fd, const char *bytes, size_t n);
void receive_all(int fd);

// ask, ask_bytes: a request on a connection of its own. get: GET of a path.
void ask_bytes(const char *request, size_t n);
void ask(const char *request);
void get(const char *path);

// status, content, has: of the answer in got; status -1: it is none. has: a part of the header.
// expect_status: GET, and what has to come. dechunk: the chunks of content() put together in place;
// -1: they do not end well.
int status(void);
const char *content(void);
bool has(const char *header);
void expect_status(const char *path, int want);
int dechunk(void);
