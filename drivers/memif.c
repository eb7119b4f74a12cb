// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/memif.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/siphash.h"
#include "drivers/memif_peer.h"
#include "drivers/memif_socket.h"
#include "drivers/vdev.h"

enum {
    RING_DEFAULT = 1024,
    RING_MAX = 1 << MEMIF_LOG2_SLOTS_MAX,
    PEERS_MAX = 8,  // that are not up yet; one more replaces the oldest
    HANDSHAKE_S = 10,
    RETRY_MS = 500,  // a client, from an attempt that the server has accepted to the next one
    ABSENT_MS = 20,  // the same if nobody listens: a server that is started again is found at once
    LOOK_MS = 10,    // between two looks at the link, on average
    WAKE_US = 100,   // the same, from the first time on that the peer sleeps
    LEAVE_US = 50,   // between two looks whether the worker left a burst
    PAUSE_MS = 100,  // from the end of a link to the next one: each end disturbs the worker
    PUNISH_S = 10,   // the same, if the peer took pages away
    STOP_S = 10,     // the thread may take to stop
    // A peer may come and go as often as it likes.
    LOG_LINES_MAX = 20,
    LOG_LINE_S = 10,  // after so many lines, one
};

struct memif {
    struct port port;  // first
    struct pkt_pool *pool;
    char path[MEMIF_PATH_MAX + 1];
    uint32_t id;
    bool client;
    unsigned log2_slots;

    // The worker's. `entered` pairs with rings by membarrier(2), see memif.h.
    struct shared_bool entered CACHE_ALIGNED;
    struct memif_counts counts;

    // The rings of the link that is up, or NULL. Written by the thread, read by the worker.
    struct shared_ptr rings CACHE_ALIGNED;

    pthread_t thread CACHE_ALIGNED;
    int stop_fd, listen_fd;              // listen_fd: -1 as client
    struct memif_peer peers[PEERS_MAX];  // the thread's own, as the next five
    uint64_t not_before_ns;              // the next link
    uint64_t retry_ns, log_ns;           // log_ns: when all LOG_LINES_MAX lines are free again
    uint64_t woken;                      // tx_packets when the peer was woken
    bool sleeper;                        // it was seen asleep
    // The thread holds the lock while it changes these, others while they read them.
    pthread_mutex_t lock;
    struct memif_peer link;
    uint64_t connected, disconnected, refused;
    char last_reason[MEMIF_REASON_BYTES + 1];
};

static struct memif *of(const struct port *p)
{
    return p->priv;
}

// ---- worker

// The compiler keeps the order of the store and the load; the CPU's is enforced by the thread's
// membarrier, so that a burst costs no fence.
static inline struct memif_rings *enter(struct memif *m)
{
    shared_bool_store(&m->entered, true);
    atomic_signal_fence(memory_order_seq_cst);
    return (struct memif_rings *)(uintptr_t)shared_ptr_load_acquire(&m->rings);
}

// Pairs with unpublish(): what the burst did to the rings comes before.
static inline void leave(struct memif *m)
{
    shared_bool_store_release(&m->entered, false);
}

static uint16_t memif_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct memif *m = of(p);
    struct memif_rings *r = enter(m);
    const uint16_t got = r == NULL ? 0 : memif_rings_rx(r, &m->counts, m->pool, pkts, n);
    leave(m);
    return got;
}

static int memif_rx_waiting(struct port *p, uint16_t q, uint32_t *slots)
{
    struct memif *m = of(p);
    const struct memif_rings *r = enter(m);
    const int n = r == NULL ? -1 : (int)memif_rings_waiting(r);
    *slots = r == NULL ? 0 : r->rx.slots;
    leave(m);
    return n;
}

static uint16_t memif_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct memif *m = of(p);
    struct memif_rings *r = enter(m);
    const uint16_t sent = r == NULL ? 0 : memif_rings_tx(r, &m->counts, pkts, n);
    leave(m);
    return sent;
}

// ---- the thread of the port

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

static void publish(struct memif *m)
{
    shared_ptr_store_release(&m->rings, &m->link.rings);
}

// After it no burst uses the rings. A worker that is stopped inside a burst is waited for.
static void unpublish(struct memif *m)
{
    shared_ptr_store(&m->rings, NULL);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    while (shared_bool_load_acquire(&m->entered))
        nanosleep(&(struct timespec){.tv_nsec = LEAVE_US * 1000}, NULL);
}

