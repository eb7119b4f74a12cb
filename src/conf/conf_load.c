// SPDX-License-Identifier: BSD-3-Clause
#include "conf/conf_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/print.h"
#include "conf/value.h"

enum { ERROR_LINES_BYTES = 1 << 20 };

void conf_errors_init(struct conf_errors *e)
{
    e->n = 0;
    text_init(&e->lines, ERROR_LINES_BYTES);
}

void conf_errors_free(struct conf_errors *e)
{
    text_free(&e->lines);
}

int load_no_memory(struct conf_errors *errs)
{
    errs->n++;
    text_printf(&errs->lines, "no memory for the configuration\n");
    return -1;
}

struct load_section *load_section_of(struct load *l, enum conf_section section, unsigned at)
{
    unsigned first = section == SECTION_service ? SECTION_port + CONF_PORTS_MAX : section;
    return &l->sections[first + at];
}

static unsigned row_of(const struct key *k)
{
    return (unsigned)(k - conf_keys);
}

bool key_given(struct load *l, const struct key *k, unsigned at)
{
    const struct load_section *s = load_section_of(l, k->section, at);
    return s->key_line[row_of(k)] != 0 || s->overridden[row_of(k)];
}

bool key_good(struct load *l, const struct key *k, unsigned at)
{
    return !load_section_of(l, k->section, at)->bad[row_of(k)];
}

// error_begin: counts the error. Returns false if CONF_ERRORS_SHOWN errors were printed already.
static bool error_begin(struct load *l)
{
    return ++l->errs->n <= CONF_ERRORS_SHOWN;
}

static void error_end(struct load *l, const char *format, va_list ap)
{
    text_vprintf(&l->errs->lines, format, ap);
    text_put(&l->errs->lines, "\n", 1);
}

void fail_line(struct load *l, unsigned line, const char *format, ...)
{
    *(l->now != NULL ? &l->now->incomplete : &l->lost) = true;
    if (!error_begin(l))
        return;
    va_list ap;
    va_start(ap, format);
    text_printf(&l->errs->lines, "%s:%u: ", l->file, line);
    error_end(l, format, ap);
    va_end(ap);
}

void fail_plain(struct load *l, const char *format, ...)
{
    l->bad_set = true;
    if (!error_begin(l))
        return;
    va_list ap;
    va_start(ap, format);
    error_end(l, format, ap);
    va_end(ap);
}

static void put_dotted(struct load *l, const struct key *k, unsigned at, struct text *out)
{
    const char *name = k->section == SECTION_port      ? l->c->ports[at].name
                       : k->section == SECTION_service ? l->c->services[at].name
                                                       : NULL;
    text_printf(out, "%s.%s%s%s: ", conf_sections[k->section].name, name ? name : "",
                name ? "." : "", k->name);
}

void load_put_place(struct load *l, const struct key *k, unsigned at, struct text *out)
{
    const struct load_section *s = load_section_of(l, k->section, at);
    unsigned row = row_of(k), line = s->key_line[row] != 0 ? s->key_line[row] : s->header_line;
    if (s->overridden[row]) {
        text_printf(out, "--set ");
        put_dotted(l, k, at, out);
    } else if (line != 0) {
        text_printf(out, "%s:%u: %s: ", l->file, line, k->name);
    } else {
        put_dotted(l, k, at, out);
    }
}

void fail_key(struct load *l, const struct key *k, unsigned at, const char *format, ...)
{
    load_section_of(l, k->section, at)->bad[row_of(k)] = true;
    if (!error_begin(l))
        return;
    load_put_place(l, k, at, &l->errs->lines);
    va_list ap;
    va_start(ap, format);
    error_end(l, format, ap);
    va_end(ap);
}

void section_defaults(struct conf *c, enum conf_section section, unsigned at)
{
    char got[VALUE_GOT_BYTES];
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        if (k->section == section && k->initial != NULL)
            CHECK(value_parse(k, key_field(k, c, at), k->initial, got) &&
                  "a default that its own row refuses");
    }
}

