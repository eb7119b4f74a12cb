// SPDX-License-Identifier: BSD-3-Clause
// sim.h: whole stacks (the real worker_turn() over a simulated port) joined by simulated links, in
// virtual time, in one thread. One 64-bit seed decides everything: the plan (sim_plan.c: hosts,
// links, faults, connections and their manners), and each fault as it happens. The same seed gives
// the same frames, byte for byte.
//
//   plan -> world: hosts [ server's worker | port ] --tx--> wire: links with faults --rx--> hosts
//                       ^ applications (sim_app.c), which know what each byte must be
//                       checks after every turn (sim_check.c), coverage (cover.h)
//
// What is found wrong ends the process by sim_fail(); the runner (sim_run.c) forks one per seed.
#pragma once
#include "base/rng.h"
#include "server/server_internal.h"
#include "tcp_check.h"

enum {
    SIM_HOSTS_MAX = 4,
    SIM_CONNS_MAX = 4096,
    SIM_PACKETS = 16384,          // of the one pool that all hosts and links share
    SIM_JUMBO_PACKETS = 8192,     // the same, of a seed with jumbo frames
    SIM_FIFO = 4096,              // frames that a link holds in order
    SIM_HEAP = 4096,              // frames on their way to a host out of order
    SIM_OUTAGES_MAX = 4,          // of a link
    SIM_PATTERN = 65521,          // the period of the bytes that are sent, a prime
    SIM_PATTERN_MORE = 1 << 20,   // that many bytes of it can be named at once
    SIM_PORT = 7,                 // a service that takes all
    SIM_PORT_FEW = 11,            // one with limit_connections
    SIM_PORT_DRAINING = 13,       // one that drains: it refuses
    SIM_PORT_CLOSED = 99,         // none
    SIM_MAP = 4 * SIM_CONNS_MAX,  // a power of two
};

enum sim_fault {
    FAULT_LOSS,
    FAULT_BURST,      // Gilbert-Elliott
    FAULT_REORDER,    // a frame is overtaken
    FAULT_DUPLICATE,  // also late, which makes old duplicates
    FAULT_CORRUPT,    // one bit of what the checksums cover
    FAULT_QUEUE,      // a short queue at the link's rate: tail drop
    FAULT_MTU,        // a link that lets less through, and says so (ICMP)
    FAULT_BLACKHOLE,  // the same, and does not
    FAULT_ECN,        // CE marks
    FAULT_BLACKOUT,   // nothing passes for a while
    FAULT_SPLIT,      // a part of a segment's bytes comes once more, cut elsewhere
    FAULT_FORGE,      // somebody else's RST, SYN, ACK and FIN
    FAULT_STALL,      // a host that stands still for a while
    FAULT_TX_FULL,    // a port that takes less than it is given
    FAULT_LIE,        // the peer itself lies: timestamps, SACK blocks, window, acknowledgment
    FAULT_ADOPT,      // the process of a host ends, and the next one adopts its connections
    FAULT_COUNT,
};

extern const char *const sim_fault_names[FAULT_COUNT];

// What a peer lies about: bits of sim_host_plan.lies.
enum sim_lie {
    LIE_ECHO,    // TSecr: of long ago, of the future, any; an RTT of minutes
    LIE_CLOCK,   // TSval goes back, or far ahead
    LIE_SACK,    // blocks that were not received, turned round, beyond what was sent
    LIE_WINDOW,  // closed, tiny, as large as can be
    LIE_ACK,     // a part of a segment; more than was received
    LIE_COUNT,
};

// sim_options: what to run, and how much of it: what shrinking cuts.
struct sim_options {
    uint64_t seed;
    uint32_t faults_off;                     // bits of enum sim_fault
    uint64_t until_ns;                       // 0: to the end
    uint64_t conns_off[SIM_CONNS_MAX / 64];  // connections that are not opened
    const char *trace;                       // pcapng, or NULL
    bool verbose;
};

