// SPDX-License-Identifier: BSD-3-Clause
// conf_load.h: one run of conf_load(): what is being filled in, and where each value came from, so
// that checks made later can still point at a line.
#pragma once
#include "conf/key_table.h"

enum { LOAD_SECTIONS_MAX = SECTION_port + CONF_PORTS_MAX + CONF_SERVICES_MAX };

// load_section: one section of the file, or one that only overrides made.
struct load_section {
    unsigned header_line;             // 0: not in the file
    unsigned key_line[KEY_ROWS_MAX];  // 0: not in the file
    bool overridden[KEY_ROWS_MAX];    // by --set
    bool bad[KEY_ROWS_MAX];           // an error was told: checks that build on it say nothing
};

struct load {
    struct conf *c;
    const struct conf_host *host;
    const char *file;
    struct conf_errors *errs;
    struct load_section sections[LOAD_SECTIONS_MAX];  // fixed ones, ports, services
};

// load_section_of: the state of a section; `at` counts ports or services, else 0.
struct load_section *load_section_of(struct load *l, enum conf_section section, unsigned at);

// key_given: by the file or an override. key_good: no error was told about it.
bool key_given(struct load *l, const struct key *k, unsigned at);
bool key_good(struct load *l, const struct key *k, unsigned at);

// fail_line: an error line "FILE:LINE: ...". fail_plain: an error line as it is.
void fail_line(struct load *l, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void fail_plain(struct load *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

// fail_key: an error about a key, pointing at where its value came from: its line, the override, or
// the section's header when it has its default.
void fail_key(struct load *l, const struct key *k, unsigned at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// read_file_text: the lines of the file; read_overrides: the values of --set. (ini.c)
void read_file_text(struct load *l, const char *text, size_t len);
void read_overrides(struct load *l, char *const *sets, unsigned n_sets);

// section_open: the port or service of this name, made with its defaults if it is new; its index,
// or -1 when there are too many. Fixed sections: 0.
int section_open(struct load *l, enum conf_section section, const char *name);

// section_defaults: every key of the section at its default.
void section_defaults(struct conf *c, enum conf_section section, unsigned at);

// key_set: one value, from a line of the file (line > 0) or from an override (line 0).
void key_set(struct load *l, const struct key *k, unsigned at, unsigned line, const char *value);

// load_no_memory: an error that says so; -1.
int load_no_memory(struct conf_errors *errs);

// load_file: conf_load(), with the places of the values left in *l, which begins here.
int load_file(struct load *l, struct conf *c, const char *path, char *const *sets, unsigned n_sets,
              struct conf_errors *errs);

// load_mark_given: keys that have to be given were, if not by this run.
void load_mark_given(struct load *l);

// resolve_auto: replaces `auto` by what it stands for on this machine.
void resolve_auto(struct load *l);

// check_all: what no single key can tell: sums, references, conflicts.
void check_all(struct load *l);
void check_ports(struct load *l);
void check_services(struct load *l);

// port_wrapper: the index of the fault port around port `at`; -1: none.
int port_wrapper(const struct conf *c, unsigned at);
