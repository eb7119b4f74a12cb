// SPDX-License-Identifier: BSD-3-Clause
// log.h: log lines of the control side. Workers never log; they count.
#pragma once
#include "base/base.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

// X(name, help)
#define LOG_MODULE_TABLE(X)                                                                        \
    X(server, "start, end, and what belongs to no other")                                          \
    X(conf, "the configuration, read again by SIGHUP")                                             \
    X(ctl, "orders given by ctl/, and how they ended")                                             \
    X(door, "the mount, the socket, HTTP")                                                         \
    X(port, "the drivers of ports")

enum log_module {
#define LOG_MODULE_ENUM(name, help) LOG_##name,
    LOG_MODULE_TABLE(LOG_MODULE_ENUM)
#undef LOG_MODULE_ENUM
        LOG_MODULES
};

// log_module_name: "server" and so on. log_level_name: "error", "warn", "info", "debug".
const char *log_module_name(enum log_module module);
const char *log_level_name(enum log_level level);

// log_set_level, log_set_module: suppress lines above this level, of all modules or of one. Default
// LOG_INFO. Control thread only.
void log_set_level(enum log_level level);
void log_set_module(enum log_module module, enum log_level level);
enum log_level log_level_of(enum log_module module);

// log_say: writes one line to the log (base/log_target.h) with one system call. Any thread but a
// worker.
// log_line: the same for module `server`.
void log_say(enum log_module module, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define log_line(level, ...) log_say(LOG_server, level, __VA_ARGS__)