static bool may_log(struct memif *m)
{
    const uint64_t now = now_ns(), line_ns = LOG_LINE_S * UINT64_C(1000000000);
    const uint64_t next = MAX(m->log_ns, now) + line_ns;
    if (next - now > LOG_LINES_MAX * line_ns)
        return false;
    m->log_ns = next;
    return true;
}

static struct memif_self self_of(const struct memif *m)
{
    return (struct memif_self){.name = m->port.name,
                               .id = m->id,
                               .log2_slots = m->log2_slots,
                               .taken =
                                   m->link.fd >= 0 || (!m->client && now_ns() < m->not_before_ns)};
}

// pause_links: for so long no connection is accepted and no link comes up.
static void pause_links(struct memif *m, uint64_t ms)
{
    m->not_before_ns = now_ns() + ms * 1000000;
}

static void link_begin(struct memif *m, struct memif_peer *p)
{
    pthread_mutex_lock(&m->lock);
    m->link = *p;
    m->link.up = true;
    m->connected++;
    pthread_mutex_unlock(&m->lock);
    memif_peer_init(p);  // its files and its memory belong to the link now
    m->sleeper = false;
    m->woken = peek_u64(&m->counts.tx_packets);
    publish(m);
    if (may_log(m))
        log_say(LOG_port, LOG_INFO, "port %s: peer \"%s\" connected", m->port.name, m->link.name);
}

static void link_end(struct memif *m, const char *why, bool tell)
{
    char reason[MEMIF_REASON_BYTES + 1];
    snprintf(reason, sizeof(reason), "%s", why);
    unpublish(m);
    if (tell)
        memif_peer_bye(&m->link, reason);
    pthread_mutex_lock(&m->lock);
    memif_peer_end(&m->link, NULL);
    m->disconnected++;
    memcpy(m->last_reason, reason, sizeof(reason));
    pthread_mutex_unlock(&m->lock);
    pause_links(m, PAUSE_MS);
    if (may_log(m))
        log_say(LOG_port, LOG_INFO, "port %s: the peer is gone: %s", m->port.name, reason);
}

static void refuse(struct memif *m, struct memif_peer *p, const char *why)
{
    char reason[MEMIF_REASON_BYTES + 1];
    snprintf(reason, sizeof(reason), "%s", why);
    memif_peer_end(p, reason);
    pthread_mutex_lock(&m->lock);
    m->refused++;
    memcpy(m->last_reason, reason, sizeof(reason));
    pthread_mutex_unlock(&m->lock);
    if (may_log(m))
        log_say(LOG_port, LOG_INFO, "port %s: a peer was refused: %s", m->port.name, reason);
}

static void peer_verdict(struct memif *m, struct memif_peer *p, enum memif_verdict v)
{
    if (v == MEMIF_IS_UP)
        link_begin(m, p);
    else if (v == MEMIF_IS_OVER)
        refuse(m, p, p->reason);
}

// A free place, or that of the peer that has been there for longest.
static struct memif_peer *place_for(struct memif *m)
{
    struct memif_peer *oldest = &m->peers[0];
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        if (m->peers[i].fd < 0)
            return &m->peers[i];
        if (m->peers[i].deadline_ns < oldest->deadline_ns)
            oldest = &m->peers[i];
    }
    refuse(m, oldest, "others wait");
    return oldest;
}

static void peer_begin(struct memif *m, int fd)
{
    struct memif_peer *p = place_for(m);
    const struct memif_self self = self_of(m);
    const enum memif_verdict v = memif_peer_begin(p, &self, fd, m->client);
    p->deadline_ns = now_ns() + HANDSHAKE_S * UINT64_C(1000000000);
    peer_verdict(m, p, v);
}

static void peers_read(struct memif *m, const struct pollfd *polled)
{
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        struct memif_peer *p = &m->peers[i];
        const struct memif_self self = self_of(m);
        if (p->fd < 0)
            continue;
        if (now_ns() > p->deadline_ns)
            refuse(m, p, "its handshake took too long");
        else if (polled[i].fd == p->fd && polled[i].revents != 0)
            peer_verdict(m, p, memif_peer_read(p, &self));
    }
}