// Kinds of segments, as the state table's rows meet them.
enum sim_kind {
    KIND_SYN,
    KIND_SYN_ACK,
    KIND_RST_EXACT,
    KIND_RST_NEAR,
    KIND_RST_FAR,
    KIND_NO_ACK,
    KIND_ACK_OLD,
    KIND_ACK_SAME,
    KIND_ACK_NEW,
    KIND_ACK_UNSENT,
    KIND_DATA_OLD,
    KIND_DATA_OVERLAP,
    KIND_DATA_NEXT,
    KIND_DATA_AHEAD,
    KIND_DATA_BEYOND,
    KIND_FIN_NEXT,
    KIND_FIN_AHEAD,
    KIND_FIN_OLD,
    KIND_COUNT,
};

// Beside the states of a block: a listener, half-open and TIME-WAIT records.
enum { COVER_LISTEN = TCP_STATE_COUNT, COVER_SYN_RECORD, COVER_TW_RECORD, COVER_STATES };

// What recovery from losses came to, by the counters of the stacks: all of it has to happen.
#define COVER_RECOVERY(X)                                                                          \
    X(fast_retransmits)                                                                            \
    X(sack_recoveries)                                                                             \
    X(recovery_failures)                                                                           \
    X(sack_reorders)                                                                               \
    X(flight_logs_missed)                                                                          \
    X(rack_timeouts)                                                                               \
    X(loss_probes)                                                                                 \
    X(loss_probe_recoveries)                                                                       \
    X(spurious_rtos)                                                                               \
    X(partial_undos)                                                                               \
    X(dsack_undos)                                                                                 \
    X(loss_undos)

enum {
#define X(name) COVER_##name,
    COVER_RECOVERY(X)
#undef X
        COVER_RECOVERY_COUNT
};

struct sim_cover {
    uint64_t step[TCP_STATE_COUNT][STEP_COUNT];
    uint64_t kind[COVER_STATES][KIND_COUNT];
    uint64_t fault[FAULT_COUNT];
    uint64_t closes[6];  // by enum c10m_close
    uint64_t drops[DROP_COUNT];
    uint64_t orphans;  // connections that their application closed and heard of no more
    uint64_t ghosts;   // connections made of old ACKs by SYN cookies
    uint64_t recovery[COVER_RECOVERY_COUNT];
};

// sim_result: of one seed, in memory that the runner shares with its children.
struct sim_result {
    bool done;
    char message[512];
    uint64_t hash;       // over all frames, when they were sent and what became of them
    uint64_t delivered;  // segments that ended in a connection
    uint64_t frames;
    uint64_t virtual_ns, wall_ns;
    uint32_t conns, conns_opened;
    struct sim_cover cover;
};

extern struct sim_cover sim_cover;  // of the process

// How a side of a connection behaves.
enum sim_send { SEND_ALL, SEND_ROUNDS, SEND_TRICKLE };
enum sim_close { CLOSE_SENT, CLOSE_END, CLOSE_HOLD };

struct sim_side {
    // The plan.
    uint64_t to_send;
    uint64_t abort_at;  // bytes sent and received; UINT64_MAX: never
    uint32_t chunk;     // bytes of a call
    uint32_t round_in, round_out;
    uint32_t trickle_ms;
    uint32_t take_max;     // bytes consumed at once; 0: all
    uint32_t pause_ms;     // after what was taken; 0: never
    uint32_t pause_bytes;  // as often
    uint32_t life_ms;      // then it aborts; 0: never
    uint32_t keepalive_ms;
    uint8_t send, close;  // enum sim_send, sim_close
    bool by_ref, nodelay, pause_early;
    // What happened.
    uint8_t host;
    bool active, opened, ended, shut, closed, aborting, paused, dead;
    uint8_t why;
    uint32_t block;
    uint32_t base;  // of its bytes in the pattern
    uint64_t sent, received;
    uint64_t taken_since_pause, ticks;
    uint64_t opened_us, wake_us;  // in the host's time
};

struct sim_conn {
    struct sim_side side[2];  // the active one first; both are with `simultaneous`
    uint64_t start_ns;        // UINT64_MAX: opened by the application of `parent`
    uint32_t then;            // a connection that its passive side opens in turn; UINT32_MAX: none
    uint16_t port;            // that it is opened to
    bool simultaneous, started, failed;
    uint64_t key;
};

