// SPDX-License-Identifier: BSD-3-Clause
// conf_web.h: the repeated keys of an http service. Each line is checked here and kept as text; the
// application parses it again (app/http/rules.h).
//
//   host = NAME[, NAME ...] ROOT         header = PATTERN FIELD: VALUE    expires = PATTERN TIME
//   redirect = PATTERN STATUS TARGET     error_page = STATUS PATTERN
//
// NAME is the name of a host, *.NAME (all names below NAME) or an address. PATTERN is [HOST]PATH,
// of one host or, without HOST, of all hosts; * stands for any bytes. ROOT - means no directory.
#pragma once
#include "conf/value.h"

// web_parse: appends the line to the field, which holds k->width bytes of lines that end with a
// newline. False: the line is not valid for this key, or there is no room; got has the bad part.
bool web_parse(const struct key *k, char *field, const char *text, char got[VALUE_GOT_BYTES]);

// web_expected: as value_expected().
void web_expected(const struct key *k, struct text *out);

static inline bool is_web(const struct key *k)
{
    return k->type >= KEY_HOSTS && k->type <= KEY_PAGES;
}
