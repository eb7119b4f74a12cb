// SPDX-License-Identifier: BSD-3-Clause
#include "pkt_parse.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// lex: what is left of one line of text.
struct lex {
    struct pkt_script *s;
    const char *file;
    unsigned line;
    const char *at;
};

static bool wrong(struct lex *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(struct lex *x, const char *format, ...)
{
    va_list args;
    char why[PKT_TEXT_MAX / 2];
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    snprintf(x->s->error, sizeof(x->s->error), "%s:%u: %s", x->file, x->line, why);
    return false;
}

static void spaces(struct lex *x)
{
    while (isspace((unsigned char)*x->at))
        x->at++;
}

static bool at_end(struct lex *x)
{
    spaces(x);
    return *x->at == 0 || *x->at == '#';
}

// "x ..." as an error message shows it.
static const char *rest(struct lex *x)
{
    return at_end(x) ? "the end of the line" : x->at;
}

static bool punct(struct lex *x, char c)
{
    spaces(x);
    if (*x->at != c)
        return false;
    x->at++;
    return true;
}

static bool need_punct(struct lex *x, char c)
{
    return punct(x, c) || wrong(x, "expected '%c', got: %s", c, rest(x));
}

// A word of letters, digits and '_'; false: none here.
static bool word(struct lex *x, char out[32])
{
    spaces(x);
    unsigned n = 0;
    while (n < 31 && (isalnum((unsigned char)x->at[n]) || x->at[n] == '_'))
        n++;
    memcpy(out, x->at, n);
    out[n] = 0;
    x->at += n;
    return n != 0;
}

// The given word, if it is here.
static bool is_word(struct lex *x, const char *what)
{
    char got[32];
    const char *before = x->at;
    if (word(x, got) && strcmp(got, what) == 0)
        return true;
    x->at = before;
    return false;
}

static bool need_word(struct lex *x, char out[32], const char *what)
{
    return word(x, out) || wrong(x, "expected %s, got: %s", what, rest(x));
}

static bool number(struct lex *x, int64_t *out, int64_t min, int64_t max)
{
    spaces(x);
    char *end;
    const int64_t n = strtoll(x->at, &end, 10);
    if (end == x->at || isalpha((unsigned char)*end))
        return wrong(x, "expected a number, got: %s", rest(x));
    if (n < min || n > max)
        return wrong(x, "%lld is not in %lld..%lld", (long long)n, (long long)min, (long long)max);
    x->at = end;
    *out = n;
    return true;
}

static bool number32(struct lex *x, uint32_t *out)
{
    int64_t n;
    if (!number(x, &n, INT32_MIN, UINT32_MAX))
        return false;
    *out = (uint32_t)n;
    return true;
}

static bool number16(struct lex *x, uint16_t *out)
{
    int64_t n;
    if (!number(x, &n, 0, UINT16_MAX))
        return false;
    *out = (uint16_t)n;
    return true;
}

// Seconds with up to six decimals, as microseconds.
static bool seconds(struct lex *x, uint64_t *us)
{
    int64_t whole;
    if (!number(x, &whole, 0, 1 << 30))
        return false;
    *us = (uint64_t)whole * 1000000;
    if (*x->at != '.')
        return true;
    x->at++;
    uint64_t unit = 100000;
    for (; isdigit((unsigned char)*x->at); x->at++, unit /= 10)
        *us += unit * (uint64_t)(*x->at - '0');
    return true;
}

static bool flags(struct lex *x, uint8_t *out)
{
    static const char letters[] = "FSRP.UEC";  // bit by bit
    spaces(x);
    *out = 0;
    const char *from = x->at;
    for (; *x->at != 0 && !isspace((unsigned char)*x->at); x->at++) {
        const char *f = strchr(letters, *x->at);
        if (f != NULL)
            *out |= (uint8_t)(1 << (f - letters));
        else if (*x->at != '-')
            break;
    }
    if (x->at == from || !isspace((unsigned char)*x->at)) {
        x->at = from;
        return wrong(x, "expected flags out of %s or -, got: %s", letters, rest(x));
    }
    return true;
}

static bool sacks(struct lex *x, struct pkt_opt *o)
{
    o->kind = PKT_SACK;
    for (spaces(x); *x->at == '-' || isdigit((unsigned char)*x->at); spaces(x)) {
        if (o->n_sacks == PKT_SACKS_MAX)
            return wrong(x, "more than %d SACK blocks", PKT_SACKS_MAX);
        uint32_t *pair = o->sack[o->n_sacks++];
        if (!number32(x, &pair[0]) || !need_punct(x, ':') || !number32(x, &pair[1]))
            return false;
    }
    return true;
}

static bool timestamp(struct lex *x, struct pkt_opt *o)
{
    o->kind = PKT_TS;
    if (!is_word(x, "val"))
        return wrong(x, "expected 'val', got: %s", rest(x));
    o->any_a = is_word(x, "any");
    if (!o->any_a && !number32(x, &o->a))
        return false;
    if (!is_word(x, "ecr"))
        return wrong(x, "expected 'ecr', got: %s", rest(x));
    o->any_b = is_word(x, "any") || is_word(x, "last");
    return o->any_b || number32(x, &o->b);
}

static bool option(struct lex *x, struct pkt_opt *o)
{
    char name[32];
    int64_t n = 0;
    *o = (struct pkt_opt){.kind = PKT_NOP};
    if (!need_word(x, name, "an option"))
        return false;
    if (strcmp(name, "nop") == 0)
        return true;
    if (strcmp(name, "sack") == 0)
        return sacks(x, o);
    if (strcmp(name, "TS") == 0)
        return timestamp(x, o);
    bool ok = true;
    if (strcmp(name, "eol") == 0) {
        o->kind = PKT_EOL;
    } else if (strcmp(name, "sackOK") == 0) {
        o->kind = PKT_SACK_OK;
    } else if (strcmp(name, "mss") == 0) {
        o->kind = PKT_MSS;
        o->own = is_word(x, "own");
        ok = o->own || number(x, &n, 0, UINT16_MAX);
    } else if (strcmp(name, "wscale") == 0) {
        o->kind = PKT_WSCALE;
        ok = number(x, &n, 0, UINT8_MAX);
    } else if (strcmp(name, "fast_open") == 0) {
        o->kind = PKT_FAST_OPEN;
        o->own = is_word(x, "own");
        spaces(x);
        o->n_sacks = o->own || isdigit((unsigned char)*x->at);
        ok = o->own || o->n_sacks == 0 || number32(x, &o->sack[0][0]);
    } else if (strcmp(name, "byte") == 0) {
        o->kind = PKT_BYTE;
        ok = number(x, &n, 0, UINT8_MAX);
    } else {
        return wrong(x, "no such option: %s", name);
    }
    o->a = (uint32_t)n;
    return ok;
}

static bool options(struct lex *x, struct pkt_opts *o)
{
    spaces(x);
    if (strncmp(x->at, "...>", 4) == 0) {
        o->any = true;
        x->at += 4;
        return true;
    }
    do {
        if (o->n == PKT_OPTS_MAX)
            return wrong(x, "more than %d options", PKT_OPTS_MAX);
        if (!option(x, &o->o[o->n++]))
            return false;
    } while (punct(x, ','));
    uint8_t bytes[40];
    if (pkt_opts_write(o, 0, bytes) == UINT32_MAX)
        return wrong(x, "options of more than 40 bytes");
    return need_punct(x, '>');
}

static bool ecn(struct lex *x, uint8_t *out)
{
    static const char *const names[] = {"", "ect1", "ect0", "ce"};
    char name[32];
    if (!punct(x, '['))
        return true;
    if (!need_word(x, name, "ect0, ect1 or ce"))
        return false;
    for (uint8_t i = 1; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *out = i;
            return need_punct(x, ']');
        }
    return wrong(x, "expected ect0, ect1 or ce, got: %s", name);
}

// 1:1001(1000)
static bool sequence(struct lex *x, struct pkt_seg *g)
{
    uint32_t end;
    if (!number32(x, &g->seq) || !need_punct(x, ':') || !number32(x, &end) || !need_punct(x, '(') ||
        !number32(x, &g->len) || !need_punct(x, ')'))
        return false;
    if (g->seq + g->len != end)
        return wrong(x, "%u and %u bytes do not end at %u", g->seq, g->len, end);
    return g->len <= UINT16_MAX || wrong(x, "more than 65535 bytes");
}

static bool segment(struct lex *x, struct pkt_seg *g)
{
    if (!ecn(x, &g->ecn) || !flags(x, &g->flags) || !sequence(x, g))
        return false;
    if (g->flags & SEG_ACK) {
        if (!is_word(x, "ack"))
            return wrong(x, "expected 'ack', got: %s", rest(x));
        if (!number32(x, &g->ack))
            return false;
    }
    if (is_word(x, "win")) {
        g->has_win = true;
        if (!number16(x, &g->win))
            return false;
    }
    if (is_word(x, "urg") && !number16(x, &g->urg))
        return false;
    if (is_word(x, "payload") && !number32(x, &g->payload))
        return false;
    return !punct(x, '<') || options(x, &g->opts);
}

static bool expectation(struct lex *x, struct pkt_line *l)
{
    // What follows the name: w a word, n a number.
    static const struct {
        const char *name, *args;
    } all[] = {{"data", "n"},   {"open", ""},    {"end", ""},       {"writable", ""},
               {"close", "w"},  {"state", "w"},  {"counter", "wn"}, {"drop", "wn"},
               {"block", "wn"}, {"unread", "n"}, {"queued", "n"},   {"error", "w"}};
    if (!need_word(x, l->word[0], "what to expect"))
        return false;
    unsigned i = 0;
    while (i < ARRAY_LEN(all) && strcmp(all[i].name, l->word[0]) != 0)
        i++;
    if (i == ARRAY_LEN(all))
        return wrong(x, "cannot expect '%s'", l->word[0]);
    if (strchr(all[i].args, 'w') != NULL && !need_word(x, l->word[1], "a name"))
        return false;
    if (strchr(all[i].args, 'n') != NULL && !number(x, &l->n[0], INT32_MIN, UINT32_MAX))
        return false;
    return i != 0 || !is_word(x, "payload") || number(x, &l->n[1], 0, UINT8_MAX);
}

static bool call(struct lex *x, struct pkt_line *l)
{
    l->n[1] = -1;
    const bool numbered = strcmp(l->word[0], "write") == 0 || strcmp(l->word[0], "read") == 0 ||
                          strcmp(l->word[0], "nodelay") == 0 ||
                          strcmp(l->word[0], "keepalive_ms") == 0 ||
                          strcmp(l->word[0], "option") == 0;
    if (strcmp(l->word[0], "option") == 0 && !need_word(x, l->word[1], "an option's name"))
        return false;
    if (numbered && !number(x, &l->n[0], 0, UINT32_MAX))
        return false;
    return !punct(x, '=') || number(x, &l->n[1], 0, UINT32_MAX);
}

static bool icmp(struct lex *x, struct pkt_line *l)
{
    if (!need_word(x, l->word[0], "a kind of ICMP error"))
        return false;
    if (is_word(x, "mtu") && !number(x, &l->n[1], 0, UINT16_MAX))
        return false;
    if (is_word(x, "error") && !need_word(x, l->word[1], "an error's name"))
        return false;
    if (!is_word(x, "seq"))
        return wrong(x, "expected 'seq', got: %s", rest(x));
    return number(x, &l->n[0], INT32_MIN, UINT32_MAX);
}

static bool setup_or_verb(struct lex *x, struct pkt_line *l)
{
    static const struct {
        const char *name;
        enum pkt_verb verb;
        const char *args;  // w word, n number
    } all[] = {{"config", PKT_CONFIG, "wn"},    {"service", PKT_SERVICE, "wn"},
               {"pool", PKT_POOL, "wn"},        {"family", PKT_FAMILY, "n"},
               {"variants", PKT_VARIANTS, "w"}, {"isn", PKT_ISN, "n"},
               {"peer_isn", PKT_PEER_ISN, "n"}, {"clock_ms", PKT_CLOCK_MS, "n"},
               {"conn", PKT_CONN, "n"},         {"reuse", PKT_REUSE, "n"},
               {"out_room", PKT_OUT_ROOM, "n"}, {"wait", PKT_WAIT, ""},
               {"expect", PKT_EXPECT, ""},      {"icmp", PKT_ICMP, ""},
               {"connect", PKT_CALL, ""},       {"write", PKT_CALL, ""},
               {"read", PKT_CALL, ""},          {"drain", PKT_CALL, ""},
               {"hold", PKT_CALL, ""},          {"pause", PKT_CALL, ""},
               {"resume", PKT_CALL, ""},        {"shutdown", PKT_CALL, ""},
               {"abort", PKT_CALL, ""},         {"nodelay", PKT_CALL, ""},
               {"keepalive_ms", PKT_CALL, ""},  {"tolerance", PKT_TOLERANCE, ""},
               {"close", PKT_CALL, ""},         {"option", PKT_CALL, ""},
               {"record", PKT_CALL, ""}};
    char name[32];
    if (!need_word(x, name, "something to do"))
        return false;
    unsigned i = 0;
    while (i < ARRAY_LEN(all) && strcmp(all[i].name, name) != 0)
        i++;
    if (i == ARRAY_LEN(all))
        return wrong(x, "nothing is called '%s'", name);
    l->verb = all[i].verb;
    if (strchr(all[i].args, 'w') != NULL && !need_word(x, l->word[0], "a name"))
        return false;
    if (strchr(all[i].args, 'n') != NULL && !number(x, &l->n[0], 0, UINT32_MAX))
        return false;
    switch (l->verb) {
    case PKT_EXPECT:
        return expectation(x, l);
    case PKT_CALL:
        memcpy(l->word[0], name, sizeof(l->word[0]));
        return call(x, l);
    case PKT_ICMP:
        return icmp(x, l);
    case PKT_CONN:
        return !is_word(x, "to") || number(x, &l->n[1], 1, UINT16_MAX);
    case PKT_TOLERANCE:
        return seconds(x, &l->at_us[0]);
    default:
        return true;
    }
}

static bool action(struct lex *x, struct pkt_line *l)
{
    if (punct(x, '+')) {
        l->timed = true;
        if (!seconds(x, &l->at_us[0]))
            return false;
        l->at_us[1] = l->at_us[0];
        if (punct(x, '~') && !seconds(x, &l->at_us[1]))
            return false;
        if (l->at_us[1] < l->at_us[0])
            return wrong(x, "a time that ends before it begins");
    }
    if (punct(x, '<')) {
        l->verb = PKT_IN;
        return segment(x, &l->seg);
    }
    if (punct(x, '>')) {
        l->verb = PKT_OUT;
        return segment(x, &l->seg);
    }
    if (!setup_or_verb(x, l))
        return false;
    if (l->timed && l->verb <= PKT_SETUP_LAST)
        return wrong(x, "set-up has no time");
    if (l->verb <= PKT_SETUP_LAST && x->s->n > 1 && x->s->lines[x->s->n - 2].verb > PKT_SETUP_LAST)
        return wrong(x, "set-up comes before everything else");
    return true;
}

static bool read_file(struct pkt_script *s, const char *path, unsigned depth);

// use NAME: the lines of use/NAME.pkt, in the folder of scripts that this file lies in or under.
static bool use(struct lex *x, unsigned depth)
{
    char name[32], path[PKT_TEXT_MAX], folder[PKT_TEXT_MAX / 2];
    if (!need_word(x, name, "the name of a prelude"))
        return false;
    if (!at_end(x))
        return wrong(x, "expected the end of the line, got: %s", rest(x));
    snprintf(folder, sizeof(folder), "%s", x->file);
    for (char *slash; (slash = strrchr(folder, '/')) != NULL;) {
        *slash = 0;
        snprintf(path, sizeof(path), "%s/use/%s.pkt", folder, name);
        FILE *f = fopen(path, "r");
        if (f != NULL) {
            fclose(f);
            return read_file(x->s, path, depth + 1);
        }
    }
    return wrong(x, "no use/%s.pkt beside or above this file", name);
}

static bool read_line(struct pkt_script *s, const char *file, unsigned n, const char *text,
                      unsigned depth)
{
    struct lex x = {s, file, n, text};
    if (n == 1 && (text[0] != '#' || (depth == 0 && strstr(text, "RFC ") == NULL)))
        return wrong(&x, "the first line is a comment: what is claimed, and the RFC's section");
    if (at_end(&x))
        return true;
    if (is_word(&x, "use"))
        return use(&x, depth);
    if (s->n == s->room) {
        s->room = s->room * 2 + 64;
        s->lines = realloc(s->lines, s->room * sizeof(*s->lines));
        CHECK(s->lines != NULL);
    }
    struct pkt_line *l = &s->lines[s->n++];
    *l = (struct pkt_line){.file = file, .line = n};
    if (!action(&x, l))
        return false;
    return at_end(&x) || wrong(&x, "expected the end of the line, got: %s", rest(&x));
}

static bool read_file(struct pkt_script *s, const char *path, unsigned depth)
{
    char text[PKT_TEXT_MAX];
    struct lex x = {s, path, 0, text};
    if (depth > 6 || s->n_names == ARRAY_LEN(s->names))
        return wrong(&x, "preludes use each other without end");
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return wrong(&x, "cannot be read");
    const char *name = s->names[s->n_names++] = strdup(path);
    CHECK(name != NULL);
    bool ok = true;
    for (unsigned n = 1; ok && fgets(text, sizeof(text), f) != NULL; n++) {
        text[strcspn(text, "\n")] = 0;
        ok = read_line(s, name, n, text, depth);
    }
    fclose(f);
    return ok;
}

bool pkt_parse(struct pkt_script *s, const char *path)
{
    *s = (struct pkt_script){.n = 0};
    return read_file(s, path, 0);
}

void pkt_script_free(struct pkt_script *s)
{
    for (unsigned i = 0; i < s->n_names; i++)
        free(s->names[i]);
    free(s->lines);
}
