// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_FIRST_BYTES = 512 };

void text_init(struct text *t, size_t limit_bytes)
{
    *t = (struct text){.limit_bytes = limit_bytes};
}

void text_free(struct text *t)
{
    free(t->data);
    text_init(t, t->limit_bytes);
}

// text_reserve: makes room for n more bytes and the terminating 0.
static int text_reserve(struct text *t, size_t n)
{
    if (t->error != 0)
        return t->error;
    if (n > t->limit_bytes - t->len)
        return t->error = -EFBIG;
    size_t need = t->len + n + 1;
    if (need <= t->room)
        return 0;
    size_t room = MAX(MAX(need, t->room * 2), (size_t)TEXT_FIRST_BYTES);
    char *data = realloc(t->data, room);
    if (data == NULL)
        return t->error = -ENOMEM;
    t->data = data;
    t->room = room;
    return 0;
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
