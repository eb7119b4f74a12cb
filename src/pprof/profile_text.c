// SPDX-License-Identifier: BSD-3-Clause
// The form is that of runtime/pprof in Go's debug=1 for profiles that count:
//
//     goroutine profile: total 3
//     2 @ 0x401136 0x401200
//     # labels: {"core":"c1"}
//     #	0x401136	tcp_input	/src/tcp/tcp_input.c:17
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile_encode.h"
#include "pprof/profile_internal.h"

// by_value: a sample in the order of its output.
struct by_value {
    int64_t value;
    uint32_t sample;
};

static int largest_first(const void *a, const void *b)
{
    const struct by_value *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static const int64_t *values_of(const struct profile *p, uint32_t i)
{
    return &p->values[i * p->params.n_types];
}

static void head_line(const struct profile *p, uint32_t i, struct text *out)
{
    const struct packed_sample *s = packed_sample(p, i);
    for (unsigned k = 0; k < p->params.n_types; k++)
        text_printf(out, "%" PRId64 " ", values_of(p, i)[k]);
    text_printf(out, "@");
    for (unsigned k = 0; k < s->depth; k++)
        if (packed_frames(s)[k].address != 0)
            text_printf(out, " 0x%" PRIx64, packed_frames(s)[k].address);
    text_printf(out, "\n");
}

// quoted: a string as JSON has it; control characters become blanks.
static void quoted(const char *s, struct text *out)
{
    text_printf(out, "\"");
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            text_printf(out, "\\");
        text_printf(out, "%c", (unsigned char)*s < ' ' ? ' ' : *s);
    }
    text_printf(out, "\"");
}

static void label(const struct profile *p, const struct packed_label *l, struct text *out)
{
    quoted(packed_string(p, l->key), out);
    text_printf(out, ":");
    if (l->text != 0)
        quoted(packed_string(p, l->text), out);
    else
        text_printf(out, "\"%" PRId64 "%s\"", l->number, packed_string(p, l->unit));
}

static void labels_line(const struct profile *p, uint32_t i, struct text *out)
{
    const struct packed_sample *s = packed_sample(p, i);
    if (s->n_labels == 0)
        return;
    text_printf(out, "# labels: {");
    for (unsigned k = 0; k < s->n_labels; k++) {
        text_printf(out, k == 0 ? "" : ", ");
        label(p, &packed_labels(s)[k], out);
    }
    text_printf(out, "}\n");
}

static void frame_line(uint64_t address, const char *function, const char *file, unsigned line,
                       struct text *out)
{
    text_printf(out, "#\t0x%" PRIx64 "\t%s", address, function);
    if (file != NULL && file[0] != '\0')
        text_printf(out, "\t%s:%u", file, line);
    text_printf(out, "\n");
}

static void code_lines(uint64_t address, struct symbols *symbols, struct text *out)
{
    struct symbol_frame frames[SYMBOL_INLINED_MAX];
    const unsigned n =
        symbols == NULL ? 0 : symbols_at(symbols, address, frames, SYMBOL_INLINED_MAX);
    for (unsigned i = 0; i < n; i++)
        frame_line(address, frames[i].function, frames[i].file, frames[i].line, out);
    if (n == 0)
        frame_line(address, "?", NULL, 0, out);
}

static void frame_lines(const struct profile *p, uint32_t i, struct symbols *symbols,
                        struct text *out)
{
    const struct packed_sample *s = packed_sample(p, i);
    for (unsigned k = 0; k < s->depth; k++) {
        const struct packed_frame *f = &packed_frames(s)[k];
        if (f->address != 0)
            code_lines(f->address, symbols, out);
        else
            frame_line(0, packed_string(p, f->function), packed_string(p, f->file), f->line, out);
    }
}

static void comment_lines(const struct profile *p, struct text *out)
{
    const struct text *c = &p->comments;
    for (size_t at = 0; at < c->len; at += strlen(c->data + at) + 1)
        text_printf(out, "# %s\n", c->data + at);
    if (p->lost != 0)
        text_printf(out, "# %" PRIu64 " samples were lost\n", p->lost);
}

int profile_text(const struct profile *p, const char *title, unsigned by, struct symbols *symbols,
                 struct text *out)
{
    const uint32_t n = p->samples.n;
    struct by_value *order = calloc(MAX(n, 1u), sizeof(*order));
    int64_t total = 0;
    if (order == NULL)
        return out->error = -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = (struct by_value){values_of(p, i)[by], i};
        total += order[i].value;
    }
    qsort(order, n, sizeof(*order), largest_first);
    text_printf(out, "%s profile: total %" PRId64 "\n", title, total);
    for (uint32_t i = 0; i < n && out->error == 0; i++) {
        if (packed_is_zero(p, order[i].sample))
            continue;
        head_line(p, order[i].sample, out);
        labels_line(p, order[i].sample, out);
        frame_lines(p, order[i].sample, symbols, out);
        text_printf(out, "\n");
    }
    comment_lines(p, out);
    free(order);
    return out->error;
}
