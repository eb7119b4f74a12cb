// SPDX-License-Identifier: BSD-3-Clause
// partial.h: of a configuration whose text has errors, the part that has none, for checks of the
// machine.
#pragma once
#include "conf/places.h"

// conf_parts: what is known in full. A port or service that has an error is left out; a key of
// another section that has one has its default, and what depends on it should not be judged.
struct conf_parts {
    bool identity;  // name, run_dir and socket: whether this server runs already
    bool cpu;       // [cpu]
    bool memory;    // [cpu] and [memory]; the ports and services left out would need more
    bool hugetlbfs, mount, http;
    bool ports;  // none is left out
};

// conf_load_parts: conf_load_places(), which gives *places, to be freed, also where there were
// errors in a text that could be read.
int conf_load_parts(struct conf *c, const char *path, char *const *sets, unsigned n_sets,
                    struct conf_errors *errs, struct conf_places **places);

// conf_partial: *out: the part without errors, and *parts: which; appends the sections at fault, as
// " [memory] [port a]", to left_out. *out has the life of the configuration in places. False: there
// is no such part: the text could not be read, or a --set is no setting.
bool conf_partial(struct conf_places *places, struct conf *out, struct conf_parts *parts,
                  struct text *left_out);
