// SPDX-License-Identifier: BSD-3-Clause
// log_target.h: where the lines of the log go, and what they look like there.
//
//     target         line
//     stderr         c10m: warning: TEXT
//     a file         2026-11-26T19:01:10.123Z c10m: warning: TEXT
//     stderr that    <4>warning: TEXT               $JOURNAL_STREAM is the device and inode of
//     is a journal                                  stderr: sd-daemon(3), systemd.exec(5)
//     syslog         <28>Nov 26 19:01:10 NAME[PID]: warning: TEXT        a datagram, facility
//     daemon
//
// A file takes the place of stderr, so that it also gets what libraries and a crash write there. A
// line that the target does not take, such as a full disk or a syslog that is gone, goes to stderr
// as it was before. Nothing waits for a syslog.
#pragma once
#include "base/err.h"
#include "base/log.h"

enum { LOG_TARGET_BYTES = 256, LOG_TEXT_BYTES = 2048, LOG_NAME_BYTES = 48 };

enum log_times { LOG_TIMES_AUTO, LOG_TIMES_ON, LOG_TIMES_OFF };  // auto: in a file

// log_target_check: whether `target` is "stderr", "syslog", "syslog:SOCKET" or a path that begins
// with /.
bool log_target_check(const char *target);

// log_target_set: sends all further lines to target. name: the server's, for syslog. A file is
// created with mode 0640. Returns 0, or -1 with *err, and the target stays as it was. Before the
// first call it is stderr. Control thread.
int log_target_set(const char *target, enum log_times times, const char *name, struct err *err);

// log_target_try: whether log_target_set() would succeed, without any change. Returns 0, or -1 with
// *err.
int log_target_try(const char *target, struct err *err);

// log_target_reopen: opens the file at the target's path again, after it was renamed. Returns 0,
// also if the target is no file, or -1 with *err: the old file is kept.
int log_target_reopen(struct err *err);

// log_target_crash: writes one line of level error to stderr. For a signal handler: without a time.
void log_target_crash(const char *text);

// log_target_put: writes one line, text without a newline. Any thread but a worker.
void log_target_put(enum log_level level, const char *text);
