// SPDX-License-Identifier: BSD-3-Clause
#include "prof/prof_symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/symbols.h"

// libmicrohttpd makes a blank of each + of a query, as in a form.
static const char separators[] = "+ ";

// asked: the addresses of one request.
struct asked {
    unsigned n;
    uint64_t at[PROF_SYMBOLS_MAX];
};

static int symbol_begin(const struct prof_shown *s, const struct prof_query *q, void **state,
                        struct err *err)
{
    struct asked *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return err_set(err, "no memory");
    for (const char *text = q->filter == NULL ? "" : q->filter; *text != '\0';) {
        if (a->n == PROF_SYMBOLS_MAX) {
            free(a);
            err_set(err, "expected at most %d addresses", PROF_SYMBOLS_MAX);
            return -EINVAL;
        }
        a->at[a->n++] = strtoull(text, NULL, 0);
        text += strcspn(text, separators);
        text += *text != '\0';
    }
    *state = a;
    return 0;
}

static int symbol_stop(void *state, struct err *err)
{
    return 0;
}

static int symbol_write(void *state, struct text *out, struct err *err)
{
    const struct asked *a = state;
    struct symbol_frame frames[SYMBOL_INLINED_MAX];
    struct symbols *symbols = symbols_open(err);
    if (symbols == NULL)
        return -1;
    text_printf(out, "num_symbols: 1\n");
    for (unsigned i = 0; i < a->n; i++)
        if (symbols_at(symbols, a->at[i], frames, SYMBOL_INLINED_MAX) > 0)
            text_printf(out, "0x%" PRIx64 " %s\n", a->at[i], frames[0].function);
    symbols_close(symbols);
    return 0;
}

static const char *symbol_type(const struct prof_query *q)
{
    return "text/plain; charset=utf-8";
}

const struct prof_kind prof_kind_symbol = {
    .name = "symbol",
    .help = "names of functions at addresses",
    .begin = symbol_begin,
    .stop = symbol_stop,
    .write = symbol_write,
    .release = free,
    .type = symbol_type,
};
