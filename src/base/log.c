#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static enum log_level level_max = LOG_INFO;

void log_set_level(enum log_level level)
{
    level_max = level;
}

void log_line(enum log_level level, const char *format, ...)
{
    static const char *const names[] = {"error: ", "warning: ", "", "debug: "};
    if (level > level_max)
        return;
    char line[2048];
    int n = snprintf(line, sizeof(line), "c10m: %s", names[level]);
    va_list ap;
    va_start(ap, format);
    int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, ap);
    va_end(ap);
    size_t len = MIN((size_t)n + (size_t)MAX(m, 0), sizeof(line) - 2);
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0)
        return;  // nowhere left to say so
}
