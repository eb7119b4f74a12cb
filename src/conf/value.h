// SPDX-License-Identifier: BSD-3-Clause
// value.h: converts the text of a value to its field and back, by the row of the key.
#pragma once
#include "conf/key_table.h"

enum { VALUE_GOT_BYTES = 80 };

// value_parse: parses text (trimmed, terminated) into the field. Lists add to what the field holds.
// False: the field is unchanged, and got[] has the part that was wrong, for the message.
bool value_parse(const struct key *k, void *field, const char *text, char got[VALUE_GOT_BYTES]);

// value_clear: sets the field to "no value": 0, an empty text or list.
void value_clear(const struct key *k, void *field);

// value_print: appends the field in the form that value_parse reads; nothing when it has no value.
// For keys of conf/conf_web.h it appends all lines, each with its newline.
void value_print(const struct key *k, const void *field, struct text *out);

// value_expected: appends a description of valid values, as "a whole number from 1 to 15".
void value_expected(const struct key *k, struct text *out);

// number_get, number_set: a field of 1, 2, 4 or 8 bytes.
uint64_t number_get(const void *field, uint32_t width);
void number_set(void *field, uint32_t width, uint64_t value);

// got_copy: copies the first VALUE_GOT_BYTES - 1 of n bytes, with '?' for unprintable ones.
void got_copy(char got[VALUE_GOT_BYTES], const char *text, size_t n);
