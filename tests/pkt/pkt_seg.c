// SPDX-License-Identifier: BSD-3-Clause
#include "pkt_seg.h"

#include <stdarg.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/proto.h"

static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char *text, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, PKT_TEXT_MAX - used, format, args);
    va_end(args);
}

// Numbers just below the ISN are easier to read as negative ones.
static long long signed_seq(uint32_t n)
{
    return n > UINT32_MAX - (1 << 24) ? (long long)n - (1LL << 32) : (long long)n;
}

static void print_opt(const struct pkt_opt *o, char *text)
{
    switch (o->kind) {
    case PKT_NOP:
        add(text, "nop");
        break;
    case PKT_EOL:
        add(text, "eol");
        break;
    case PKT_MSS:
        if (o->own)
            add(text, "mss own");
        else
            add(text, "mss %u", o->a);
        break;
    case PKT_WSCALE:
        add(text, "wscale %u", o->a);
        break;
    case PKT_SACK_OK:
        add(text, "sackOK");
        break;
    case PKT_SACK:
        add(text, "sack");
        for (unsigned i = 0; i < o->n_sacks; i++)
            add(text, " %lld:%lld", signed_seq(o->sack[i][0]), signed_seq(o->sack[i][1]));
        break;
    case PKT_TS:
        add(text, o->any_a ? "TS val any" : "TS val %u", o->a);
        add(text, o->any_b ? " ecr any" : " ecr %u", o->b);
        break;
    case PKT_FAST_OPEN:
        add(text,
            o->own            ? "fast_open own"
            : o->n_sacks != 0 ? "fast_open %u"
                              : "fast_open",
            o->sack[0][0]);
        break;
    case PKT_BYTE:
        add(text, "byte %u", o->a);
        break;
    }
}

const char *pkt_seg_print(const struct pkt_seg *s, char *text)
{
    static const char *const ecn[] = {"", "[ect1] ", "[ect0] ", "[ce] "};
    static const struct {
        uint8_t flag;
        char letter;
    } letters[] = {{SEG_SYN, 'S'}, {SEG_FIN, 'F'}, {SEG_RST, 'R'}, {SEG_PSH, 'P'},
                   {SEG_URG, 'U'}, {SEG_ECE, 'E'}, {SEG_CWR, 'C'}, {SEG_ACK, '.'}};
    text[0] = 0;
    add(text, "%s", ecn[s->ecn & 3]);
    for (unsigned i = 0; i < ARRAY_LEN(letters); i++)
        if (s->flags & letters[i].flag)
            add(text, "%c", letters[i].letter);
    if (s->flags == 0)
        add(text, "-");
    add(text, " %lld:%lld(%u)", signed_seq(s->seq), signed_seq(s->seq + s->len), s->len);
    if (s->flags & SEG_ACK)
        add(text, " ack %lld", signed_seq(s->ack));
    if (s->has_win)
        add(text, " win %u", s->win);
    if (s->urg != 0)
        add(text, " urg %u", s->urg);
    if (s->payload != 0)
        add(text, " payload %u", s->payload);
    if (s->opts.any)
        add(text, " <...>");
    for (unsigned i = 0; i < s->opts.n; i++) {
        add(text, i == 0 ? " <" : ",");
        print_opt(&s->opts.o[i], text);
    }
    add(text, s->opts.n != 0 ? ">" : "");
    return text;
}

static uint32_t write_opt(const struct pkt_opt *o, uint16_t own_mss, uint8_t *to)
{
    switch (o->kind) {
    case PKT_NOP:
        to[0] = TCP_OPT_NOP;
        return 1;
    case PKT_EOL:
        to[0] = TCP_OPT_END;
        return 1;
    case PKT_MSS:
        to[0] = TCP_OPT_MSS;
        to[1] = 4;
        store_be16(to + 2, o->own ? own_mss : (uint16_t)o->a);
        return 4;
    case PKT_WSCALE:
        to[0] = TCP_OPT_WSCALE;
        to[1] = 3;
        to[2] = (uint8_t)o->a;
        return 3;
    case PKT_SACK_OK:
        to[0] = TCP_OPT_SACK_PERM;
        to[1] = 2;
        return 2;
    case PKT_SACK:
        to[0] = TCP_OPT_SACK;
        to[1] = (uint8_t)(2 + 8 * o->n_sacks);
        for (unsigned i = 0; i < o->n_sacks; i++) {
            store_be32(to + 2 + 8 * i, o->sack[i][0]);
            store_be32(to + 6 + 8 * i, o->sack[i][1]);
        }
        return to[1];
    case PKT_TS:
        to[0] = TCP_OPT_TS;
        to[1] = 10;
        store_be32(to + 2, o->a);
        store_be32(to + 6, o->b);
        return 10;
    case PKT_FAST_OPEN:
        to[0] = TCP_OPT_FAST_OPEN;
        to[1] = o->n_sacks != 0 ? 10 : 2;
        store_be32(to + 2, o->sack[0][0]);
        store_be32(to + 6, o->sack[0][1]);
        return to[1];
    default:
        to[0] = (uint8_t)o->a;
        return 1;
    }
}

