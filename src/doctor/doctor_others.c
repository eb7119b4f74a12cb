// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/corelocks.h"
#include "doctor/doctor_pci.h"
#include "doctor/doctor_process.h"
#include "doctor/doctor_rows.h"

// Where DPDK keeps the runtime files of root (/var/run is a link to /run).
#define DPDK_DIR "/var/run/dpdk"

// dpdk_owner: the process that has the runtime directory of this prefix: a primary process holds a
// lock of fcntl on its file `config`. 0: none lives; -1: it may not be seen.
static long dpdk_owner(const struct doctor_host *h, const char *prefix)
{
    char at[DOCTOR_PATH_BYTES];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd =
        open(doctor_path(h, at, DPDK_DIR "/%.100s/config", prefix), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return access(at, F_OK) == 0 ? -1 : 0;
    const int rc = fcntl(fd, F_GETLK, &lock);
    close(fd);
    return rc != 0 ? -1 : lock.l_type == F_UNLCK ? 0 : (long)lock.l_pid;
}

struct others {
    const struct doctor *d;
    struct doctor_finding *f;
    unsigned n, hidden;
};

static bool each_dpdk(void *arg, const char *prefix)
{
    struct others *o = arg;
    char comm[DOCTOR_COMM_BYTES], list[DOCTOR_CPUS_TEXT_BYTES];
    const long pid = dpdk_owner(&o->d->host, prefix);
    o->hidden += pid < 0;
    if (pid <= 0 || strcmp(prefix, o->d->needs.params->prefix) == 0)
        return true;
    const struct doctor_cpus on = doctor_process_pinned(&o->d->host, pid);
    const struct doctor_cpus both = doctor_cpus_and(&on, &o->d->needs.workers);
    doctor_process_comm(&o->d->host, pid, comm);
    o->n++;
    if (doctor_cpus_count(&both) != 0)
        doctor_say(o->f, DOCTOR_WARN, "%s (process %ld, DPDK prefix %s) has threads on CPUs %s",
                   comm, pid, prefix, doctor_cpus_list(&both, list));
    return true;
}

// Servers by the locks that each takes at its start. Those of other users are seen by root only.
static void look_servers(const struct doctor *d, struct doctor_finding *f)
{
    struct err err;
    const int fd = d->host.root[0] != '\0' ? -1 : corelocks_open();
    for (unsigned i = 0; i < d->needs.params->n_workers && fd >= 0; i++)
        if (corelocks_look(fd, d->needs.params->worker_cpu[i], &err) != 0)
            doctor_say(f, d->needs.exclusive ? DOCTOR_FAIL : DOCTOR_WARN, "%s", err.text);
    if (fd >= 0)
        close(fd);
    for (unsigned i = 0; i < d->needs.params->n_workers && d->host.root[0] == '\0'; i++)
        if (corelocks_look_others(d->needs.params->worker_cpu[i], &err) != 0)
            doctor_say(f, DOCTOR_WARN, "%s", err.text);
}

DOCTOR_LOOK(cores_taken)
{
    struct others o = {.d = d, .f = f};
    const long owner = doctor_server_runs(&d->needs, &d->host);
    if (owner != 0) {
        doctor_say(f, DOCTOR_OK, "the running server (process %ld) has them", owner);
        return;
    }
    look_servers(d, f);
    doctor_each(&d->host, DPDK_DIR, each_dpdk, &o);
    if (f->state == DOCTOR_NONE && o.hidden != 0)
        doctor_say(f, DOCTOR_UNKNOWN, "%u DPDK programs may not be seen by this user", o.hidden);
    else if (f->state == DOCTOR_NONE)
        doctor_say(f, DOCTOR_OK, "nobody (%u other DPDK programs)", o.n);
}

// ---- devices

static void look_device(const struct doctor *d, const struct doctor_nic *nic, bool *hidden,
                        struct doctor_finding *f)
{
    char file[DOCTOR_PATH_BYTES], comm[DOCTOR_COMM_BYTES];
    if (!doctor_pci_device_file(&d->host, nic->address, file)) {
        doctor_say(f, DOCTOR_OK, "%s: not bound for a process", nic->address);
        return;
    }
    const long pid = doctor_process_holds(&d->host, file, hidden);
    if (pid == 0) {
        doctor_say(f, DOCTOR_OK, "%s: free", nic->address);
        return;
    }
    doctor_process_comm(&d->host, pid, comm);
    const bool own = pid == doctor_server_runs(&d->needs, &d->host);
    doctor_say(f, own ? DOCTOR_OK : DOCTOR_FAIL, "%s: %s (process %ld) holds %s", nic->address,
               comm, pid, file);
}

DOCTOR_LOOK(device_taken)
{
    bool hidden = false;
    if (d->needs.n_nics == 0)
        doctor_say(f, DOCTOR_NONE, "no port of driver pci");
    for (unsigned i = 0; i < d->needs.n_nics; i++)
        look_device(d, &d->needs.nics[i], &hidden, f);
    if (hidden)
        doctor_say(f, DOCTOR_UNKNOWN, "files of other users' processes may not be seen");
}