struct sim_link_plan {
    uint32_t mbit_per_s;  // 0: no limit
    uint32_t delay_ns, queue_ns, jitter_ns;
    uint32_t ppm[FAULT_COUNT];
    uint32_t burst_enter_ppm, burst_leave_ppm;
    uint32_t late_ns;  // how late a frame is that was held back
    uint16_t mtu;
    uint32_t mtu_from_ms;  // since when
    unsigned n_outages;
    struct {
        uint64_t from_ns, to_ns;
    } outages[SIM_OUTAGES_MAX];
};

struct sim_host_plan {
    struct tcp_config tcp;
    uint16_t mtu;
    uint32_t caps;
    uint32_t connections, buffers, extensions, flight_logs, syn_received, time_wait;
    uint32_t rcv_limit, snd_limit;
    uint32_t rcv_initial, snd_initial;
    uint8_t congestion;
    uint32_t keepalive_ms, keepalive_interval_ms, keepalive_probes, user_timeout_ms;
    uint32_t gap_ns;  // of two turns
    uint32_t stall_ppm, stall_ns;
    uint32_t tx_full_ppm;
    uint32_t adopt_ppm;  // of its turns
    uint64_t clock_us;   // its clock at the start: around a wrap, often
    bool nodelay, statics, large;
    bool pulls;    // its application reads by itself
    uint8_t lies;  // bits of enum sim_lie
    uint32_t few_max;
};

struct sim_plan {
    const char *shape;
    bool forged;  // a link forges, or a peer lies
    bool v6;      // all of it over IPv6
    bool gentle;  // nothing that could end a connection before its application does
    unsigned n_hosts;
    struct sim_host_plan hosts[SIM_HOSTS_MAX];
    struct sim_link_plan links[SIM_HOSTS_MAX][SIM_HOSTS_MAX];
    uint64_t heal_ns;  // faults end
    uint64_t dead_ns;  // from here on the last host has no turn any more; UINT64_MAX: it lives
    uint32_t n_conns;
    struct sim_conn conns[SIM_CONNS_MAX];
};

