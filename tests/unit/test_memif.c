// SPDX-License-Identifier: BSD-3-Clause
// memif: two ports of this process over a socket; and rings whose other side lies, in both roles.
// tests/e2e/memif.sh has other programs as peers.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "drivers/memif.h"
#include "drivers/memif_rings.h"
#include "unit/pkt_env.h"

enum { POOL = 2048, LOG2 = 6, SLOTS = 1 << LOG2 };

static struct pkt_pool *pool_a, *pool_b;
static char folder[] = "/tmp/c10m-memif.XXXXXX";
static char path[64];

// ---- two ports

struct pair {
    struct port *server, *client;
};

static struct port_params params(const char *name, bool client, struct pkt_pool *pool)
{
    return (struct port_params){.name = name,
                                .driver = "memif",
                                .device = path,
                                .memif_client = client,
                                .memif_id = 3,
                                .queues = 4,
                                .rx_ring = SLOTS,
                                .node = -1,
                                .pools = {pool}};
}

static struct port *opened(bool client)
{
    struct err e = {.text = ""};
    struct port_params p = params(client ? "c" : "s", client, client ? pool_b : pool_a);
    struct port *port = memif_open(&p, &e);
    if (port == NULL)
        fail_msg("%s", e.text);
    return port;
}

static bool is_up(struct port *p)
{
    struct port_link l;
    p->ops->view->link(p, &l);
    return l.up;
}