// find_or_add: the index of the name in an array of n entries of `stride` bytes, each of which
// begins with its name.
static int find_or_add(char *entries, size_t stride, uint32_t *n, uint32_t max, const char *name)
{
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp(entries + i * stride, name) == 0)
            return (int)i;
    if (*n == max)
        return -1;
    memcpy(entries + *n * stride, name, strlen(name) + 1);
    return (int)(*n)++;
}

int section_open(struct load *l, enum conf_section section, const char *name)
{
    struct conf *c = l->c;
    uint32_t *n = section == SECTION_port ? &c->n_ports : &c->n_services, before = *n;
    int at = 0;
    if (section == SECTION_port)
        at = find_or_add((char *)c->ports, sizeof(c->ports[0]), n, CONF_PORTS_MAX, name);
    else if (section == SECTION_service)
        at = find_or_add((char *)c->services, sizeof(c->services[0]), n, CONF_SERVICES_MAX, name);
    if (at >= 0 && *n > before)
        section_defaults(c, section, (unsigned)at);
    return at;
}

static void fail_value(struct load *l, const struct key *k, unsigned at, const char *got)
{
    struct text expected;
    text_init(&expected, CONF_LINE_BYTES);
    value_expected(k, &expected);
    if (got[0] == '\0')
        fail_key(l, k, at, "expected %s, got nothing", text_str(&expected));
    else
        fail_key(l, k, at, "expected %s, got \"%s\"", text_str(&expected), got);
    text_free(&expected);
}

void key_set(struct load *l, const struct key *k, unsigned at, unsigned line, const char *value)
{
    struct load_section *s = load_section_of(l, k->section, at);
    unsigned row = row_of(k), first = s->key_line[row];
    void *field = key_field(k, l->c, at);
    if (line != 0 && first != 0 && !k->repeat) {
        fail_line(l, line, "%s: expected once in a section, got it in line %u already", k->name,
                  first);
        return;
    }
    if (line == 0 || first == 0) {
        value_clear(k, field);
        s->bad[row] = false;
    }
    if (line != 0)
        s->key_line[row] = line;  // errors name the last line of a key that is repeated
    else
        s->overridden[row] = true;
    char got[VALUE_GOT_BYTES];
    if (!value_parse(k, field, value, got))
        fail_value(l, k, at, got);
}

// render_params: writes "key\0value\0" for each key that has a value, for conf_service_param().
// room: size of `to` in bytes.
static bool render_params(const struct conf *c, enum conf_section section, unsigned at, char *to,
                          size_t room)
{
    struct text t;
    text_init(&t, room - 1);  // the last byte stays 0, because an empty key ends the list
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        if (k->section != section || !key_printed(k, c, at))
            continue;
        text_printf(&t, "%s", k->name);
        text_put(&t, "", 1);
        value_print(k, key_field_const(k, c, at), &t);
        text_put(&t, "", 1);
    }
    CHECK(t.error == 0 || t.error == -ENOMEM);
    const bool done = t.error == 0;
    if (done)
        memcpy(to, text_str(&t), t.len);
    text_free(&t);
    return done;
}

bool load_render(struct conf *c)
{
    bool done =
        render_params(c, SECTION_agent, 0, c->agent.param_text, sizeof(c->agent.param_text));
    for (unsigned i = 0; i < c->n_services; i++)
        done &=
            render_params(c, SECTION_service, i, c->services[i].param_text, CONF_PARAM_TEXT_BYTES);
    return done;
}

static const char *find_param(const char *p, const char *key)
{
    while (*p != '\0') {
        const char *value = p + strlen(p) + 1;
        if (strcmp(p, key) == 0)
            return value;
        p = value + strlen(value) + 1;
    }
    return NULL;
}

const char *conf_service_param(const struct conf_service *s, const char *key)
{
    return find_param(s->param_text, key);
}

const char *conf_agent_param(const struct conf_agent *a, const char *key)
{
    return find_param(a->param_text, key);
}

static int load_end(struct load *l)
{
    struct conf_errors *e = l->errs;
    resolve_auto(l);
    resolve_mtus(l);
    check_all(l);
    if (e->n == 0 && !load_render(l->c))
        load_no_memory(e);
    if (e->n > CONF_ERRORS_SHOWN)
        text_printf(&e->lines, "... and %u more\n", e->n - CONF_ERRORS_SHOWN);
    return e->n == 0 ? 0 : -1;
}