// Any message of a peer whose link is up is its last one. One that ends the link says so before it
// frees the pages, which the worker may find before us: its message is the reason then.
static void link_look(struct memif *m, short revents)
{
    if (m->link.fd < 0)
        return;
    const struct memif_self self = self_of(m);
    const char *broken = shared_ptr_load_acquire(&m->link.rings.broken);
    const bool lost = broken == NULL && memif_rings_lost_pages(&m->link.rings);
    if ((revents != 0 || broken != NULL || lost) &&
        memif_peer_read(&m->link, &self) == MEMIF_IS_OVER) {
        link_end(m, m->link.reason, false);
    } else if (broken != NULL) {
        link_end(m, broken, true);
    } else if (lost) {
        link_end(m, "it took pages of its memory away", true);
        pause_links(m, PUNISH_S * 1000);
    }
}

// The peer's flag is looked at here and not by the worker. A worker that published frames would
// have to wait until all CPUs see them (a full fence) before it may believe that the peer does not
// sleep.
static void link_wake(struct memif *m)
{
    if (m->link.fd < 0 || !memif_rings_wants_waking(&m->link.rings))
        return;
    m->sleeper = true;
    const uint64_t sent = __atomic_load_n(&m->counts.tx_packets, __ATOMIC_ACQUIRE);
    if (sent == m->woken)
        return;
    m->woken = sent;
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    memif_peer_wake(&m->link);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
}

static bool is_connecting(const struct memif *m)
{
    for (unsigned i = 0; i < PEERS_MAX; i++)
        if (m->peers[i].fd >= 0)
            return true;
    return m->link.fd >= 0;
}

static void client_retry(struct memif *m)
{
    if (!m->client || is_connecting(m) || now_ns() < MAX(m->retry_ns, m->not_before_ns))
        return;
    const int fd = memif_socket_connect(m->path);
    m->retry_ns = now_ns() + (fd >= 0 ? RETRY_MS : ABSENT_MS) * UINT64_C(1000000);
    if (fd >= 0)
        peer_begin(m, fd);
}

// At a time that a peer which takes pages away for moments only cannot foresee.
static struct timespec next_look(const struct memif *m)
{
    uint32_t chance = 0;
    if (m->link.fd >= 0 && m->sleeper)
        return (struct timespec){.tv_nsec = WAKE_US * 1000};
    if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
        chance = 0;
    return (struct timespec){.tv_nsec = LOOK_MS * 500000 + chance % (LOOK_MS * 1000000)};
}

// may_accept: the socket, or -1 while those that want a link have to wait.
static int may_accept(const struct memif *m)
{
    return now_ns() < m->not_before_ns ? -1 : m->listen_fd;
}

