// SPDX-License-Identifier: BSD-3-Clause
// ini.c: parses lines and overrides into sections, keys and values. Debian's inih is not suitable:
// its callback gets no line number, it cuts lines at 200 bytes, and it reports only the first bad
// line.
#include <string.h>

#include "conf/conf_load.h"
#include "conf/lists.h"
#include "conf/spelling.h"

// span: a part of a line, without the blanks around it.
struct span {
    const char *at;
    size_t n;
};

// reader: the section to which the current line belongs.
struct reader {
    enum conf_section section;
    int at;      // index of the port or service, 0 for other sections, -1 to skip the keys
    bool begun;  // a section header, or an error about its absence, came already
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(const char *at, size_t n)
{
    while (n > 0 && is_blank(at[0])) {
        at++;
        n--;
    }
    while (n > 0 && is_blank(at[n - 1]))
        n--;
    return (struct span){at, n};
}

// comment_at: the index of the '#' or ';' that begins a comment, or n if there is no comment. Only
// the first byte, or a byte after a blank, can begin one.
static size_t comment_at(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((at[i] == '#' || at[i] == ';') && (i == 0 || is_blank(at[i - 1])))
            return i;
    return n;
}

// copy_span: copies the span and a terminating 0. Returns false if it does not fit.
static bool copy_span(char *to, size_t room, struct span s)
{
    if (s.n >= room)
        return false;
    memcpy(to, s.at, s.n);
    to[s.n] = '\0';
    return true;
}

static int section_find(const char *name)
{
    for (int s = 0; s < SECTION_COUNT; s++)
        if (strcmp(conf_sections[s].name, name) == 0)
            return s;
    return -1;
}

// similar_key, similar_section: the closest known name, or NULL.
static const char *similar_key(enum conf_section section, const char *name)
{
    const char *best = NULL;
    unsigned best_distance = UINT32_MAX;
    for (unsigned i = 0; i < conf_n_keys; i++) {
        if (conf_keys[i].section != section)
            continue;
        unsigned d = spelling_distance(conf_keys[i].name, name);
        if (d < best_distance && spelling_is_near(name, d)) {
            best = conf_keys[i].name;
            best_distance = d;
        }
    }
    return best;
}

static const struct section *similar_section(const char *name)
{
    for (int s = 0; s < SECTION_COUNT; s++)
        if (spelling_is_near(name, spelling_distance(conf_sections[s].name, name)))
            return &conf_sections[s];
    return NULL;
}

// owner_of: the first section that has a key of this name, or NULL.
static const struct section *owner_of(const char *key)
{
    for (unsigned i = 0; i < conf_n_keys; i++)
        if (strcmp(conf_keys[i].name, key) == 0)
            return &conf_sections[conf_keys[i].section];
    return NULL;
}

// unknown_key: writes the hint for an unknown key, such as "; did you mean mtu?".
static void unknown_key(enum conf_section section, const char *name, struct text *hint)
{
    const struct section *s = &conf_sections[section], *other = owner_of(name);
    const char *similar = similar_key(section, name);
    text_printf(hint, "expected a key of [%s%s]", s->name, s->named ? " NAME" : "");
    if (similar != NULL)
        text_printf(hint, "; did you mean %s?", similar);
    else if (other != NULL)
        text_printf(hint, "; this one belongs to [%s%s]", other->name, other->named ? " NAME" : "");
}

static void unknown_section(const char *name, struct text *hint)
{
    const struct section *similar = similar_section(name);
    text_printf(hint, "expected one of [cpu] [memory] [control] [tcp] [port NAME] [service NAME]");
    if (similar != NULL)
        text_printf(hint, "; did you mean [%s%s]?", similar->name, similar->named ? " NAME" : "");
}

static void header_known(struct load *l, struct reader *r, unsigned line, const char *name)
{
    const struct section *s = &conf_sections[r->section];
    const char *space = s->named ? " " : "";
    if (s->named != (name[0] != '\0') || (s->named && !is_name(name))) {
        fail_line(l, line, "[%s%s%s]: expected [%s%s", s->name, name[0] ? " " : "", name, s->name,
                  s->named ? " NAME], NAME being 1 to 31 letters, digits, - and _" : "]");
        return;
    }
    r->at = section_open(l, r->section, name);
    if (r->at < 0) {
        fail_line(l, line, "[%s %s]: expected at most %d of them", s->name, name,
                  r->section == SECTION_port ? CONF_PORTS_MAX : CONF_SERVICES_MAX);
        return;
    }
    struct load_section *state = load_section_of(l, r->section, (unsigned)r->at);
    l->now = state;
    if (state->header_line != 0)
        fail_line(l, line, "[%s%s%s]: expected once, got it in line %u already", s->name, space,
                  name, state->header_line);
    else
        state->header_line = line;
}

// header_line: a section header. inside: the text between its brackets.
static void header_line(struct load *l, struct reader *r, unsigned line, struct span inside)
{
    char kind[CONF_NAME_BYTES], name[2 * CONF_NAME_BYTES];
    size_t n = 0;
    while (n < inside.n && !is_blank(inside.at[n]))
        n++;
    r->begun = true;
    r->at = -1;
    l->now = NULL;
    bool fits = copy_span(kind, sizeof(kind), (struct span){inside.at, n}) &&
                copy_span(name, sizeof(name), trim(inside.at + n, inside.n - n));
    int section = fits ? section_find(kind) : -1;
    if (section >= 0) {
        r->section = (enum conf_section)section;
        header_known(l, r, line, name);
        return;
    }
    struct text hint;
    char got[VALUE_GOT_BYTES];
    text_init(&hint, CONF_LINE_BYTES);
    unknown_section(fits ? kind : "", &hint);
    got_copy(got, inside.at, inside.n);
    fail_line(l, line, "[%s]: %s", got, text_str(&hint));
    text_free(&hint);
}

static bool is_key(struct span s)
{
    size_t n = 0;
    while (n < s.n && ((s.at[n] >= 'a' && s.at[n] <= 'z') || (s.at[n] >= '0' && s.at[n] <= '9') ||
                       s.at[n] == '_' || s.at[n] == '-' || (s.at[n] >= 'A' && s.at[n] <= 'Z')))
        n++;
    return n > 0 && n == s.n && n < CONF_NAME_BYTES;
}

static void key_line(struct load *l, struct reader *r, unsigned line, struct span name,
                     struct span text)
{
    char key[CONF_NAME_BYTES], value[CONF_LINE_BYTES];
    CHECK(copy_span(key, sizeof(key), name) && copy_span(value, sizeof(value), text));
    if (!r->begun) {
        fail_line(l, line, "%s: expected a [section] before the first key", key);
        r->begun = true;  // report this error once
        r->at = -1;
    }
    if (r->at < 0)
        return;
    const struct key *k = key_find(r->section, key);
    if (k != NULL) {
        key_set(l, k, (unsigned)r->at, line, value);
        return;
    }
    struct text hint;
    text_init(&hint, CONF_LINE_BYTES);
    unknown_key(r->section, key, &hint);
    fail_line(l, line, "%s: %s", key, text_str(&hint));
    text_free(&hint);
}

static void file_line(struct load *l, struct reader *r, unsigned line, const char *at, size_t n)
{
    if (n >= CONF_LINE_BYTES || memchr(at, '\0', n) != NULL) {
        fail_line(l, line, "expected a line of text of at most %d bytes", CONF_LINE_BYTES - 1);
        return;
    }
    struct span s = trim(at, n);
    s = trim(s.at, comment_at(s.at, s.n));
    if (s.n == 0)
        return;
    if (s.at[0] == '[' && s.at[s.n - 1] == ']') {
        header_line(l, r, line, trim(s.at + 1, s.n - 2));
        return;
    }
    const char *equals = memchr(s.at, '=', s.n);
    struct span name = trim(s.at, equals == NULL ? s.n : (size_t)(equals - s.at));
    if (equals == NULL || !is_key(name)) {
        char got[VALUE_GOT_BYTES];
        got_copy(got, s.at, s.n);
        fail_line(l, line, "expected [section], key = value or # comment, got \"%s\"", got);
        return;
    }
    key_line(l, r, line, name, trim(equals + 1, (size_t)(s.at + s.n - equals - 1)));
}

void read_file_text(struct load *l, const char *text, size_t len)
{
    struct reader r = {.section = SECTION_cpu, .at = -1};
    const char *end = text + len;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;  // byte order mark
    for (unsigned line = 1; text < end; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (stop == NULL)
            stop = end;
        file_line(l, &r, line, text, (size_t)(stop - text));
        text = stop + 1;
    }
    l->now = NULL;
}

// override_key: the key of "section.key" or "section.NAME.key", and the index of its section. Adds
// a new port or service. Returns NULL after reporting an error.
static const struct key *override_key(struct load *l, char *path, int *at)
{
    struct text hint;
    const struct key *k = NULL;
    char *dot = strchr(path, '.'), *key = strrchr(path, '.');
    text_init(&hint, CONF_LINE_BYTES);
    *dot = '\0';
    int section = section_find(path);
    if (section < 0) {
        unknown_section(path, &hint);
    } else if (conf_sections[section].named != (dot != key)) {
        text_printf(&hint, "expected %s%s.KEY=VALUE", path,
                    conf_sections[section].named ? ".NAME" : "");
    } else if ((k = key_find((enum conf_section)section, key + 1)) == NULL) {
        unknown_key((enum conf_section)section, key + 1, &hint);
    } else if (dot != key) {
        *key = '\0';
        if (!is_name(dot + 1))
            text_printf(&hint, "expected a NAME of 1 to 31 letters, digits, - and _");
        else if ((*at = section_open(l, (enum conf_section)section, dot + 1)) < 0)
            text_printf(&hint, "expected at most %d of them",
                        section == SECTION_port ? CONF_PORTS_MAX : CONF_SERVICES_MAX);
        *key = '.';
    }
    *dot = '.';
    bool good = hint.len == 0;
    if (!good)
        fail_plain(l, "--set %s: %s", path, text_str(&hint));
    text_free(&hint);
    return good ? k : NULL;
}

static void override_line(struct load *l, const char *set)
{
    char path[3 * CONF_NAME_BYTES], value[CONF_LINE_BYTES], got[VALUE_GOT_BYTES];
    const char *equals = strchr(set, '=');
    size_t n = equals == NULL ? 0 : (size_t)(equals - set);
    if (equals == NULL || !copy_span(path, sizeof(path), trim(set, n)) ||
        strchr(path, '.') == NULL) {
        got_copy(got, set, strlen(set));
        fail_plain(l, "--set %s: expected SECTION.KEY=VALUE or SECTION.NAME.KEY=VALUE", got);
        return;
    }
    struct span text = trim(equals + 1, strlen(equals + 1));
    if (comment_at(text.at, text.n) != text.n || !copy_span(value, sizeof(value), text)) {
        fail_plain(l, "--set %s: expected a value of at most %d bytes without a comment", path,
                   CONF_LINE_BYTES - 1);
        return;
    }
    int at = 0;
    const struct key *k = override_key(l, path, &at);
    if (k != NULL)
        key_set(l, k, (unsigned)at, 0, value);
}

void read_overrides(struct load *l, char *const *sets, unsigned n_sets)
{
    for (unsigned i = 0; i < n_sets; i++)
        override_line(l, sets[i]);
}
