// SPDX-License-Identifier: BSD-3-Clause
// conf_web.h: the repeated keys of an http service: a line each, kept as text for the application,
// which reads it again (app/http/rules.h).
//
//   host = NAME[, NAME ...] ROOT         header = PATTERN FIELD: VALUE    expires = PATTERN TIME
//   redirect = PATTERN STATUS TARGET     error_page = STATUS PATTERN
//
// NAME is a host's name, *.NAME all names below it, or an address. PATTERN is [HOST]PATH: of one
// host or of all, where * stands for any bytes. ROOT - is none.
#pragma once
#include "conf/value.h"

// web_parse: appends the line to the field, k->width bytes of lines ended by newlines. False: it is
// none for this key, or there is no room; got has the part that was wrong.
bool web_parse(const struct key *k, char *field, const char *text, char got[VALUE_GOT_BYTES]);

// web_expected: as value_expected().
void web_expected(const struct key *k, struct text *out);

static inline bool is_web(const struct key *k)
{
    return k->type >= KEY_HOSTS && k->type <= KEY_PAGES;
}