static void wait_until(struct port *p, bool up)
{
    for (int i = 0; i < 6000 && is_up(p) != up; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(is_up(p), up);
}

static int setup(void **state)
{
    static struct pair pair;
    pair.server = opened(false);
    pair.client = opened(true);
    wait_until(pair.server, true);
    wait_until(pair.client, true);
    *state = &pair;
    return 0;
}

// Every test leaves all packets in their pools: none lost, none freed twice.
static int teardown(void **state)
{
    struct pair *pair = *state;
    port_close(pair->client);
    port_close(pair->server);
    assert_int_equal(pkt_pool_free_count(pool_a), POOL);
    assert_int_equal(pkt_pool_free_count(pool_b), POOL);
    assert_int_not_equal(access(path, F_OK), 0);
    return 0;
}

static void frame_crosses(struct port *from, struct port *to, struct pkt_pool *pool, uint32_t len,
                          struct rng *rng)
{
    struct pkt *p = pkt_of(pool, 0, len), *got;
    uint8_t sent[PKT_JUMBO_ROOM];
    for (uint32_t i = 0; i < len; i++)
        sent[i] = pkt_data(p)[i] = (uint8_t)rng_u64(rng);
    assert_int_equal(from->ops->tx_burst(from, 0, &p, 1), 1);
    assert_int_equal(to->ops->rx_burst(to, 0, &got, 1), 1);
    assert_int_equal(pkt_total_len(got), len);
    assert_memory_equal(pkt_data(got), sent, len);
    pkt_free(got);
}

static void a_frame_of_every_length_arrives_byte_for_byte(void **state)
{
    struct pair *pair = *state;
    struct rng rng = {1};
    struct port_stats s, c;
    for (uint32_t len = 1; len <= PKT_ROOM; len++) {
        frame_crosses(pair->client, pair->server, pool_b, len, &rng);
        frame_crosses(pair->server, pair->client, pool_a, len, &rng);
    }
    pair->server->ops->stats(pair->server, &s);
    pair->client->ops->stats(pair->client, &c);
    assert_int_equal(s.rx_packets, PKT_ROOM);
    assert_int_equal(s.rx_bytes, PKT_ROOM * (PKT_ROOM + 1) / 2);
    assert_int_equal(s.rx_packets, c.tx_packets);
    assert_int_equal(s.rx_bytes, c.tx_bytes);
    assert_int_equal(s.tx_packets, c.rx_packets);
    assert_int_equal(s.tx_bytes, c.rx_bytes);
    assert_int_equal(s.rx_errors + c.rx_errors, 0);
}

static void bursts_arrive_in_order_and_a_full_ring_takes_no_more(void **state)
{
    struct pair *pair = *state;
    struct port *way[2][2] = {{pair->client, pair->server}, {pair->server, pair->client}};
    for (int i = 0; i < 2; i++)
        for (unsigned turn = 0; turn < 3000; turn++) {
            struct port *from = way[i][0], *to = way[i][1];
            struct pkt *pkts[2 * BURST_MAX];
            for (unsigned n = 0; n < 2 * BURST_MAX; n++)
                pkts[n] = pkt_of(i == 0 ? pool_b : pool_a, (uint8_t)n, 60);
            assert_int_equal(from->ops->tx_burst(from, 0, pkts, 2 * BURST_MAX), SLOTS);
            pkt_free_bulk(pkts + SLOTS, 2 * BURST_MAX - SLOTS);
            assert_int_equal(to->ops->view->rx_waiting(to, 0), SLOTS);
            assert_int_equal(to->ops->rx_burst(to, 0, pkts, 7), 7);
            uint32_t slots;
            assert_int_equal(port_rx_waiting(to, 0, &slots), SLOTS - 7);
            assert_int_equal(slots, SLOTS);
            assert_int_equal(to->ops->rx_burst(to, 0, pkts + 7, BURST_MAX), SLOTS - 7);
            for (unsigned n = 0; n < SLOTS; n++)
                assert_int_equal(pkt_data(pkts[n])[0], n);
            pkt_free_bulk(pkts, SLOTS);
            assert_int_equal(to->ops->rx_burst(to, 0, pkts, 1), 0);
        }
}

static void a_chain_arrives_as_one_packet_or_is_counted(void **state)
{
    struct pair *pair = *state;
    struct port_stats s;
    for (uint32_t len = 100; len <= 1000; len += 900) {
        struct pkt *parts[3], *got;
        for (unsigned i = 0; i < 3; i++)
            parts[i] = pkt_of(pool_b, (uint8_t)(i + 1), len);
        pkt_chain(parts, 3);
        assert_int_equal(pair->client->ops->tx_burst(pair->client, 0, parts, 1), 1);
        assert_int_equal(pair->server->ops->rx_burst(pair->server, 0, &got, 1), len == 100);
        if (len > 100)
            continue;
        assert_int_equal(pkt_len(got), 300);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(pkt_data(got)[100 * i + 99], i + 1);
        pkt_free(got);
    }
    pair->server->ops->stats(pair->server, &s);
    assert_int_equal(s.rx_errors, 1);
}

static void without_a_peer_nothing_is_taken_and_nothing_is_forgotten(void **state)
{
    struct pair *pair = *state;
    struct rng rng = {2};
    struct port_stats before, after;
    frame_crosses(pair->client, pair->server, pool_b, 60, &rng);
    pair->server->ops->stats(pair->server, &before);
    port_close(pair->client);
    wait_until(pair->server, false);
    struct pkt *p = pkt_of(pool_a, 0, 60);
    assert_int_equal(pair->server->ops->tx_burst(pair->server, 0, &p, 1), 0);
    pkt_free(p);
    assert_int_equal(pair->server->ops->rx_burst(pair->server, 0, &p, 1), 0);
    pair->client = opened(true);
    wait_until(pair->server, true);
    wait_until(pair->client, true);
    frame_crosses(pair->client, pair->server, pool_b, 60, &rng);
    pair->server->ops->stats(pair->server, &after);
    assert_int_equal(after.rx_packets, before.rx_packets + 1);
}

static void a_client_finds_the_next_server_by_itself(void **state)
{
    struct pair *pair = *state;
    struct rng rng = {3};
    for (int i = 0; i < 3; i++) {
        port_close(pair->server);
        wait_until(pair->client, false);
        pair->server = opened(false);
        wait_until(pair->client, true);
        wait_until(pair->server, true);
        frame_crosses(pair->client, pair->server, pool_b, 60, &rng);
        frame_crosses(pair->server, pair->client, pool_a, 60, &rng);
    }
}

static void what_is_in_the_way_of_the_socket_stays(void **state)
{
    struct err e = {.text = ""};
    struct port_params p = params("s", false, pool_a);
    const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(fd);
    assert_null(memif_open(&p, &e));
    assert_non_null(strstr(e.text, "something else is there"));
    assert_int_equal(unlink(path), 0);
    struct port *s = memif_open(&p, &e);
    assert_non_null(s);
    assert_null(memif_open(&p, &e));
    assert_non_null(strstr(e.text, "a server that runs"));
    port_close(s);
}

// ---- a peer that the test plays, message by message

struct peer {
    int fd, memory, wake;  // wake: of the ring that leads to it
    struct memif_rings rings;
};

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static void descriptors_are(unsigned want)
{
    for (int i = 0; i < 6000 && descriptors() != want; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(descriptors(), want);
}

// One message of that many bytes, with files.
static void tell(struct peer *p, const struct memif_msg *m, size_t bytes, const int *files,
                 unsigned n)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec io = {(void *)(uintptr_t)m, bytes};
    struct msghdr h = {.msg_iov = &io, .msg_iovlen = 1};
    if (n != 0) {
        h.msg_control = control.bytes;
        h.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);
        *c = (struct cmsghdr){CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(c), files, n * sizeof(int));
    }
    assert_int_equal(sendmsg(p->fd, &h, MSG_NOSIGNAL), bytes);
}

// The kind of the next message; 0: the server closed the connection.
static uint16_t hear(struct peer *p, struct memif_msg *m)
{
    const ssize_t n = recv(p->fd, m, sizeof(*m), 0);
    assert_true(n <= 0 || n == sizeof(*m));
    return n <= 0 ? 0 : m->kind;
}

