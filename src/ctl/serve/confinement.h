// SPDX-License-Identifier: BSD-3-Clause
// confinement.h: what the process gives up when all that its start needs is open, and before it
// serves the first client, runs the first worker, or starts the thread of an application: root
// ([control] user), files (landlock), and system calls (seccomp). Control thread.
//
//     confinement_prepare  as root, with one thread: who the server will be; the cleaner
//     ...                  directories, sockets, hugepages, devices, mount
//     confinement_begin    from here on without root
//     ...                  clients, workers, threads of applications
//     confinement_end      the cleaner removes what only root can remove
#pragma once
#include "confine/identity.h"
#include "ctl/serve/cleaner.h"
#include "ctl/serve/serve.h"

struct confinement {
    struct identity who;
    struct cleaner cleaner;
    const char *run_dir;  // that this start created, or found empty; NULL: it was in use
    const struct ctl_conf *from;
    bool no_root;  // root, or capabilities, were given up: the cleaner does the rest
};

// confinement_prepare: returns 0, or -1 with *err. confinement_end() is due in either case.
int confinement_prepare(struct confinement *k, const struct ctl_conf *from,
                        const struct server_params *p, struct err *err);

// confinement_run_dir: creates the directory of the server's files. If it fails, opening the socket
// in it fails and is logged.
void confinement_run_dir(struct confinement *k, const char *run_dir);

// confinement_begin: the process becomes the user of prepare, with the capabilities by which
// devices are opened again, and run_dir is that user's. From here on this thread, and those that it
// creates, open the files of a running server only (ctl/serve/allowed_files.h), and no thread makes
// a system call that none of a running server has a reason for (confine/call_filter.h). Workers
// confine themselves further when they start. Once, before server_run().
int confinement_begin(struct confinement *k, const struct server *s, struct err *err);

// confinement_end: everything else has been released. keeps: but for connections that the next
// server adopts. A second call does nothing.
void confinement_end(struct confinement *k, bool keeps);
