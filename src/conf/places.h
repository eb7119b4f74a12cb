// SPDX-License-Identifier: BSD-3-Clause
// places.h: where the values of a configuration came from, for errors that are found after it was
// loaded: on this machine, at start.
#pragma once
#include "conf/conf.h"

struct conf_places;

// conf_load_places: conf_load(), which also gives *places, to be freed by conf_places_free(). *c
// and the path have to live as long. NULL: there were errors, or no memory.
int conf_load_places(struct conf *c, const char *path, char *const *sets, unsigned n_sets,
                     struct conf_errors *errs, struct conf_places **places);

// conf_place: appends "FILE:LINE: KEY: ", or "--set SECTION.KEY: ", for the key of an error
// (struct err), or nothing if that is empty. A default has no line: then it is that of the section,
// or of no section "SECTION.KEY: ". `places` NULL: only the key.
void conf_place(struct conf_places *places, const char *key, struct text *out);

void conf_places_free(struct conf_places *places);