static void say_file(struct peer *p, struct memif_msg m, int file, uint16_t answer)
{
    struct memif_msg got;
    tell(p, &m, sizeof(m), &file, file >= 0);
    const uint16_t kind = hear(p, &got);
    if (kind != answer)
        fail_msg("%u in place of %u: %s", kind, answer,
                 kind == MEMIF_DISCONNECT ? got.disconnect.reason : "");
}

// refused: the connection ends, and its reason contains this text.
static void refused(struct peer *p, const char *text)
{
    struct memif_msg got;
    assert_int_equal(hear(p, &got), MEMIF_DISCONNECT);
    if (strstr(got.disconnect.reason, text) == NULL)
        fail_msg("%s in place of %s", got.disconnect.reason, text);
    assert_int_equal(hear(p, &got), 0);
}

static struct peer peer_new(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct peer p = {.rings.client = true};
    struct memif_msg m;
    strcpy(at.sun_path, path);
    p.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(p.fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 60},
                                sizeof(struct timeval)),
                     0);
    assert_int_equal(connect(p.fd, (struct sockaddr *)&at, sizeof(at)), 0);
    p.memory = memif_rings_make(&p.rings, LOG2);
    p.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(p.memory >= 0 && p.wake >= 0);
    assert_int_equal(hear(&p, &m), MEMIF_HELLO);
    assert_int_equal(m.hello.log2_slots_max, LOG2);
    return p;
}

static void peer_end(struct peer *p)
{
    close(p->fd);
    close(p->memory);
    close(p->wake);
    memif_rings_unmap(&p->rings);
}

static struct memif_msg init_as(const char *name)
{
    struct memif_msg m = {.kind = MEMIF_INIT, .init = {.version = MEMIF_VERSION, .id = 3}};
    memcpy(m.init.name, name, MIN(strlen(name), sizeof(m.init.name)));
    return m;
}

static struct memif_msg region_of(const struct peer *p)
{
    return (struct memif_msg){.kind = MEMIF_ADD_REGION, .region.bytes = p->rings.regions[0].bytes};
}

static struct memif_msg ring_of(const struct peer *p, bool to_server)
{
    const struct memif_end *e = to_server ? &p->rings.tx : &p->rings.rx;
    return (struct memif_msg){
        .kind = MEMIF_ADD_RING,
        .ring = {.flags = to_server ? MEMIF_RING_TO_SERVER : 0,
                 .offset = (uint32_t)((uint8_t *)e->ring - p->rings.regions[0].addr),
                 .log2_slots = LOG2}};
}

static const struct memif_msg connect_msg = {.kind = MEMIF_CONNECT};

static void until_connect(struct peer *p, const char *name)
{
    say_file(p, init_as(name), -1, MEMIF_ACK);
    say_file(p, region_of(p), p->memory, MEMIF_ACK);
    say_file(p, ring_of(p, true), p->wake, MEMIF_ACK);
    say_file(p, ring_of(p, false), p->wake, MEMIF_ACK);
}

static void peer_up(struct peer *p, struct port *server, const char *name)
{
    *p = peer_new();
    until_connect(p, name);
    say_file(p, connect_msg, -1, MEMIF_CONNECTED);
    assert_null(memif_rings_begin(&p->rings));
    wait_until(server, true);
}

static blkcnt_t blocks(const struct peer *p)
{
    struct stat st;
    assert_int_equal(fstat(p->memory, &st), 0);
    return st.st_blocks;
}

static bool says(struct port *port, const char *line)
{
    struct text t;
    text_init(&t, 1024);
    port->ops->view->describe(port, &t);
    const bool found = strstr(text_str(&t), line) != NULL;
    text_free(&t);
    return found;
}

static int server_only(void **state)
{
    static struct port *server;
    server = opened(false);
    *state = server;
    return 0;
}

static int server_only_end(void **state)
{
    port_close(*state);
    assert_int_equal(pkt_pool_free_count(pool_a), POOL);
    return 0;
}

// Two files fit where one is expected: the kernel installs both. An empty message has files, too.
static void no_file_of_a_message_leaks(void **state)
{
    const unsigned before = descriptors();
    struct peer p = peer_new();
    struct memif_msg got, init = init_as("two"), region = region_of(&p);
    tell(&p, &init, sizeof(init), (int[]){p.wake, p.memory}, 2);
    assert_int_equal(hear(&p, &got), MEMIF_ACK);
    tell(&p, &region, sizeof(region), (int[]){p.wake, p.memory}, 2);
    assert_int_equal(hear(&p, &got), MEMIF_ACK);
    tell(&p, &region, sizeof(region), (int[]){p.wake, p.wake, p.memory, p.memory}, 4);
    refused(&p, "numbered");
    peer_end(&p);
    descriptors_are(before);
    for (int i = 0; i < 20; i++) {
        p = peer_new();
        tell(&p, &init, 0, (int[]){p.wake, p.memory}, 2);
        refused(&p, "left");
        peer_end(&p);
    }
    descriptors_are(before);
}

