#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

int err_set(struct err *e, const char *format, ...)
{
    if (e != NULL) {
        va_list ap;
        va_start(ap, format);
        vsnprintf(e->text, sizeof(e->text), format, ap);
        va_end(ap);
    }
    return -1;
}
