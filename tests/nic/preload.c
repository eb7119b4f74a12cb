// SPDX-License-Identifier: BSD-3-Clause
// Puts a modeled NIC below DPDK's PCI bus: LD_PRELOAD of a process that nic_run starts.
//
// The bus finds the device in a made-up sysfs tree (SYSFS_PCI_DEVICES) and takes it for one bound
// to uio_pci_generic. It maps BAR 0 from the file resource0; that mapping gets no access here, so
// that each access of the driver to a register is a SIGSEGV. The handler reads the instruction,
// asks the chip, and goes on behind it.
#undef _FILE_OFFSET_BITS  // it would give open64 and mmap64 the names of open and mmap
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "nic.h"

static struct {
    const char *folder;  // NIC_DIR; NULL: not for this process
    int resource;        // opened, not mapped yet
    uint8_t *bar;
    size_t bar_bytes;
} nic = {.resource = -1};

__attribute__((constructor)) static void find_folder(void)
{
    nic.folder = getenv("NIC_DIR");
    unsetenv("LD_PRELOAD");  // not for children
}

// The processor's access.

struct access {
    unsigned bytes;      // of the instruction
    unsigned width;      // of the access
    bool store, vector;  // vector: of an XMM register
    int number;          // of the register; -1: value
    uint32_t value;
};

// operand_bytes: ModR/M with what follows: Intel's manual, volume 2, section 2.1.
static unsigned operand_bytes(const uint8_t *modrm)
{
    const unsigned mod = modrm[0] >> 6, rm = modrm[0] & 7;
    unsigned n = 1;
    if (rm == 4) {
        n++;
        if (mod == 0 && (modrm[1] & 7) == 5)
            n += 4;
    }
    if (mod == 0 && rm == 5)
        n += 4;
    return n + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

// decode: the forms in which compilers load and store 32 and 64 bits: MOV, MOVD; and MOVDIRI.
static bool decode(const uint8_t *ip, struct access *a)
{
    const uint8_t *p = ip;
    unsigned rex = 0;
    const bool prefix = *p == 0x66;
    p += prefix;
    if ((*p & 0xf0) == 0x40)
        rex = *p++;
    *a = (struct access){.width = rex & 8 ? 8 : 4, .number = -1};
    if (prefix) {
        if (p[0] != 0x0f || (p[1] != 0x6e && p[1] != 0x7e))
            return false;
        a->store = p[1] == 0x7e;
        a->vector = true;
        a->number = (p[2] >> 3 & 7) | (rex & 4 ? 8 : 0);
        a->bytes = (unsigned)(p + 2 - ip) + operand_bytes(p + 2);
    } else if (p[0] == 0x8b || p[0] == 0x89) {
        a->store = p[0] == 0x89;
        a->number = (p[1] >> 3 & 7) | (rex & 4 ? 8 : 0);
        a->bytes = (unsigned)(p + 1 - ip) + operand_bytes(p + 1);
    } else if (p[0] == 0xc7 && (p[1] & 0x38) == 0) {
        a->store = true;
        const uint8_t *immediate = p + 1 + operand_bytes(p + 1);
        memcpy(&a->value, immediate, 4);
        a->bytes = (unsigned)(immediate + 4 - ip);
    } else if (p[0] == 0x0f && p[1] == 0x38 && p[2] == 0xf9) {
        a->store = true;
        a->number = (p[3] >> 3 & 7) | (rex & 4 ? 8 : 0);
        a->bytes = (unsigned)(p + 3 - ip) + operand_bytes(p + 3);
    }
    return a->bytes != 0;
}

static const int registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};

static void perform_vector(const struct access *a, uint32_t reg, mcontext_t *saved)
{
    uint32_t *xmm = (uint32_t *)&saved->fpregs->_xmm[a->number];
    if (a->store) {
        nic_write(reg, xmm[0]);
        return;
    }
    memset(xmm, 0, 16);
    xmm[0] = nic_read(reg);
    // XSAVE's header, volume 1, section 13.4.2: the XMM registers are in what is restored.
    ((uint64_t *)saved->fpregs)[512 / 8] |= 1 << 1;
}

static void perform(const struct access *a, uint32_t reg, greg_t *saved)
{
    greg_t *number = a->number < 0 ? NULL : &saved[registers[a->number]];
    if (a->store) {
        const uint64_t value = number == NULL ? a->value : (uint64_t)*number;
        nic_write(reg, (uint32_t)value);
        if (a->width == 8)
            nic_write(reg + 4, (uint32_t)(value >> 32));
        return;
    }
    uint64_t value = nic_read(reg);
    if (a->width == 8)
        value |= (uint64_t)nic_read(reg + 4) << 32;
    *number = (greg_t)value;
}

