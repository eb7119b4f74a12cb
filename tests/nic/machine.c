// SPDX-License-Identifier: BSD-3-Clause
// What every chip needs: a lock, the thread of the device, the wire, DMA, and faults to order.
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <rte_memory.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nic.h"

enum { WAITING_MAX = 8192, BURST = 64, WRONG_PRINTED = 20 };

// One NIC a process. The lock protects everything; it is taken by the threads of the driver when
// they access a register, and by the device's thread.
static struct {
    const struct nic_chip *chip;
    pthread_mutex_t lock;
    int tap, kick, ctl;
    bool trace;  // NIC_TRACE: each access to a register on the standard error output
    // The packet buffer: a ring of frames.
    struct {
        uint8_t *data;
        uint32_t len;
    } waiting[WAITING_MAX];
    uint32_t head, count, bytes;
    // Faults. 0: none.
    bool link_down, lie, pulled;
    unsigned bad_ip, bad_l4, miss;
    uint32_t stuck_rx, stuck_tx;  // a bit a queue
    uint64_t frames, judged_ip, judged_l4;
    // Counters of what a test wants to know.
    uint64_t from_wire, to_wire, filtered, missed, no_link, wire_full, dma_faults, wrong, reads,
        writes;
} m = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct nic_chip *const chips[] = {&nic_ixgbe, &nic_i40e};

const struct nic_chip *nic_chip_named(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof(chips) / sizeof(chips[0]); i++)
        if (strcmp(chips[i]->name, name) == 0)
            return chips[i];
    return NULL;
}

void nic_wrong(const char *format, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (m.wrong++ < WRONG_PRINTED)
        dprintf(2, "nic: wrong: %s\n", text);
}

// nic_dma: what an IOMMU would refuse is counted. A piece is part of one page.
void *nic_dma(uint64_t iova, size_t bytes)
{
    void *at = rte_mem_iova2virt(iova);
    if (at != NULL && rte_mem_iova2virt(iova + bytes - 1) == (void *)((uintptr_t)at + bytes - 1))
        return at;
    if (m.dma_faults++ < WRONG_PRINTED)
        dprintf(2, "nic: DMA of %zu bytes at %#llx: not the driver's memory\n", bytes,
                (unsigned long long)iova);
    return NULL;
}

void nic_kick(void)
{
    const uint64_t one = 1;
    if (write(m.kick, &one, sizeof(one)) != sizeof(one) && errno != EAGAIN)
        dprintf(2, "nic: kick: %s\n", strerror(errno));
}

void nic_kick_if_waiting(void)
{
    if (m.count != 0)
        nic_kick();
}

bool nic_link_up(void)
{
    return !m.link_down;
}

void nic_send(const uint8_t *frame, uint32_t len)
{
    if (write(m.tap, frame, len) == (ssize_t)len)
        m.to_wire++;
    else
        m.wire_full++;
}

unsigned nic_fault_queue(unsigned right, unsigned queues)
{
    return m.lie && queues != 0 ? (right + 1) % queues : right;
}

bool nic_fault_stuck_rx(unsigned queue)
{
    return queue < 32 && (m.stuck_rx >> queue & 1) != 0;
}

bool nic_fault_stuck_tx(unsigned queue)
{
    return queue < 32 && (m.stuck_tx >> queue & 1) != 0;
}

bool nic_fault_bad_ip(void)
{
    return m.bad_ip != 0 && ++m.judged_ip % m.bad_ip == 0;
}

bool nic_fault_bad_l4(void)
{
    return m.bad_l4 != 0 && ++m.judged_l4 % m.bad_l4 == 0;
}

uint32_t nic_read(uint32_t reg)
{
    pthread_mutex_lock(&m.lock);
    m.reads++;
    const uint32_t value = m.pulled ? UINT32_MAX : m.chip->read(reg);
    pthread_mutex_unlock(&m.lock);
    if (m.trace)
        dprintf(2, "nic: read %#07x: %#x\n", reg, value);
    return value;
}

void nic_write(uint32_t reg, uint32_t value)
{
    if (m.trace)
        dprintf(2, "nic: write %#07x: %#x\n", reg, value);
    pthread_mutex_lock(&m.lock);
    m.writes++;
    if (!m.pulled)
        m.chip->write(reg, value);
    pthread_mutex_unlock(&m.lock);
}

// Receive: wire, filters, packet buffer, queues.

static void miss(void)
{
    m.missed++;
    m.chip->missed();
}

static void arrive(const uint8_t *frame, uint32_t len)
{
    m.from_wire++;
    if (!nic_link_up() || m.pulled) {
        m.no_link++;
        return;
    }
    if (!m.chip->accepts(frame, len)) {
        m.filtered++;
        return;
    }
    if ((m.miss != 0 && ++m.frames % m.miss == 0) || m.count == WAITING_MAX ||
        m.bytes + len > m.chip->buffer_bytes) {
        miss();
        return;
    }
    const uint32_t at = (m.head + m.count) % WAITING_MAX;
    m.waiting[at].data = malloc(len);
    if (m.waiting[at].data == NULL)
        abort();
    memcpy(m.waiting[at].data, frame, len);
    m.waiting[at].len = len;
    m.count++;
    m.bytes += len;
}

static void take_first(void)
{
    free(m.waiting[m.head].data);
    m.bytes -= m.waiting[m.head].len;
    m.head = (m.head + 1) % WAITING_MAX;
    m.count--;
}

