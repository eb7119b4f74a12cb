// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_FIRST_BYTES = 512 };

void text_init(struct text *t, size_t limit_bytes)
{
    *t = (struct text){.limit_bytes = limit_bytes};
}

static void give_back(struct text_budget *budget, size_t bytes)
{
    if (budget != NULL)
        atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
}

void text_free(struct text *t)
{
    free(t->data);
    give_back(t->budget, t->room);
    *t = (struct text){.limit_bytes = t->limit_bytes, .budget = t->budget};
}

// may_have: takes `more` bytes of the budget. false: it has less.
static bool may_have(struct text_budget *budget, size_t more)
{
    if (budget == NULL)
        return true;
    const size_t before =
        atomic_fetch_add_explicit(&budget->used_bytes, more, memory_order_relaxed);
    if (before + more <= budget->limit_bytes)
        return true;
    give_back(budget, more);
    return false;
}

// grow: makes room for `need` bytes in all, twice the present room if possible.
static int grow(struct text *t, size_t need)
{
    const size_t doubled = MIN(t->room * 2, t->limit_bytes + 1);
    size_t room = MAX(MAX(need, doubled), (size_t)TEXT_FIRST_BYTES);
    if (!may_have(t->budget, room - t->room)) {
        room = need;
        if (!may_have(t->budget, room - t->room))
            return t->error = -EDQUOT;
    }
    char *data = realloc(t->data, room);
    if (data == NULL) {
        give_back(t->budget, room - t->room);
        return t->error = -ENOMEM;
    }
    t->data = data;
    t->room = room;
    return 0;
}

// text_reserve: makes room for n more bytes and the terminating 0.
static int text_reserve(struct text *t, size_t n)
{
    if (t->error != 0)
        return t->error;
    if (t->budget != NULL && atomic_load_explicit(&t->budget->closed, memory_order_relaxed))
        return t->error = -ECANCELED;
    if (n > t->limit_bytes - t->len)
        return t->error = -EFBIG;
    size_t need = t->len + n + 1;
    return need <= t->room ? 0 : grow(t, need);
}

int text_put(struct text *t, const void *data, size_t n)
{
    int rc = text_reserve(t, n);
    if (rc != 0)
        return rc;
    if (n > 0)
        memcpy(t->data + t->len, data, n);
    t->len += n;
    t->data[t->len] = '\0';
    return 0;
}

int text_vprintf(struct text *t, const char *format, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, format, ap);
    CHECK(n >= 0);
    int rc = text_reserve(t, (size_t)n);
    if (rc == 0) {
        vsnprintf(t->data + t->len, (size_t)n + 1, format, again);
        t->len += (size_t)n;
    }
    va_end(again);
    return rc;
}

int text_printf(struct text *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int rc = text_vprintf(t, format, ap);
    va_end(ap);
    return rc;
}

const char *text_str(const struct text *t)
{
    return t->data == NULL ? "" : t->data;
}