static int load_text(struct load *l, const char *text, size_t len, char *const *sets,
                     unsigned n_sets)
{
    memset(l->c, 0, sizeof(*l->c));
    l->is_text = true;
    for (enum conf_section s = 0; s < SECTION_port; s++)
        section_defaults(l->c, s, 0);
    read_file_text(l, text, len);
    read_overrides(l, sets, n_sets);
    return load_end(l);
}

int conf_load_text(struct conf *c, const struct conf_host *host, const char *name, const char *text,
                   size_t len, char *const *sets, unsigned n_sets, struct conf_errors *errs)
{
    struct load *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return load_no_memory(errs);
    *l = (struct load){.c = c, .host = host, .file = name, .errs = errs};
    int rc = load_text(l, text, len, sets, n_sets);
    free(l);
    return rc;
}

// kind_of: what a path that is no regular file is, as words for a message.
static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

// why_not_text: why the bytes cannot be a configuration, as words for a message. NULL if they can.
static const char *why_not_text(const char *bytes, size_t len)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (len >= 2 && ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff)))
        return "UTF-16: save it as UTF-8";
    for (size_t i = 0; i < len; i++)
        if (b[i] == 0x7f || (b[i] < ' ' && strchr("\t\n\v\f\r", b[i]) == NULL) || b[i] == '\0')
            return "a file with control characters";
    return NULL;
}

// read_whole: returns the bytes of a regular file, which the caller frees, or NULL with the reason
// in *why. O_NONBLOCK: opening a FIFO must not block.
static char *read_whole(const char *path, size_t *len, struct err *why)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        err_set(why, "%s", strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        err_set(why, "it is %s", kind_of(st.st_mode));
    } else {
        char *bytes = malloc(CONF_FILE_BYTES_MAX + 1);
        ssize_t n = 0;
        for (*len = 0; bytes != NULL && *len <= CONF_FILE_BYTES_MAX; *len += (size_t)n)
            if ((n = read(fd, bytes + *len, CONF_FILE_BYTES_MAX + 1 - *len)) <= 0)
                break;
        const char *wrong = bytes == NULL || n < 0       ? strerror(errno)
                            : *len > CONF_FILE_BYTES_MAX ? "it is longer"
                                                         : why_not_text(bytes, *len);
        close(fd);
        if (wrong == NULL)
            return bytes;
        free(bytes);
        err_set(why, "%s", wrong);
        return NULL;
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

int load_file(struct load *l, struct conf *c, const char *path, char *const *sets, unsigned n_sets,
              struct conf_errors *errs)
{
    *l = (struct load){.c = c, .host = conf_host_here(), .file = path, .errs = errs};
    if (path == NULL) {
        l->file = "";
        return load_text(l, "", 0, sets, n_sets);
    }
    // Some editors write this byte order mark before UTF-8.
    static const char bom[] = "\xef\xbb\xbf";
    const size_t bom_bytes = sizeof(bom) - 1;
    size_t len = 0;
    struct err why;
    char *bytes = read_whole(path, &len, &why);
    if (bytes == NULL) {
        memset(c, 0, sizeof(*c));
        errs->n++;
        text_printf(&errs->lines, "%s: expected a text file of at most %d bytes: %s\n", path,
                    CONF_FILE_BYTES_MAX, why.text);
        return -1;
    }
    const size_t skipped = len >= bom_bytes && memcmp(bytes, bom, bom_bytes) == 0 ? bom_bytes : 0;
    int rc = load_text(l, bytes + skipped, len - skipped, sets, n_sets);
    free(bytes);
    return rc;
}

int conf_load(struct conf *c, const char *path, char *const *sets, unsigned n_sets,
              struct conf_errors *errs)
{
    struct load *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return load_no_memory(errs);
    const int rc = load_file(l, c, path, sets, n_sets, errs);
    free(l);
    return rc;
}

void load_mark_given(struct load *l)
{
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        const unsigned n = k->section == SECTION_port      ? l->c->n_ports
                           : k->section == SECTION_service ? l->c->n_services
                                                           : 1;
        for (unsigned at = 0; at < n && k->initial == NULL; at++)
            load_section_of(l, k->section, at)->key_line[i] = 1;
    }
}
