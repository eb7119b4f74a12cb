// SPDX-License-Identifier: BSD-3-Clause
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, const char *format, ...)
{
    if (e != NULL) {
        va_list ap;
        va_start(ap, format);
        vsnprintf(e->text, sizeof(e->text), format, ap);
        va_end(ap);
        e->key[0] = '\0';
    }
    return -1;
}

int err_key(struct err *e, const char *format, ...)
{
    if (e != NULL && e->key[0] == '\0') {
        va_list ap;
        va_start(ap, format);
        vsnprintf(e->key, sizeof(e->key), format, ap);
        va_end(ap);
    }
    return -1;
}

int err_append(struct err *e, const char *text)
{
    if (e != NULL) {
        const size_t n = strlen(e->text);
        snprintf(e->text + n, sizeof(e->text) - n, "%s", text);
    }
    return -1;
}
