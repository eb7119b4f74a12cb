// SPDX-License-Identifier: BSD-3-Clause
// conf_load.h: the state of one run of conf_load(): the configuration that it fills in, and where
// each value came from, so that later checks can point at its line.
#pragma once
#include "conf/key_table.h"

enum { LOAD_SECTIONS_MAX = SECTION_port + CONF_PORTS_MAX + CONF_SERVICES_MAX };

// load_section: one section of the file, or one that only overrides made.
struct load_section {
    unsigned header_line;             // 0: not in the file
    unsigned key_line[KEY_ROWS_MAX];  // 0: not in the file
    bool overridden[KEY_ROWS_MAX];    // by --set
    bool bad[KEY_ROWS_MAX];  // an error was reported: checks that use the value say nothing
    bool incomplete;         // it has a line that was not understood
};

struct load {
    struct conf *c;
    const struct conf_host *host;
    const char *file;
    struct conf_errors *errs;
    struct load_section sections[LOAD_SECTIONS_MAX];  // fixed ones, ports, services
    struct load_section *now;                         // of the line that is read; NULL: it has none
    bool is_text;                                     // the file could be read
    bool lost;                                        // lines belong to no section that is known
    bool bad_set;                                     // a --set was not understood
};

// load_section_of: the state of a section; `at` counts ports or services, else 0.
struct load_section *load_section_of(struct load *l, enum conf_section section, unsigned at);

// key_given: whether the file or an override gives the key. key_good: whether no error was reported
// about it.
bool key_given(struct load *l, const struct key *k, unsigned at);
bool key_good(struct load *l, const struct key *k, unsigned at);

// fail_line: adds an error "FILE:LINE: ...". fail_plain: adds an error without a place.
void fail_line(struct load *l, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void fail_plain(struct load *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

// fail_key: adds an error about a key. It points to where the value came from: its line, the
// override, or the header of the section if the value is the default.
void fail_key(struct load *l, const struct key *k, unsigned at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// load_put_place: appends where the value of the key came from: "FILE:LINE: KEY: ", "--set
// SECTION.KEY: ", or, where the section is not in the file, "SECTION.KEY: ".
void load_put_place(struct load *l, const struct key *k, unsigned at, struct text *out);

// read_file_text: the lines of the file; read_overrides: the values of --set. (ini.c)
void read_file_text(struct load *l, const char *text, size_t len);
void read_overrides(struct load *l, char *const *sets, unsigned n_sets);

// section_open: the index of the port or service of this name. A new one is added with its
// defaults. -1: there are too many. 0 for sections without a name.
int section_open(struct load *l, enum conf_section section, const char *name);

// section_defaults: sets every key of the section to its default.
void section_defaults(struct conf *c, enum conf_section section, unsigned at);

// key_set: sets one value, from a line of the file (line > 0) or from an override (line 0).
void key_set(struct load *l, const struct key *k, unsigned at, unsigned line, const char *value);

// load_render: the values that conf_service_param() and conf_agent_param() look up. False: no
// memory.
bool load_render(struct conf *c);

// conf_places_load: the load behind the places.
struct conf_places;
struct load *conf_places_load(struct conf_places *places);

// load_no_memory: reports that memory ran out. Returns -1.
int load_no_memory(struct conf_errors *errs);

// load_file: does what conf_load() does, and leaves in *l where the values came from. *l needs no
// initialization.
int load_file(struct load *l, struct conf *c, const char *path, char *const *sets, unsigned n_sets,
              struct conf_errors *errs);

// load_mark_given: marks the keys without a default as given, for a configuration that was loaded
// before.
void load_mark_given(struct load *l);

// resolve_auto: replaces each `auto` by its value on this machine. resolve_mtus: gives the members
// of bonds the mtu of their bond, and the ports of VLANs whose section has none that of their
// parent; once, after the file was read.
void resolve_auto(struct load *l);
void resolve_mtus(struct load *l);

// check_all: checks what depends on several keys: sums, references, conflicts.
void check_all(struct load *l);
void check_ports(struct load *l);
void check_vlan(struct load *l, unsigned at);  // of port `at`, if it is one
void check_bond(struct load *l, unsigned at);  // the same
void check_services(struct load *l);

// port_wrapper: the index of the port that wraps port `at`. -1: none.
int port_wrapper(const struct conf *c, unsigned at);

// port_bond: the index of the bond of which port `at` is a member. -1: none.
int port_bond(const struct conf *c, unsigned at);

// port_find: the index of the port of this name. -1: none. similar_port: the name of a port but
// `but` that is spelled alike. NULL: none.
int port_find(const struct conf *c, const char *name);
const char *similar_port(const struct conf *c, unsigned but, const char *name);
