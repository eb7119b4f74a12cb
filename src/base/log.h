// log.h: lines to stderr from the control side. Workers never log: they count.
#pragma once
#include "base/base.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

// log_set_level: lines above this level are left out (default LOG_INFO). Control thread only.
void log_set_level(enum log_level level);

// log_line: one line "c10m: TEXT" to stderr, one write(2) each. Any thread but a worker.
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