// Both were told that no link is up when they began; the second must not take the place of the
// first.
static void of_two_that_connect_at_once_one_is_up(void **state)
{
    const unsigned before = descriptors();
    struct peer p[2] = {peer_new(), peer_new()};
    struct memif_msg got[2];
    unsigned up = 0;
    for (int i = 0; i < 2; i++)
        until_connect(&p[i], "one of two");
    for (int i = 0; i < 2; i++)
        tell(&p[i], &connect_msg, sizeof(connect_msg), NULL, 0);
    for (int i = 0; i < 2; i++) {
        const uint16_t kind = hear(&p[i], &got[i]);
        assert_true(kind == MEMIF_CONNECTED || strstr(got[i].disconnect.reason, "another peer"));
        up += kind == MEMIF_CONNECTED;
    }
    assert_int_equal(up, 1);
    wait_until(*state, true);
    for (int i = 0; i < 2; i++)
        peer_end(&p[i]);
    wait_until(*state, false);
    descriptors_are(before);
}

static void a_file_named_like_an_eventfd_is_none(void **state)
{
    static const char *const names[] = {"anon_inode:[eventfd]", "[eventfd]"};
    for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
        struct peer p = peer_new();
        const int fake = memfd_create(names[i], MFD_CLOEXEC);
        say_file(&p, init_as("a name"), -1, MEMIF_ACK);
        say_file(&p, region_of(&p), p.memory, MEMIF_ACK);
        struct memif_msg m = ring_of(&p, false);
        tell(&p, &m, sizeof(m), &fake, 1);
        refused(&p, "must be an eventfd");
        close(fake);
        peer_end(&p);
    }
}

// A name and a reason of a peer are one line of the log each, without escapes of a terminal.
static void a_peer_cannot_write_lines_of_the_log(void **state)
{
    struct peer p;
    struct memif_msg bye = {.kind = MEMIF_DISCONNECT};
    char log[2048] = "";
    const int to = memfd_create("log", MFD_CLOEXEC), stderr_was = dup(STDERR_FILENO);
    dup2(to, STDERR_FILENO);
    peer_up(&p, *state, "a\nc10m: error: b\x1b[31m\x7f\xff");
    const bool named = says(*state, "peer a?c10m: error: b?[31m??\n");
    memcpy(bye.disconnect.reason, "x\r\ny\x1b]0;z", 10);
    tell(&p, &bye, sizeof(bye), NULL, 0);
    wait_until(*state, false);
    const bool told = says(*state, "last_reason x??y?]0;z\n");
    port_close(*state);  // joins the thread, which has written its lines then
    dup2(stderr_was, STDERR_FILENO);
    assert_true(pread(to, log, sizeof(log) - 1, 0) > 0);
    assert_true(named && told);
    assert_non_null(strstr(log, "peer \"a?c10m: error: b?[31m??\" connected"));
    assert_non_null(strstr(log, "gone: x??y?]0;z\n"));
    assert_null(strchr(log, '\x1b'));
    for (const char *line = log; *line != '\0'; line = strchr(line, '\n') + 1)
        assert_int_equal(strncmp(line, "c10m: port s: ", 14), 0);
    close(to);
    close(stderr_was);
    peer_end(&p);
    *state = opened(false);
}

// Only a server acknowledges.
static void a_client_that_acknowledges_is_refused(void **state)
{
    static const struct memif_msg ack = {.kind = MEMIF_ACK};
    struct peer p = peer_new();
    tell(&p, &ack, sizeof(ack), NULL, 0);
    refused(&p, "INIT was expected");
    peer_end(&p);
    p = peer_new();
    say_file(&p, init_as("acks"), -1, MEMIF_ACK);
    tell(&p, &ack, sizeof(ack), NULL, 0);
    refused(&p, "an unexpected message");
    peer_end(&p);
    peer_up(&p, *state, "acks");
    tell(&p, &ack, sizeof(ack), NULL, 0);
    wait_until(*state, false);
    assert_true(says(*state, "last_reason a message after the link was up"));
    peer_end(&p);
}

static void a_ring_or_memory_larger_than_rx_ring_needs_is_refused(void **state)
{
    struct peer p = peer_new();
    say_file(&p, init_as("large"), -1, MEMIF_ACK);
    say_file(&p, region_of(&p), p.memory, MEMIF_ACK);
    struct memif_msg m = ring_of(&p, false);
    m.ring.log2_slots++;
    tell(&p, &m, sizeof(m), NULL, 0);
    refused(&p, "larger than HELLO allows");
    peer_end(&p);
    p = peer_new();
    say_file(&p, init_as("large"), -1, MEMIF_ACK);
    m = region_of(&p);
    m.region.bytes = memif_rings_bytes_max(LOG2) + 1;
    tell(&p, &m, sizeof(m), &p.memory, 1);
    refused(&p, "too large");
    peer_end(&p);
}