static void turn(struct memif *m, struct pollfd *f)
{
    link_look(m, f[2].fd >= 0 ? f[2].revents : 0);
    peers_read(m, f + 3);
    if (f[1].revents != 0 && may_accept(m) >= 0) {
        const int fd = accept4(m->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            peer_begin(m, fd);
        else if (errno == EMFILE || errno == ENFILE)  // it would be asked again at once
            pause_links(m, PAUSE_MS);
    }
    client_retry(m);
    link_wake(m);
}

static void *run(void *arg)
{
    struct memif *m = arg;
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    for (;;) {
        struct pollfd f[3 + PEERS_MAX] = {{.fd = m->stop_fd, .events = POLLIN},
                                          {.fd = may_accept(m), .events = POLLIN},
                                          {.fd = m->link.fd, .events = POLLIN}};
        for (unsigned i = 0; i < PEERS_MAX; i++)
            f[3 + i] = (struct pollfd){.fd = m->peers[i].fd, .events = POLLIN};
        const struct timespec wait = next_look(m);
        if (ppoll(f, ARRAY_LEN(f), &wait, NULL) < 0)
            continue;
        if (f[0].revents != 0)
            return NULL;
        turn(m, f);
    }
}

// It takes no signal: those are the control thread's.
static int thread_start(struct memif *m, struct err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&m->thread, NULL, run, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return err_set(err, "port %s: no thread: %s", m->port.name, strerror(rc));
    pthread_setname_np(m->thread, "memif");
    return 0;
}

// ---- the port: control thread

static void memif_stats(struct port *p, struct port_stats *out)
{
    const struct memif_counts *c = &of(p)->counts;
    *out = (struct port_stats){.rx_packets = peek_u64(&c->rx_packets),
                               .rx_bytes = peek_u64(&c->rx_bytes),
                               .rx_errors = peek_u64(&c->rx_errors),
                               .rx_nombuf = peek_u64(&c->rx_nombuf),
                               .tx_packets = peek_u64(&c->tx_packets),
                               .tx_bytes = peek_u64(&c->tx_bytes),
                               .tx_errors = peek_u64(&c->tx_errors)};
}

static void view_link(struct port *p, struct port_link *out)
{
    *out = (struct port_link){.up = shared_ptr_load(&of(p)->rings) != NULL, .full_duplex = true};
}

static int view_rx_waiting(struct port *p, uint16_t q)
{
    struct memif *m = of(p);
    pthread_mutex_lock(&m->lock);
    const int n = m->link.fd < 0 ? 0 : (int)memif_rings_waiting(&m->link.rings);
    pthread_mutex_unlock(&m->lock);
    return n;
}

static void add_text(struct text *out, const char *name, const char *value)
{
    text_printf(out, "%s %s\n", name, value[0] == '\0' ? "-" : value);
}

static void view_describe(struct port *p, struct text *out)
{
    struct memif *m = of(p);
    pthread_mutex_lock(&m->lock);
    const bool up = m->link.fd >= 0;
    text_printf(out, "device %s\nrole %s\nid %u\n", m->path, m->client ? "client" : "server",
                m->id);
    add_text(out, "peer", up ? m->link.name : "");
    text_printf(out, "rx_ring %u\ntx_ring %u\n", up ? m->link.rings.rx.slots : 0,
                up ? m->link.rings.tx.slots : 0);
    add_text(out, "last_reason", m->last_reason);
    pthread_mutex_unlock(&m->lock);
}

static unsigned view_xstats(struct port *p, struct port_xstat *out, unsigned max)
{
    struct memif *m = of(p);
    pthread_mutex_lock(&m->lock);
    const struct port_xstat all[] = {
        {"links_up", m->connected}, {"links_down", m->disconnected}, {"peers_refused", m->refused}};
    pthread_mutex_unlock(&m->lock);
    for (unsigned i = 0; i < MIN(max, (unsigned)ARRAY_LEN(all)); i++)
        out[i] = all[i];
    return ARRAY_LEN(all);
}

static const struct port_view view = {
    .link = view_link,
    .xstats = view_xstats,
    .rx_waiting = view_rx_waiting,
    .describe = view_describe,
};

// False: the thread hangs, and keeps what it uses. close() of a peer's file may wait for the peer,
// if that is the file system (FUSE).
static bool thread_stop(struct memif *m)
{
    const uint64_t one = 1;
    struct timespec until;
    while (write(m->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
    pthread_cancel(m->thread);  // only where a peer holds it: memif_peer_wake()
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_S;
    return pthread_timedjoin_np(m->thread, NULL, &until) == 0;
}

static void release(struct memif *m)
{
    for (unsigned i = 0; i < PEERS_MAX; i++)
        memif_peer_end(&m->peers[i], m->peers[i].fd >= 0 ? "the port closes" : NULL);
    memif_peer_end(&m->link, m->link.fd >= 0 ? "the port closes" : NULL);
    if (m->listen_fd >= 0) {
        unlink(m->path);
        close(m->listen_fd);
    }
    if (m->stop_fd >= 0)
        close(m->stop_fd);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void memif_close(struct port *p)
{
    if (thread_stop(of(p)))
        release(of(p));
    else
        log_say(LOG_port, LOG_WARN, "port %s: its thread hangs in a file of a peer", p->name);
}

static const struct port_ops ops = {
    .driver = "memif",
    .rx_burst = memif_rx_burst,
    .rx_waiting = memif_rx_waiting,
    .tx_burst = memif_tx_burst,
    .stats = memif_stats,
    .close = memif_close,
    .view = &view,
};

// Checks that the folder of the socket exists, and the socket of a client.
static int check_socket(const struct port_params *p, struct err *err)
{
    char folder[MEMIF_PATH_MAX + 1];
    strcpy(folder, p->device);
    char *slash = strrchr(folder, '/');
    if (folder[0] != '/')
        return err_set(err, "port %s: device = %s: the absolute path of a socket was expected",
                       p->name, p->device);
    slash[slash == folder] = '\0';
    if (access(folder, W_OK | X_OK) != 0)
        return err_set(err, "port %s: device = %s: the folder is not there or not writable",
                       p->name, p->device);
    if (p->memif_client && access(p->device, F_OK) != 0)
        return err_set(err, "port %s: device = %s: no server has made it yet: start that first",
                       p->name, p->device);
    return 0;
}

static uint32_t ring_of(const struct port_params *params)
{
    return params->rx_ring ? params->rx_ring : RING_DEFAULT;
}

int memif_check(const struct port_params *params, struct err *err)
{
    const uint32_t ring = ring_of(params);
    if (vdev_path_check(params, "device", params->device, MEMIF_PATH_MAX, err) != 0 ||
        check_socket(params, err) != 0)
        return -1;
    if (ring > RING_MAX || (ring & (ring - 1)) != 0)
        return err_set(err, "port %s: rx_ring = %u: a power of two up to %d was expected",
                       params->name, ring, RING_MAX);
    return 0;
}

static struct memif *memif_new(const struct port_params *params)
{
    struct memif *m = NULL;
    CHECK(posix_memalign((void **)&m, CACHE_LINE, sizeof(*m)) == 0);
    memset(m, 0, sizeof(*m));
    m->pool = params->pools[0];
    strcpy(m->path, params->device);
    m->id = params->memif_id;
    m->client = params->memif_client;
    m->log2_slots = (unsigned)__builtin_ctz(ring_of(params));
    m->stop_fd = m->listen_fd = -1;
    pthread_mutex_init(&m->lock, NULL);
    for (unsigned i = 0; i < PEERS_MAX; i++)
        memif_peer_init(&m->peers[i]);
    memif_peer_init(&m->link);
    return m;
}

// default_mac: a locally administered address that depends only on the machine, the socket and the
// side, so that peers have no stale ARP entry after a restart: a server that adopts connections
// would not hear them until it expires.
static struct mac_addr default_mac(const struct memif *m)
{
    static const struct siphash_key key = {0xc10a, 0x3e31f};
    char host[64] = "", text[MEMIF_PATH_MAX + 192];
    gethostname(host, sizeof(host) - 1);
    FILE *f = fopen("/etc/machine-id", "re");
    char id[40] = "";
    if (f != NULL && fgets(id, sizeof(id), f) == NULL)
        id[0] = '\0';
    if (f != NULL)
        fclose(f);
    const int n =
        snprintf(text, sizeof(text), "%s\n%s\n%s\n%u %d", id, host, m->path, m->id, m->client);
    const uint64_t h = siphash_bytes(&key, text, (size_t)n);
    struct mac_addr mac;
    memcpy(mac.b, &h, sizeof(mac.b));
    mac.b[0] = (uint8_t)((mac.b[0] & ~1u) | 2);  // one host's, locally administered
    return mac;
}

static void port_init(struct memif *m, const struct port_params *params)
{
    struct port *p = &m->port;
    p->mac = default_mac(m);
    p->ops = &ops;
    p->priv = m;
    strcpy(p->name, params->name);
    p->caps = PORT_NO_SYSCALL;
    if (params->has_mac)
        p->mac = params->mac;
    p->mtu = params->mtu ? params->mtu : PORT_MTU_DEFAULT;
    p->queues = 1;  // one of the peer's is enough for all it sends
}

// A client's first connection is made here, so that a socket without a server is an error.
static int start(struct memif *m, struct err *err)
{
    struct err why = {0};
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0)
        return err_set(err, "port %s: this kernel has no membarrier(2): %s", m->port.name,
                       strerror(errno));
    if ((m->stop_fd = eventfd(0, EFD_CLOEXEC)) < 0)
        return err_set(err, "port %s: eventfd: %s", m->port.name, strerror(errno));
    if (!m->client && (m->listen_fd = memif_socket_listen(m->path, &why)) < 0)
        return err_set(err, "port %s: device = %s", m->port.name, why.text);
    if (m->client) {
        const int fd = memif_socket_connect(m->path);
        if (fd < 0)
            return err_set(err, "port %s: device = %s: no server answers: %s", m->port.name,
                           m->path, strerror(errno));
        peer_begin(m, fd);
    }
    return thread_start(m, err);
}

struct port *memif_open(const struct port_params *params, struct err *err)
{
    if (memif_check(params, err) != 0)
        return NULL;
    struct memif *m = memif_new(params);
    port_init(m, params);
    if (start(m, err) == 0)
        return &m->port;
    release(m);
    return NULL;
}