// sim_addr: the address of a host; its last byte is the number plus one.
static inline struct ip_addr sim_addr(const struct sim_plan *p, unsigned host)
{
    const struct ip_addr v6 = {{0xfd, 0, 0x0c, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    struct ip_addr a = p->v6 ? v6 : ip_from_v4(0x0a000001);
    a.b[15] = (uint8_t)(host + 1);
    return a;
}

// sim_plan_is_jumbo: whether the hosts of this seed have an MTU of 9,000 bytes. Their links may
// have less.
bool sim_plan_is_jumbo(uint64_t seed);

// sim_plan_make: everything that is drawn before the first frame.
void sim_plan_make(struct sim_plan *p, uint64_t seed);

struct sim_frame {
    uint64_t at_ns, serial;
    struct pkt *p;
};

struct sim_link {
    const struct sim_link_plan *plan;
    struct rng rng[FAULT_COUNT];
    uint64_t busy_ns, last_ns;
    bool bad;  // in a burst of losses
    uint32_t head, tail;
    struct sim_frame fifo[SIM_FIFO];
};

// What a block was when it was looked at last, and in which turn that was.
struct sim_shadow {
    struct tcp_check_shadow numbers;
    uint64_t seen;
};

struct sim_world;

struct sim_host {
    struct sim_world *world;
    const struct sim_host_plan *plan;
    unsigned id;
    struct server server;
    struct worker *w;
    struct port port;
    struct rng rng;
    uint64_t last_ns, house_ns;
    uint64_t turns;
    uint32_t n_heap;
    struct sim_frame heap[SIM_HEAP];
    struct sim_shadow *shadows;
};

struct sim_world {
    const struct sim_options *o;
    struct sim_result *result;
    struct sim_plan *plan;
    struct pkt_pool *pool;
    uint64_t now_ns;
    uint64_t serial;
    uint64_t hash;
    uint32_t open_sides;  // opened or opening, and not closed
    uint32_t to_start, next_start;
    uint64_t last_event_ns;  // something opened or closed, or bytes came to an application
    uint32_t order[SIM_CONNS_MAX];
    uint32_t map[SIM_MAP];  // of keys to connections; UINT32_MAX: none
    bool died;
    struct sim_trace *trace;
    struct sim_host *hosts[SIM_HOSTS_MAX];
    struct sim_link links[SIM_HOSTS_MAX][SIM_HOSTS_MAX];
};

extern uint8_t sim_pattern[SIM_PATTERN + SIM_PATTERN_MORE];
extern struct sim_world *sim_world;  // of the process: one at a time

// sim_fail: what is wrong, into the result; the trace is written out; ends the process.
_Noreturn void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define SIM_CHECK(cond, ...)                                                                       \
    do {                                                                                           \
        if (unlikely(!(cond)))                                                                     \
            sim_fail(__VA_ARGS__);                                                                 \
    } while (0)

// sim_run_seed: a whole run; fills *result. pool: SIM_PACKETS packets, or SIM_JUMBO_PACKETS jumbo
// ones.
void sim_run_seed(const struct sim_options *o, struct pkt_pool *pool, struct sim_result *result);

// sim_host.c. sim_host_us: a host's own clock.
struct sim_host *sim_host_new(struct sim_world *w, unsigned id, struct rng *seeds);
void sim_host_free(struct sim_host *h);
uint64_t sim_host_us(const struct sim_host *h, uint64_t ns);
// sim_host_next: when it has to have a turn, UINT64_MAX: not on its own account.
uint64_t sim_host_next(const struct sim_host *h);
void sim_host_turn(struct sim_host *h);

// sim_wire.c: a frame leaves a host; the earliest that arrives at a host by now_ns.
void sim_wire_send(struct sim_world *w, unsigned from, struct pkt *p);
bool sim_wire_take(struct sim_world *w, unsigned to, struct pkt **p);
uint64_t sim_wire_next(const struct sim_world *w, unsigned to);
void sim_wire_drain(struct sim_world *w);
static inline bool sim_fault_on(const struct sim_world *w, enum sim_fault f)
{
    return !(w->o->faults_off >> f & 1) && w->now_ns < w->plan->heal_ns;
}

// sim_chance: with ppm parts of a million.
static inline bool sim_chance(struct rng *r, uint32_t ppm)
{
    return ppm != 0 && rng_below(r, 1000000) < ppm;
}

// sim_forge.c: a frame of somebody else about the connection of frame p, or a part of it again;
// NULL: nothing. They are copies.
struct pkt *sim_forge(struct sim_world *w, struct rng *r, const struct pkt *p);
struct pkt *sim_split(struct sim_world *w, struct rng *r, const struct pkt *p);
// sim_lie: the sender of p lies about one thing of `lies`. False: p has nothing of the kind.
bool sim_lie(struct rng *r, struct pkt *p, unsigned lies);
struct pkt *sim_too_big(struct sim_world *w, const struct pkt *p, uint16_t mtu);
struct pkt *sim_copy(struct sim_world *w, const struct pkt *p);
bool sim_mark_ce(struct pkt *p);

// sim_app.c
// sim_app_of: what runs on a host.
const struct c10m_app *sim_app_of(const struct sim_host_plan *h);
void sim_app_begin(struct sim_world *w);
bool sim_app_start(struct sim_world *w, uint32_t conn);
void sim_app_die(struct sim_world *w, unsigned host);
void sim_app_finish(const struct sim_world *w);
static inline bool sim_is_dead(const struct sim_world *w, unsigned host)
{
    return host + 1 == w->plan->n_hosts && w->now_ns >= w->plan->dead_ns;
}

// sim_adopt.c: everything in the memory of h's worker that finds or wakes connections is lost, and
// made anew from them.
void sim_adopt(struct sim_host *h);

// sim_check.c: after a turn; of everything; at the end, when nothing may be left.
void sim_check_turn(struct sim_host *h);
void sim_check_all(struct sim_host *h);
void sim_check_end(struct sim_host *h);
// sim_peer_block: the block at the other end of the connection of host h's block b, as long as both
// know each other; NULL: it is not there (yet, or any more).
const struct sim_side *sim_peer_side(const struct sim_host *h, const struct block *b);
const struct block *sim_peer_block(const struct sim_host *h, const struct block *b);

// sim_trace.c: pcapng, an interface a host; each frame as it was sent, with what became of it as a
// comment (NULL: nothing special), and as it was received.
struct sim_trace *sim_trace_open(const char *path, unsigned hosts);
void sim_trace_frame(struct sim_trace *t, uint64_t ns, unsigned host, bool received,
                     const struct pkt *p, const char *comment);
void sim_trace_close(struct sim_trace *t);