// The peer keeps its file: what we touched first would count as our memory as long as it does.
static void the_pages_of_a_link_that_ended_are_freed(void **state)
{
    static const struct memif_msg bye = {.kind = MEMIF_DISCONNECT};
    for (int i = 0; i < 3; i++) {
        struct peer p;
        peer_up(&p, *state, "keeps its file");
        assert_true((uint64_t)blocks(&p) * 512 >= p.rings.regions[0].bytes);
        tell(&p, &bye, sizeof(bye), NULL, 0);
        wait_until(*state, false);
        for (int n = 0; n < 6000 && blocks(&p) != 0; n++)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        assert_int_equal(blocks(&p), 0);
        peer_end(&p);
    }
}

static void a_peer_that_takes_pages_away_loses_its_link(void **state)
{
    struct peer p;
    peer_up(&p, *state, "punches holes");
    const int rc = fallocate(p.memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                             (off_t)p.rings.regions[0].bytes / 4096 / 2 * 4096, 4096);
    assert_int_equal(rc, 0);
    wait_until(*state, false);
    refused(&p, "took pages of its memory away");
    assert_true(says(*state, "last_reason it took pages of its memory away"));
    peer_end(&p);
}

// The frame is in the ring before the peer says that it sleeps, and after it looked for the last
// time.
static void a_peer_that_falls_asleep_is_woken_for_what_is_in_its_ring(void **state)
{
    struct port *server = *state;
    struct peer p;
    peer_up(&p, server, "sleeps");
    for (int i = 0; i < 3; i++) {
        struct pkt *pkt = pkt_of(pool_a, 0, 60);
        uint64_t n;
        assert_int_equal(server->ops->tx_burst(server, 0, &pkt, 1), 1);
        __atomic_store_n(&p.rings.rx.ring->flags, 0, __ATOMIC_SEQ_CST);
        assert_int_equal(poll(&(struct pollfd){.fd = p.wake, .events = POLLIN}, 1, 60000), 1);
        assert_int_equal(read(p.wake, &n, sizeof(n)), sizeof(n));
        __atomic_store_n(&p.rings.rx.ring->flags, MEMIF_RING_POLLED, __ATOMIC_SEQ_CST);
    }
    peer_end(&p);
    wait_until(server, false);
}

// ---- rings whose other side lies

struct rig {
    struct memif_rings ours;
    uint8_t *memory;  // as the other side sees it
    uint64_t bytes;
    struct memif_counts counts;
};

