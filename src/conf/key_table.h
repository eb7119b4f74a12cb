// SPDX-License-Identifier: BSD-3-Clause
// key_table.h: the table of all keys. Parsing, printing, errors and help of a key follow from its
// row.
#pragma once
#include "conf/conf.h"

enum conf_section {
    SECTION_cpu,
    SECTION_memory,
    SECTION_control,
    SECTION_tcp,
    SECTION_agent,
    SECTION_statsd,
    SECTION_port,
    SECTION_service,
    SECTION_COUNT,
};

// section: `named` ones may be given several times, each with its own NAME.
struct section {
    const char *name;
    const char *help;
    bool named;
};

extern const struct section conf_sections[SECTION_COUNT];

enum key_type {
    KEY_NUMBER,
    KEY_POWER,      // a power of two
    KEY_COUNT,      // k, M: thousands, millions
    KEY_SIZE,       // K, M, G: 2^10, 2^20, 2^30
    KEY_MS,         // 10, 10ms, 10s
    KEY_PERCENT,    // up to four decimals, kept in millionths
    KEY_BOOL,       // on, off
    KEY_WORD,       // one of `words`, kept as its number
    KEY_SET,        // some of `words`, bit i for word i, and CONF_SET_GIVEN
    KEY_DRIVER,     // one of `words`, kept as text
    KEY_CPUS,       // struct conf_cpus
    KEY_ADDRESS,    // struct ip_addr, of either family
    KEY_ADDRESS4,   // of IPv4
    KEY_ADDRESS6,   // of IPv6
    KEY_PREFIXES,   // struct conf_prefixes
    KEY_MAC,        // struct mac_addr
    KEY_NEIGHBORS,  // struct conf_neighbors
    KEY_ROUTES,     // struct conf_routes
    KEY_PORTS,      // struct conf_tcp_ports
    KEY_ENDPOINT,   // struct conf_endpoint
    KEY_NAMES,      // struct conf_names
    KEY_NAME,       // letters, digits, - and _
    KEY_TEXT,       // no blanks
    KEY_DIR,        // absolute path
    KEY_PATH,
    KEY_HOSTS,  // lines of an http service (conf/conf_web.h)
    KEY_HEADERS,
    KEY_EXPIRES,
    KEY_REDIRECTS,
    KEY_PAGES,
};

struct key {
    enum conf_section section;
    const char *name;
    enum key_type type;
    uint32_t offset, width;  // of its field in the section's struct; bytes
    uint64_t min, max;       // of numbers, in the unit of the field; max of texts: characters
    const char *words;       // KEY_WORD, KEY_SET, KEY_DRIVER: "a|b|c"
    const char *zero;       // numbers and KEY_CPUS: the word that is kept as 0, or as an empty list
    const char *unlimited;  // numbers: the word that is kept as CONF_UNLIMITED; NULL: none
    const char *only;       // drivers or applications that have this key, "a|b"; NULL: all
    const char *initial;    // default; "": no value; NULL: required
    const char *help;
    const char *choices;  // lines of help, one for each value, or NULL
    bool optional;        // `key =` is permitted and means: no value
    bool repeat;          // the values of several lines of a section add up
    bool live;            // may change while the server runs (conf/live.h)
};

enum { KEY_ROWS_MAX = 192 };

extern const struct key conf_keys[];
extern const unsigned conf_n_keys;

// key_find: the row of a key of a section. NULL: there is none.
const struct key *key_find(enum conf_section section, const char *name);

// key_at: the row whose field is at this offset. There has to be one.
const struct key *key_at(enum conf_section section, size_t offset);
#define KEY_AT(section, field) key_at(SECTION_##section, offsetof(struct conf_##section, field))

// key_field: the field of the row in *c. `at`: the index of the port or service, else 0.
void *key_field(const struct key *k, struct conf *c, unsigned at);
const void *key_field_const(const struct key *k, const struct conf *c, unsigned at);

// key_applies: whether a port of this driver or a service of this application has the key.
bool key_applies(const struct key *k, const char *driver_or_app);

// word_index: the index of the text among the words of "a|b|c". -1: it is none of them.
int word_index(const char *words, const char *text);

// words_list: appends "a, b or c" for "a|b|c".
void words_list(const char *words, struct text *out);
