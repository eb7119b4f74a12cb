// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log_target.h"

static enum log_level levels[LOG_MODULES] = {
#define LOG_MODULE_LEVEL(name, help) LOG_INFO,
    LOG_MODULE_TABLE(LOG_MODULE_LEVEL)
#undef LOG_MODULE_LEVEL
};

const char *log_module_name(enum log_module module)
{
    static const char *const names[] = {
#define LOG_MODULE_NAME(name, help) #name,
        LOG_MODULE_TABLE(LOG_MODULE_NAME)
#undef LOG_MODULE_NAME
    };
    return names[module];
}

const char *log_level_name(enum log_level level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    return names[level];
}

void log_set_level(enum log_level level)
{
    for (unsigned i = 0; i < LOG_MODULES; i++)
        levels[i] = level;
}

void log_set_module(enum log_module module, enum log_level level)
{
    levels[module] = level;
}

enum log_level log_level_of(enum log_module module)
{
    return levels[module];
}

void log_say(enum log_module module, enum log_level level, const char *format, ...)
{
    char text[LOG_TEXT_BYTES];
    if (level > levels[module])
        return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    log_target_put(level, text);
}