// A server gets the memory of a client that this test plays, and a client makes it.
static int rig(void **state, bool client)
{
    static struct rig r;
    struct memif_rings maker = {0};
    memset(&r, 0, sizeof(r));
    struct memif_rings *made = client ? &r.ours : &maker;
    const int fd = memif_rings_make(made, LOG2);
    assert_true(fd >= 0);
    r.bytes = made->regions[0].bytes;
    r.memory = mmap(NULL, r.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(r.memory, MAP_FAILED);
    r.ours.client = client;
    if (!client) {
        assert_null(memif_rings_map(&r.ours, fd, r.bytes, r.bytes));
        assert_null(memif_rings_place(&r.ours, &r.ours.rx, 0, 0, LOG2));
        assert_null(memif_rings_place(&r.ours, &r.ours.tx, 0,
                                      sizeof(struct memif_ring) + SLOTS * 16, LOG2));
        maker.begun = false;  // the pages stay
        memif_rings_unmap(&maker);
    }
    close(fd);
    assert_null(memif_rings_begin(&r.ours));
    *state = &r;
    return 0;
}

static int rig_server(void **state)
{
    return rig(state, false);
}

static int rig_client(void **state)
{
    return rig(state, true);
}

static int rig_end(void **state)
{
    struct rig *r = *state;
    memif_rings_unmap(&r->ours);
    munmap(r->memory, r->bytes);
    assert_int_equal(pkt_pool_free_count(pool_a), POOL);
    return 0;
}

static bool is_broken(const struct rig *r)
{
    return shared_ptr_load(&r->ours.broken) != NULL;
}

static void mend(struct rig *r)
{
    shared_ptr_store(&r->ours.broken, NULL);
    memif_rings_begin(&r->ours);
}

static uint16_t receive(struct rig *r)
{
    struct pkt *pkts[BURST_MAX];
    const uint16_t n = memif_rings_rx(&r->ours, &r->counts, pool_a, pkts, BURST_MAX);
    pkt_free_bulk(pkts, n);
    return n;
}

static uint16_t send_one(struct rig *r, uint32_t len)
{
    struct pkt *p = pkt_of(pool_a, 0x77, len);
    const uint16_t n = memif_rings_tx(&r->ours, &r->counts, &p, 1);
    if (n == 0)
        pkt_free(p);
    return n;
}

static void an_index_that_runs_ahead_ends_the_link(void **state)
{
    struct rig *r = *state;
    uint16_t *rx = r->ours.client ? &r->ours.rx.ring->tail : &r->ours.rx.ring->head;
    uint16_t *tx = r->ours.client ? &r->ours.tx.ring->tail : &r->ours.tx.ring->head;
    static const uint16_t ahead[] = {SLOTS + 1, 1000, 0x8000, 0xffff};
    for (unsigned i = 0; i < ARRAY_LEN(ahead); i++) {
        const uint16_t before = *rx;
        *rx = (uint16_t)(r->ours.rx.at + ahead[i]);
        assert_int_equal(receive(r), 0);
        assert_true(is_broken(r));
        assert_int_equal(send_one(r, 60), 0);  // a broken link carries nothing
        *rx = before;
        mend(r);
        const uint16_t was = *tx;
        // As client the other side's index follows ours: ahead of it is a lie as well.
        *tx = (uint16_t)(r->ours.tx.at + (ahead[i] == 0xffff ? SLOTS + 2 : ahead[i]));
        assert_int_equal(send_one(r, 60), 0);
        assert_true(is_broken(r));
        *tx = was;
        mend(r);
    }
}

static void a_wild_descriptor_ends_the_link(void **state)
{
    struct rig *r = *state;
    const struct memif_desc wild[] = {
        {.region = 1, .length = 60},
        {.region = 0xffff, .length = 60},
        {.offset = 0xffffffff, .length = 60},
        {.offset = (uint32_t)r->bytes, .length = 1},
        {.offset = (uint32_t)r->bytes - 59, .length = 60},
        {.length = 0xffffffff},
        {.offset = 1, .length = (uint32_t)r->bytes},
    };
    for (unsigned i = 0; i < ARRAY_LEN(wild); i++) {
        r->ours.rx.ring->desc[r->ours.rx.at & (SLOTS - 1)] = wild[i];
        r->ours.rx.ring->head = (uint16_t)(r->ours.rx.at + 1);
        assert_int_equal(receive(r), 0);
        assert_true(is_broken(r));
        mend(r);
        r->ours.tx.ring->desc[r->ours.tx.at & (SLOTS - 1)] = wild[i];
        r->ours.tx.ring->head = (uint16_t)(r->ours.tx.at + 1);
        assert_int_equal(send_one(r, 60), 0);
        assert_true(is_broken(r));
        mend(r);
    }
}

// A client never looks for its own buffers in the memory that the other side can write.
static void a_client_knows_its_buffers_by_heart(void **state)
{
    struct rig *r = *state;
    for (unsigned i = 0; i < SLOTS; i++) {
        r->ours.rx.ring->desc[i] =
            (struct memif_desc){.region = 9, .length = 60, .offset = 0xffffff00};
        r->ours.tx.ring->desc[i] = r->ours.rx.ring->desc[i];
    }
    r->ours.rx.ring->tail = SLOTS;
    assert_int_equal(receive(r), SLOTS);
    assert_int_equal(send_one(r, 60), 1);
    assert_false(is_broken(r));
    assert_int_equal(r->ours.tx.ring->desc[0].region, 0);
    assert_int_equal(r->ours.rx.ring->desc[0].length, PKT_ROOM);
    r->ours.rx.ring->desc[0].length = PKT_ROOM + 1;
    r->ours.rx.ring->tail = SLOTS + 1;
    assert_int_equal(receive(r), 0);
    assert_true(is_broken(r));
}

static void small_buffers_carry_a_frame_in_parts(void **state)
{
    struct rig *r = *state;
    for (unsigned i = 0; i < SLOTS; i++)
        r->ours.tx.ring->desc[i].length = 100;
    r->ours.tx.ring->head = SLOTS;
    assert_int_equal(send_one(r, 250), 1);
    assert_int_equal(r->ours.tx.ring->tail, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(r->ours.tx.ring->desc[i].length, i == 2 ? 50 : 100);
        assert_int_equal(r->ours.tx.ring->desc[i].flags, i == 2 ? 0 : MEMIF_DESC_NEXT);
    }
    for (unsigned i = 3; i < SLOTS; i++)
        r->ours.tx.ring->desc[i].length = 5;
    assert_int_equal(send_one(r, 310), 0);  // more parts than there are slots: not begun
    assert_int_equal(r->ours.tx.ring->tail, 3);
    assert_false(is_broken(r));
}

// Every turn of the worker would fill the ring, and find again that the frame does not fit.
static void buffers_too_small_for_a_frame_end_the_link(void **state)
{
    struct rig *r = *state;
    for (unsigned i = 0; i < SLOTS; i++)
        r->ours.tx.ring->desc[i].length = 1;
    r->ours.tx.ring->head = SLOTS;
    assert_int_equal(send_one(r, MEMIF_PARTS_MAX), 1);
    assert_int_equal(r->ours.tx.ring->tail, MEMIF_PARTS_MAX);
    r->ours.tx.ring->head = MEMIF_PARTS_MAX + SLOTS;
    for (unsigned i = 0; i < SLOTS; i++)
        r->ours.tx.ring->desc[i].length = 1;
    assert_int_equal(send_one(r, MEMIF_PARTS_MAX + 1), 0);
    assert_true(is_broken(r));
    assert_int_equal(r->ours.tx.ring->tail, MEMIF_PARTS_MAX);
}

// They wait in the ring until there are packets again.
static void frames_that_find_the_pool_empty_wait_and_are_counted(void **state)
{
    struct rig *r = *state;
    static struct pkt *all[POOL];
    for (unsigned i = 0; i < POOL; i++)
        assert_true(pkt_alloc_bulk(pool_a, &all[i], 1));
    for (unsigned i = 0; i < 3; i++)
        r->ours.rx.ring->desc[i].length = 60;
    r->ours.rx.ring->head = 3;
    assert_int_equal(receive(r), 0);
    assert_int_equal(receive(r), 0);
    assert_int_equal(r->counts.rx_nombuf, 2);
    for (unsigned i = 0; i < POOL; i++)
        pkt_free(all[i]);
    assert_int_equal(receive(r), 3);
    assert_int_equal(r->counts.rx_packets, 3);
    assert_int_equal(r->counts.rx_nombuf, 2);
}

static void pages_that_the_other_side_took_away_are_found(void **state)
{
    struct rig *r = *state;
    assert_false(memif_rings_lost_pages(&r->ours));
    assert_int_equal(madvise(r->memory + 8 * 4096, 4096, MADV_REMOVE), 0);
    assert_true(memif_rings_lost_pages(&r->ours));
    r->memory[8 * 4096] = 1;
    assert_false(memif_rings_lost_pages(&r->ours));
}

static void a_frame_without_an_end_is_counted(void **state)
{
    struct rig *r = *state;
    for (unsigned i = 0; i < SLOTS; i++)
        r->ours.rx.ring->desc[i].flags = MEMIF_DESC_NEXT;
    for (unsigned i = 0; i < SLOTS; i++)
        r->ours.rx.ring->desc[i].length = 1;
    r->ours.rx.ring->head = SLOTS;
    assert_int_equal(receive(r), 0);
    assert_int_equal(r->counts.rx_errors, 1);
    assert_int_equal(r->ours.rx.ring->tail, SLOTS);
    assert_false(is_broken(r));
}

// Both sides' words change at random; what is read and written stays inside (ASan, or SIGSEGV).
static void noise_in_the_rings_harms_nobody(void **state)
{
    struct rig *r = *state;
    struct rng rng = {4};
    const uint64_t head_bytes = 2 * (sizeof(struct memif_ring) + SLOTS * 16);
    for (unsigned i = 0; i < 200000; i++) {
        r->memory[rng_u64(&rng) % head_bytes] = (uint8_t)rng_u64(&rng);
        receive(r);
        send_one(r, 1 + (uint32_t)(rng_u64(&rng) % 1514));
        if (is_broken(r)) {
            r->ours.rx.ring->cookie = r->ours.tx.ring->cookie = MEMIF_COOKIE;
            mend(r);
        }
    }
}

static void memory_that_can_shrink_is_refused(void **state)
{
    enum { MAX_BYTES = 1 << 20 };
    struct memif_rings r = {0};
    const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_non_null(memif_rings_map(&r, fd, 8192, MAX_BYTES));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    assert_non_null(memif_rings_map(&r, fd, 8192, MAX_BYTES));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_non_null(memif_rings_map(&r, fd, 8193, MAX_BYTES));
    assert_non_null(memif_rings_map(&r, fd, 4096, MAX_BYTES));
    assert_non_null(memif_rings_map(&r, fd, 0, MAX_BYTES));
    assert_non_null(memif_rings_map(&r, fd, 8192, 8191));
    assert_null(memif_rings_map(&r, fd, 8192, 2 * 8192 - 1));
    assert_non_null(memif_rings_map(&r, fd, 8192, 2 * 8192 - 1));  // both together
    memif_rings_unmap(&r);
    close(fd);
}

// A seal against new writers, set later, would keep us from freeing the pages.
static void memory_takes_no_more_seals(void **state)
{
    struct memif_rings r = {0};
    const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_null(memif_rings_map(&r, fd, 8192, 8192));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
    assert_int_equal(ftruncate(fd, 16384), -1);
    memif_rings_unmap(&r);
    close(fd);
}

// The buffers of a link have 2 KiB: a longer frame takes several.
static void jumbo_frames_of_every_length_cross(void **state)
{
    struct pkt_pool *const a = pool_a, *const b = pool_b;
    struct rng rng = {7};
    struct port_stats s;
    uint64_t n = 0;
    pool_a = pkt_pool_create_jumbo("jumbo_a", POOL, -1);
    pool_b = pkt_pool_create_jumbo("jumbo_b", POOL, -1);
    assert_non_null(pool_a);
    assert_non_null(pool_b);
    setup(state);
    const struct pair *pair = *state;
    for (uint32_t len = PKT_ROOM - 1; len <= PKT_JUMBO_ROOM; len += 113, n++) {
        frame_crosses(pair->client, pair->server, pool_b, len, &rng);
        frame_crosses(pair->server, pair->client, pool_a, len, &rng);
    }
    pair->server->ops->stats(pair->server, &s);
    assert_int_equal(s.rx_packets, n);
    assert_int_equal(s.rx_errors + s.tx_errors, 0);
    teardown(state);
    pkt_pool_destroy(pool_a);
    pkt_pool_destroy(pool_b);
    pool_a = a;
    pool_b = b;
}

static void the_memory_of_a_link_follows_from_its_rings(void **state)
{
    assert_in_range(memif_rings_bytes_max(10), 8 << 20, 9 << 20);
    assert_in_range(memif_rings_bytes_max(MEMIF_LOG2_SLOTS_MAX), 128 << 20, 130 << 20);
}

int main(void)
{
    pkt_env_start(1);
    pool_a = pkt_pool_create("test_a", POOL, -1);
    pool_b = pkt_pool_create("test_b", POOL, -1);
    if (pool_a == NULL || pool_b == NULL || mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof(path), "%s/socket", folder);
#define ONE(f)    cmocka_unit_test_setup_teardown(f, server_only, server_only_end)
#define PAIR(f)   cmocka_unit_test_setup_teardown(f, setup, teardown)
#define SERVER(f) cmocka_unit_test_setup_teardown(f, rig_server, rig_end)
#define CLIENT(f) cmocka_unit_test_setup_teardown(f, rig_client, rig_end)
    const struct CMUnitTest tests[] = {
        PAIR(a_frame_of_every_length_arrives_byte_for_byte),
        cmocka_unit_test(jumbo_frames_of_every_length_cross),
        PAIR(bursts_arrive_in_order_and_a_full_ring_takes_no_more),
        PAIR(a_chain_arrives_as_one_packet_or_is_counted),
        PAIR(without_a_peer_nothing_is_taken_and_nothing_is_forgotten),
        PAIR(a_client_finds_the_next_server_by_itself),
        cmocka_unit_test(what_is_in_the_way_of_the_socket_stays),
        ONE(no_file_of_a_message_leaks),
        ONE(of_two_that_connect_at_once_one_is_up),
        ONE(a_file_named_like_an_eventfd_is_none),
        ONE(a_peer_cannot_write_lines_of_the_log),
        ONE(a_client_that_acknowledges_is_refused),
        ONE(a_ring_or_memory_larger_than_rx_ring_needs_is_refused),
        ONE(the_pages_of_a_link_that_ended_are_freed),
        ONE(a_peer_that_takes_pages_away_loses_its_link),
        ONE(a_peer_that_falls_asleep_is_woken_for_what_is_in_its_ring),
        SERVER(an_index_that_runs_ahead_ends_the_link),
        CLIENT(an_index_that_runs_ahead_ends_the_link),
        SERVER(a_wild_descriptor_ends_the_link),
        CLIENT(a_client_knows_its_buffers_by_heart),
        SERVER(small_buffers_carry_a_frame_in_parts),
        SERVER(buffers_too_small_for_a_frame_end_the_link),
        SERVER(frames_that_find_the_pool_empty_wait_and_are_counted),
        SERVER(pages_that_the_other_side_took_away_are_found),
        CLIENT(pages_that_the_other_side_took_away_are_found),
        SERVER(a_frame_without_an_end_is_counted),
        SERVER(noise_in_the_rings_harms_nobody),
        CLIENT(noise_in_the_rings_harms_nobody),
        cmocka_unit_test(memory_that_can_shrink_is_refused),
        cmocka_unit_test(memory_takes_no_more_seals),
        cmocka_unit_test(the_memory_of_a_link_follows_from_its_rings),
    };
    int failed = cmocka_run_group_tests_name("memif", tests, NULL, NULL);
    rmdir(folder);
    eal_stop();
    return failed;
}
