// SPDX-License-Identifier: BSD-3-Clause
// http_answer.h: responses as a client reads them from what a connection of the fake stack has
// sent. Each function fails the test when the response is not one.
#pragma once
#include "unit/fake_stack.h"

// from_source: the connection's peer is from now on the n-th of addresses whose sources share no
// place among those of http holds (app/http/hold.h). The same n is the same address.
void from_source(struct c10m_conn *c, unsigned n);

struct answer {
    int status;
    const char *head;
    size_t head_len;
    const char *body;
    size_t body_len;
};

// answer_field: the value of a field, in a static text; NULL: not there. More than once fails.
const char *answer_field(const struct answer *a, const char *name);
// assert_field: value NULL: the field is not there.
void assert_field(const struct answer *a, const char *name, const char *value);
// next_answer: reads the response at *at of all that was sent, by the rules for clients (RFC 9112
// section 6.3), and moves *at behind it. only_answer: there is no other.
struct answer next_answer(const struct c10m_conn *c, size_t *at, bool to_head);
struct answer only_answer(const struct c10m_conn *c, bool to_head);
void assert_body(const struct answer *a, const void *body, size_t len);
// hold_talk: opens a connection with this much room for what it sends, gives it the requests, cut
// into pieces of `piece` bytes (0: one piece) after the first `first` bytes, and acknowledges all
// answers.
struct c10m_conn *hold_talk(struct c10m_service *s, const char *talk, size_t len, size_t first,
                            size_t piece, size_t room);