uint32_t pkt_opts_write(const struct pkt_opts *o, uint16_t own_mss, uint8_t out[40])
{
    uint32_t n = 0;
    memset(out, 0, 40);
    for (unsigned i = 0; i < o->n; i++) {
        uint8_t one[2 + 8 * PKT_SACKS_MAX];
        const uint32_t bytes = write_opt(&o->o[i], own_mss, one);
        if (n + bytes > 40)
            return UINT32_MAX;
        memcpy(out + n, one, bytes);
        n += bytes;
    }
    return ALIGN_UP(n, 4u);
}

// The option at `opt`, of `bytes` bytes; false: of no known form.
static bool read_opt(const uint8_t *opt, uint32_t bytes, struct pkt_opt *o)
{
    switch (opt[0]) {
    case TCP_OPT_MSS:
        *o = (struct pkt_opt){.kind = PKT_MSS, .a = load_be16(opt + 2)};
        return bytes == 4;
    case TCP_OPT_WSCALE:
        *o = (struct pkt_opt){.kind = PKT_WSCALE, .a = opt[2]};
        return bytes == 3;
    case TCP_OPT_SACK_PERM:
        *o = (struct pkt_opt){.kind = PKT_SACK_OK};
        return bytes == 2;
    case TCP_OPT_TS:
        *o = (struct pkt_opt){.kind = PKT_TS, .a = load_be32(opt + 2), .b = load_be32(opt + 6)};
        return bytes == 10;
    case TCP_OPT_SACK:
        *o = (struct pkt_opt){.kind = PKT_SACK, .n_sacks = (bytes - 2) / 8};
        for (unsigned i = 0; i < MIN(o->n_sacks, (unsigned)PKT_SACKS_MAX); i++) {
            o->sack[i][0] = load_be32(opt + 2 + 8 * i);
            o->sack[i][1] = load_be32(opt + 6 + 8 * i);
        }
        return bytes % 8 == 2 && o->n_sacks <= PKT_SACKS_MAX;
    case TCP_OPT_FAST_OPEN:
        *o = (struct pkt_opt){.kind = PKT_FAST_OPEN, .n_sacks = bytes == 10};
        for (unsigned i = 0; i < 2 * o->n_sacks; i++)
            o->sack[0][i] = load_be32(opt + 2 + 4 * i);
        return bytes == 10 || bytes == 2;
    default:
        return false;
    }
}

void pkt_opts_read(const uint8_t *opt, uint32_t n, struct pkt_opts *o)
{
    o->n = 0;
    o->any = false;
    for (uint32_t i = 0; i < n; o->n++) {
        struct pkt_opt *to = &o->o[o->n];
        const uint32_t bytes = n - i > 1 ? opt[i + 1] : 1;
        if (opt[i] == TCP_OPT_NOP || opt[i] == TCP_OPT_END) {
            *to = (struct pkt_opt){.kind = opt[i] == TCP_OPT_NOP ? PKT_NOP : PKT_EOL};
            i++;
        } else if (bytes >= 2 && bytes <= n - i && read_opt(opt + i, bytes, to)) {
            i += bytes;
        } else {
            *to = (struct pkt_opt){.kind = PKT_BYTE, .a = opt[i++]};
        }
    }
}

void pkt_opts_strip(struct pkt_opts *o, enum pkt_opt_kind kind)
{
    unsigned n = 0;
    for (unsigned i = 0; i < o->n; i++)
        if (o->o[i].kind != kind)
            o->o[n++] = o->o[i];
    o->n = n;
}

struct pkt_opt *pkt_opts_find(struct pkt_opts *o, enum pkt_opt_kind kind)
{
    for (unsigned i = 0; i < o->n; i++)
        if (o->o[i].kind == kind)
            return &o->o[i];
    return NULL;
}

static bool opts_match(const struct pkt_opts *expected, const struct pkt_opts *b, uint16_t own_mss)
{
    uint8_t x[40], y[40];
    struct pkt_opts a = *expected;
    if (a.any)
        return true;
    for (unsigned i = 0; i < MIN(a.n, b->n); i++) {
        a.o[i].a = a.o[i].any_a ? b->o[i].a : a.o[i].a;
        a.o[i].b = a.o[i].any_b ? b->o[i].b : a.o[i].b;
    }
    const uint32_t n = pkt_opts_write(&a, own_mss, x);
    return a.n == b->n && n == pkt_opts_write(b, own_mss, y) && n != UINT32_MAX &&
           memcmp(x, y, n) == 0;
}

bool pkt_seg_matches(const struct pkt_seg *expected, const struct pkt_seg *left, uint16_t own_mss)
{
    if (expected->flags != left->flags || expected->seq != left->seq ||
        expected->len != left->len || expected->ecn != left->ecn || expected->urg != left->urg)
        return false;
    if ((expected->flags & SEG_ACK) && expected->ack != left->ack)
        return false;
    if (expected->has_win && expected->win != left->win)
        return false;
    return opts_match(&expected->opts, &left->opts, own_mss);
}
