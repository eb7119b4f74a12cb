// SPDX-License-Identifier: BSD-3-Clause
#include "confine/call_filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"

// SCMP_A0 leaves out its last argument where a comparison has one value; clang warns of that.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

// The thread's function returns into DPDK's, which reads the next order from a pipe.
static const int worker_calls[] = {
    // to end
    SCMP_SYS(read),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    // a signal handler: of a CPU profile, which reads an event of perf; of the end of the process
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(tgkill),
    // [cpu] workers_per_core
    SCMP_SYS(sched_yield),
    // a lock of libc, as of stderr
    SCMP_SYS(futex),
    // where the kernel's vDSO has no clock
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
};

static const int control_denied[] = {
    // programs and processes; clone() of a thread is allowed
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(kcmp),
    // mounts and namespaces
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsmount),
    SCMP_SYS(fsconfig),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(open_by_handle_at),
    // users and groups; capset() can only give up what a thread has
    SCMP_SYS(setuid),
    SCMP_SYS(setgid),
    SCMP_SYS(setreuid),
    SCMP_SYS(setregid),
    SCMP_SYS(setresuid),
    SCMP_SYS(setresgid),
    SCMP_SYS(setfsuid),
    SCMP_SYS(setfsgid),
    SCMP_SYS(setgroups),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    // the kernel and the machine
    SCMP_SYS(bpf),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(syslog),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    // ways around this filter, or large parts of the kernel that c10m does not use
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(personality),
    SCMP_SYS(modify_ldt),
};

static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_XDP};

enum { FAMILIES_END = AF_MAX };

void call_list_add(struct call_list *list, const int *more, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned at = 0;
        while (at < list->n && list->of[at] != more[i])
            at++;
        CHECK(at < CALLS_MAX);
        list->of[at] = more[i];
        list->n = MAX(list->n, at + 1);
    }
}

static bool has(const int *list, unsigned n, int what)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == what)
            return true;
    return false;
}

// first_arg: a condition of the first argument. libseccomp's SCMP_A0() leaves out a field, of which
// clang warns.
static struct scmp_arg_cmp first_arg(enum scmp_compare op, scmp_datum_t a)
{
    return (struct scmp_arg_cmp){.arg = 0, .op = op, .datum_a = a};
}

static uint32_t refusal(enum call_mode mode)
{
    return mode == CALLS_LOG ? SCMP_ACT_LOG : SCMP_ACT_TRAP;
}

// compile: the instructions of `ctx`. libseccomp writes them to a file only.
static int compile(scmp_filter_ctx ctx, struct call_filter *f)
{
    struct stat st;
    const int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = seccomp_export_bpf(ctx, fd);
    if (rc == 0 && fstat(fd, &st) != 0)
        rc = -errno;
    void *code = rc == 0 ? malloc((size_t)st.st_size) : NULL;
    if (rc == 0 && (code == NULL || pread(fd, code, (size_t)st.st_size, 0) != st.st_size))
        rc = -ENOMEM;
    close(fd);
    if (rc != 0) {
        free(code);
        return rc;
    }
    *f = (struct call_filter){(unsigned short)((size_t)st.st_size / sizeof(*f->code)), code};
    return 0;
}

// finish: makes a filter of rules that were added with the result rc.
static int finish(scmp_filter_ctx ctx, int rc, struct call_filter *f, struct err *err)
{
    if (rc == 0)
        rc = compile(ctx, f);
    seccomp_release(ctx);
    return rc == 0 ? 0 : err_set(err, "seccomp: no filter: %s", strerror(-rc));
}

int call_filter_worker(struct call_filter *f, const struct call_list *calls, enum call_mode mode,
                       struct err *err)
{
    if (mode == CALLS_OFF)
        return 0;
    scmp_filter_ctx ctx = seccomp_init(refusal(mode));
    int rc = ctx == NULL ? -ENOMEM : 0;
    for (unsigned i = 0; i < calls->n && rc == 0; i++) {
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls->of[i], 0);
        if (rc == 0)
            rc = seccomp_syscall_priority(ctx, calls->of[i], UINT8_MAX);
    }
    for (unsigned i = 0; i < ARRAY_LEN(worker_calls) && rc == 0; i++)
        if (!has(calls->of, calls->n, worker_calls[i]))
            rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, worker_calls[i], 0);
    if (rc == 0 && !has(calls->of, calls->n, SCMP_SYS(write)))
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                              first_arg(SCMP_CMP_EQ, STDERR_FILENO));
    return finish(ctx, rc, f, err);
}

// deny_processes: clone() of what is no thread. The flags of clone3() are in memory, where a filter
// cannot read them: glibc is told that there is none, and takes clone().
static int deny_processes(scmp_filter_ctx ctx, uint32_t refuse)
{
    const int rc = seccomp_rule_add(ctx, refuse, SCMP_SYS(clone), 1,
                                    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    return rc != 0 ? rc : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int deny_families(scmp_filter_ctx ctx, uint32_t refuse)
{
    int rc =
        seccomp_rule_add(ctx, refuse, SCMP_SYS(socket), 1, first_arg(SCMP_CMP_GE, FAMILIES_END));
    for (int family = 0; family < FAMILIES_END && rc == 0; family++)
        if (!has(families, ARRAY_LEN(families), family))
            rc = seccomp_rule_add(ctx, refuse, SCMP_SYS(socket), 1,
                                  first_arg(SCMP_CMP_EQ, (scmp_datum_t)family));
    return rc;
}

int call_filter_control(struct call_filter *f, const struct call_list *except, enum call_mode mode,
                        struct err *err)
{
    const uint32_t refuse = refusal(mode);
    if (mode == CALLS_OFF)
        return 0;
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    int rc = ctx == NULL ? -ENOMEM : 0;
    for (unsigned i = 0; i < ARRAY_LEN(control_denied) && rc == 0; i++)
        if (!has(except->of, except->n, control_denied[i]))
            rc = seccomp_rule_add(ctx, refuse, control_denied[i], 0);
    if (rc == 0)
        rc = deny_processes(ctx, refuse);
    if (rc == 0)
        rc = deny_families(ctx, refuse);
    return finish(ctx, rc, f, err);
}

void call_filter_free(struct call_filter *f)
{
    free(f->code);
    *f = (struct call_filter){0, NULL};
}

int call_filter_load(const struct call_filter *f, bool all)
{
    const struct sock_fprog program = {f->n, f->code};
    if (f->n == 0)
        return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -errno;
    const long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            all ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program);
    // Positive: the id of a thread that has a filter already.
    return rc < 0 ? -errno : rc > 0 ? -EBUSY : 0;
}
