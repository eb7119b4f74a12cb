// SPDX-License-Identifier: BSD-3-Clause
// prof_files.h: the flags --cpuprofile, --memprofile and --trace of a command, as those of Go's
// programs: files with a CPU profile and a trace of its whole run, and a memory profile.
//
//     prof_files_open    before the server exists: the files, so that a path that is wrong ends the
//                        command at once
//     prof_files_begin   when the server runs: the CPU profile and the trace begin
//     prof_files_memory  while the connections still exist: takes and writes the memory profile
//     prof_files_end     before the server stops: writes what is left; or, in a loop that has other
//                        events, prof_files_stop and then prof_files_poll until it is done
//
// Control thread. A server that has been profiled to a file is otherwise as any other.
#pragma once
#include "prof/prof.h"

enum prof_file_kind { PROF_FILE_CPU, PROF_FILE_MEM, PROF_FILE_TRACE, PROF_FILE_KINDS };

// prof_files: all zero: no files. paths: from the command line, NULL: none.
struct prof_files {
    const char *paths[PROF_FILE_KINDS];
    int fds[PROF_FILE_KINDS];  // of those that have a path and are not written yet
    struct prof_run *runs[PROF_FILE_KINDS];
    size_t written[PROF_FILE_KINDS];  // bytes of the result that are in the file
    bool failed;                      // one of them, since prof_files_stop()
    struct prof *prof;
};

// prof_files_option: the kind of a flag, by the name of its long option: "cpuprofile",
// "memprofile", "trace". -1: it is none of them.
int prof_files_option(const char *name);

// PROF_FILES_OPTIONS: rows for getopt_long(). PROF_FILES_HELP: their lines of --help.
#define PROF_FILES_OPTIONS(value)                                                                  \
    {"cpuprofile", 1, NULL, value}, {"memprofile", 1, NULL, value},                                \
    {                                                                                              \
        "trace", 1, NULL, value                                                                    \
    }
#define PROF_FILES_HELP                                                                            \
    "      --cpuprofile FILE     write a CPU profile of the whole run, for go tool pprof\n"        \
    "      --memprofile FILE     write a memory profile at the end\n"                              \
    "      --trace FILE          write an execution trace of the whole run, for go tool trace\n"

// All return 0, or -1 with *err, and do nothing for files that were not asked for; begin and end
// accept NULL. The prof of prof_files_begin() is used until prof_files_end(). memory and end wait,
// some seconds at most, and call prof_turn(); prof_files_end() closes the files in any case.
int prof_files_open(struct prof_files *f, struct err *err);
int prof_files_begin(struct prof_files *f, struct prof *prof, struct err *err);
int prof_files_memory(struct prof_files *f, struct err *err);
int prof_files_end(struct prof_files *f, struct err *err);

// prof_files_stop: ends the CPU profile and the trace, and takes the memory profile if that was not
// done. prof_files_poll: writes a part of what is ready, and never waits for the reader of a pipe.
// Returns PROF_FILES_WAIT: call it again after PROF_SLICE_MS; others call prof_turn(). 0: all is
// written, or nothing was asked for. -1: the same, but a file failed, now or before, with *err.
// prof_files_leave: closes the files that are not complete. Returns -1 with *err, which says why,
// if there is one. All accept NULL.
enum { PROF_FILES_WAIT = 1, PROF_FILES_SLICE_BYTES = 1 << 20 };
void prof_files_stop(struct prof_files *f, struct err *err);
int prof_files_poll(struct prof_files *f, struct err *err);
int prof_files_leave(struct prof_files *f, const char *why, struct err *err);

// prof_files_any: whether there are any.
bool prof_files_any(const struct prof_files *f);