static void on_access(int signo, siginfo_t *info, void *context)
{
    greg_t *saved = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *ip = (const uint8_t *)saved[REG_RIP];
    const uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)nic.bar;
    const int before = errno;
    struct access a;
    if (info->si_code <= 0 || at >= nic.bar_bytes) {
        signal(SIGSEGV, SIG_DFL);  // it comes again, and ends the process
        return;
    }
    if (!decode(ip, &a)) {
        dprintf(2, "nic: register %#zx: unknown instruction %02x %02x %02x %02x %02x\n", (size_t)at,
                ip[0], ip[1], ip[2], ip[3], ip[4]);
        abort();
    }
    if (a.vector)
        perform_vector(&a, (uint32_t)at, &((ucontext_t *)context)->uc_mcontext);
    else
        perform(&a, (uint32_t)at, saved);
    saved[REG_RIP] += a.bytes;
    errno = before;
}

// What DPDK's bus and the server ask the kernel.

static bool is(const char *path, const char *format)
{
    char want[PATH_MAX];
    snprintf(want, sizeof(want), format, nic.folder);
    return strcmp(path, want) == 0;
}

// The descriptor of an interrupt that never comes.
static int open_interrupt(void)
{
    int pair[2];
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 ? pair[0] : -1;
}

// real: in the made-up tree what the path would be in sysfs.
static const char *real(const char *path, char *out)
{
    static const char devices[] = "/sys/bus/pci/devices/";
    if (nic.folder == NULL || path == NULL)
        return path;
    if (strncmp(path, devices, sizeof(devices) - 1) == 0)
        snprintf(out, PATH_MAX, "%s/devices/%s", nic.folder, path + sizeof(devices) - 1);
    else if (strcmp(path, "/sys/class/uio/uio0/device/config") == 0)
        snprintf(out, PATH_MAX, "%s/devices/0000:01:00.0/config", nic.folder);
    else
        return path;
    return out;
}

static int open_any(const char *path, int flags, va_list ap)
{
    char other[PATH_MAX];
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    if (nic.folder != NULL && strcmp(path, "/dev/uio0") == 0)
        return open_interrupt();
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, real(path, other), flags, mode);
    if (nic.folder != NULL && fd >= 0 && is(path, "%s/devices/0000:01:00.0/resource0"))
        nic.resource = fd;
    return fd;
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const int fd = open_any(path, flags, ap);
    va_end(ap);
    return fd;
}

int open64(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const int fd = open_any(path, flags, ap);
    va_end(ap);
    return fd;
}

int access(const char *path, int mode)
{
    char other[PATH_MAX];
    return (int)syscall(SYS_faccessat, AT_FDCWD, real(path, other), mode);
}

ssize_t readlink(const char *path, char *out, size_t bytes)
{
    char other[PATH_MAX];
    return syscall(SYS_readlinkat, AT_FDCWD, real(path, other), out, bytes);
}

static void catch_accesses(void)
{
    struct sigaction act = {.sa_sigaction = on_access, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigaction(SIGSEGV, &act, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void *map_any(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    const bool bar = fd >= 0 && fd == nic.resource;
    void *at = (void *)syscall(SYS_mmap, addr, bytes, bar ? PROT_NONE : prot, flags, fd, offset);
    if (!bar || at == MAP_FAILED)
        return at;
    nic.resource = -1;
    nic.bar = at;
    nic.bar_bytes = bytes;
    if (nic_machine_start() != 0) {
        munmap(at, bytes);
        return MAP_FAILED;
    }
    catch_accesses();
    return at;
}

void *mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return map_any(addr, bytes, prot, flags, fd, offset);
}

void *mmap64(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return map_any(addr, bytes, prot, flags, fd, offset);
}

// A blocked SIGSEGV ends the process at the first register; the server blocks all signals.
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    static int (*next)(int, const sigset_t *, sigset_t *);
    sigset_t without;
    if (next == NULL)
        next = (int (*)(int, const sigset_t *, sigset_t *))dlsym(RTLD_NEXT, "pthread_sigmask");
    if (nic.folder != NULL && set != NULL && how != SIG_UNBLOCK) {
        without = *set;
        sigdelset(&without, SIGSEGV);
        set = &without;
    }
    return next(how, set, before);
}