static void hand_on(void)
{
    while (m.count != 0) {
        if (m.chip->receive(m.waiting[m.head].data, m.waiting[m.head].len) == NIC_BLOCKED)
            return;
        take_first();
    }
}

static void read_wire(void)
{
    uint8_t frame[NIC_FRAME_MAX];
    for (int i = 0; i < BURST; i++) {
        const ssize_t len = read(m.tap, frame, sizeof(frame));
        if (len <= 0)
            return;
        arrive(frame, (uint32_t)len);
    }
}

// Orders.

static void write_state(void)
{
    char path[512], temporary[520];
    snprintf(path, sizeof(path), "%s/state", getenv("NIC_DIR"));
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    FILE *f = fopen(temporary, "w");
    if (f == NULL)
        return;
    fprintf(f,
            "from_wire %llu\nto_wire %llu\nfiltered %llu\nmissed %llu\nno_link %llu\nwire_full "
            "%llu\ndma_faults %llu\nwrong %llu\nreads %llu\nwrites %llu\nwaiting %u\n",
            (unsigned long long)m.from_wire, (unsigned long long)m.to_wire,
            (unsigned long long)m.filtered, (unsigned long long)m.missed,
            (unsigned long long)m.no_link, (unsigned long long)m.wire_full,
            (unsigned long long)m.dma_faults, (unsigned long long)m.wrong,
            (unsigned long long)m.reads, (unsigned long long)m.writes, m.count);
    m.chip->state(f);
    fclose(f);
    rename(temporary, path);
}

static void order(const char *text)
{
    char word[32];
    unsigned n = 0;
    if (sscanf(text, "%31s %u", word, &n) < 1)
        return;
    if (strcmp(text, "state") == 0)
        write_state();
    else if (strcmp(text, "link down") == 0)
        m.link_down = true;
    else if (strcmp(text, "link up") == 0)
        m.link_down = false;
    else if (strcmp(text, "pull") == 0)
        m.pulled = true;
    else if (strcmp(word, "bad_ip") == 0)
        m.bad_ip = n;
    else if (strcmp(word, "bad_l4") == 0)
        m.bad_l4 = n;
    else if (strcmp(word, "miss") == 0)
        m.miss = n;
    else if (strcmp(word, "lie") == 0)
        m.lie = n != 0;
    else if (strcmp(word, "spoil_table") == 0)
        m.chip->spoil(false);
    else if (strcmp(word, "spoil_key") == 0)
        m.chip->spoil(true);
    else if (strcmp(word, "stuck_rx") == 0)
        m.stuck_rx |= 1u << (n & 31);
    else if (strcmp(word, "stuck_tx") == 0)
        m.stuck_tx |= 1u << (n & 31);
    else if (strcmp(word, "clear") == 0)
        m.stuck_rx = m.stuck_tx = m.bad_ip = m.bad_l4 = m.miss = m.lie = m.link_down = 0;
    else
        dprintf(2, "nic: no order \"%s\"\n", text);
}

// orders: separated by ; or line ends.
static void orders(char *text)
{
    for (char *save = NULL, *one = strtok_r(text, ";\n", &save); one != NULL;
         one = strtok_r(NULL, ";\n", &save))
        order(one + strspn(one, " "));
}

static void read_orders(void)
{
    char text[512];
    const ssize_t n = read(m.ctl, text, sizeof(text) - 1);
    if (n <= 0)
        return;
    text[n] = '\0';
    orders(text);
}

static void *run(void *arg)
{
    struct pollfd fds[] = {{m.tap, POLLIN, 0}, {m.kick, POLLIN, 0}, {m.ctl, POLLIN, 0}};
    for (;;) {
        uint64_t kicks;
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            abort();
        while (read(m.kick, &kicks, sizeof(kicks)) > 0)
            ;
        pthread_mutex_lock(&m.lock);
        read_orders();
        read_wire();
        if (!m.pulled)
            hand_on();
        if (nic_link_up() && !m.pulled)
            m.chip->transmit();
        pthread_mutex_unlock(&m.lock);
    }
    return arg;
}

static int open_wire(const char *device)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    m.tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
    if (m.tap >= 0 && ioctl(m.tap, TUNSETIFF, &request) == 0)
        return 0;
    dprintf(2, "nic: TAP %s: %s\n", device, strerror(errno));
    return -1;
}

// plug_in: the driver maps the registers again: a chip that was just plugged in.
static int plug_in(void)
{
    pthread_mutex_lock(&m.lock);
    while (m.count != 0)
        take_first();
    m.pulled = false;
    m.chip->reset();
    pthread_mutex_unlock(&m.lock);
    return 0;
}

int nic_machine_start(void)
{
    char path[512];
    if (m.chip != NULL)
        return plug_in();
    pthread_t thread;
    sigset_t all, before;
    const char *faults = getenv("NIC_FAULTS"), *device = getenv("NIC_TAP");
    m.chip = nic_chip_named(getenv("NIC_CHIP"));
    if (m.chip == NULL || device == NULL) {
        dprintf(2, "nic: NIC_CHIP and NIC_TAP: see nic_run\n");
        return -1;
    }
    m.trace = getenv("NIC_TRACE") != NULL;
    snprintf(path, sizeof(path), "%s/ctl", getenv("NIC_DIR"));
    m.ctl = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    m.kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (open_wire(device) != 0 || m.ctl < 0 || m.kick < 0)
        return -1;
    m.chip->reset();
    if (faults != NULL) {
        char *text = strdup(faults);
        orders(text);
        free(text);
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int rc = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0 ? pthread_detach(thread) : -1;
}
