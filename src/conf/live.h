// SPDX-License-Identifier: BSD-3-Clause
// live.h: changes the configuration while the server runs: one key, or every key that differs in
// the file. Only keys that the table marks `live` change. The caller informs the users of the
// value.
#pragma once
#include "conf/key_table.h"

enum { KEY_NAME_BYTES = 96 };

// conf_key_name: the key as in --set: "tcp.time_wait_ms", "service.web.limit_connections".
const char *conf_key_name(const struct conf *c, const struct key *k, unsigned at,
                          char out[KEY_NAME_BYTES]);

// conf_set_live: gives key k of port or service `at` the value that text says, checked as in a
// file, also beside the other keys. 0; -EINVAL: it is no such value; -ERANGE: it is out of the
// key's range, or of what other keys allow; -ENOMEM. Then *c is as before. *scratch is overwritten.
int conf_set_live(struct conf *c, const struct key *k, unsigned at, const char *text,
                  struct conf *scratch);

// conf_reload: reads path and sets as conf_load() does, and makes *c what they say, as far as keys
// are live. `changed` gets a line for each of those, `restart` for each that is not:
//     FILE:LINE: KEY: 60000 -> 30000          FILE:LINE: KEY: wants a restart
// 0; -1: errs has what is wrong, and *c is as before. *scratch is overwritten.
int conf_reload(struct conf *c, const char *path, char *const *sets, unsigned n_sets,
                struct conf *scratch, struct text *changed, struct text *restart,
                struct conf_errors *errs);
