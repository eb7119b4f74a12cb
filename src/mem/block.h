// SPDX-License-Identifier: BSD-3-Clause
// block.h: the connection block [TCB | socket | app]: four cache lines, placed in hugepages,
// without one pointer. The layout is the design: an in-order segment touches lines 0 and 1, the
// application line 3; line 2 is for trouble, closing and queues that did not drain at once.
//
//   line 0  identity and in-order receive   the look-up compares the key here
//   line 1  sending, RTT, deadlines         what a reply and its acknowledgement touch
//   line 2  socket, cold TCP                queues of unconsumed data, recovery, slow timers
//   line 3  application state
//
// One writer: the worker that owns the connection for life.
#pragma once
#include "base/addr.h"
#include "base/base.h"
#include "base/seq.h"

#define BLOCK_NONE UINT32_MAX

// In key.zero, which is 0 in every segment's: the block's connection is over, and another one may
// have its addresses and ports (tcp_input.c).
#define BLOCK_HAS_NO_ENTRY 1
#define EXT_NONE           UINT32_MAX

enum block_flag {
    BF_TS = 1 << 0,             // timestamps agreed (RFC 7323)
    BF_ACK_NOW = 1 << 1,        // an acknowledgement is due in this turn
    BF_ACK_DELAYED = 1 << 2,    // one is due by delack_at_ms
    BF_DIRTY = 1 << 3,          // on the dirty list
    BF_FIN_QUEUED = 1 << 4,     // FIN follows the last queued byte (at snd_end)
    BF_EXT = 1 << 5,            // has an extension record (struct ext)
    BF_NODELAY = 1 << 6,        // no Nagle
    BF_PAUSED = 1 << 7,         // the application takes no data for now
    BF_WANT_WRITE = 1 << 8,     // a send was cut short: the application is owed `writable`
    BF_TIMED = 1 << 9,          // rtt_seq, rtt_us hold a running measurement (no timestamps)
    BF_IN_APP = 1 << 10,        // the application has seen `open` and must see `close`; is_orphan()
    BF_PEER_FIN = 1 << 11,      // the peer's FIN, and all before it, was passed on
    BF_END_TOLD = 1 << 12,      // ... and the application was told
    BF_PROBE = 1 << 13,         // rto_at_ms is the persist timer (RFC 9293 3.8.6.1)
    BF_ABORT = 1 << 14,         // the application asked for RST
    BF_DELACK_ARMED = 1 << 15,  // delack_at_ms holds a deadline
    BF_HELD = BF_TIMED,         // of a free block: not in the pool yet (tcp/tcp_lane.h)
};

// What both sides agreed to in the handshake beside BF_TS, and what follows from it.
enum block_agreed {
    BA_SACK = 1 << 0,  // RFC 2018
    BA_ECN = 1 << 1,   // RFC 3168
    BA_ECE = 1 << 2,   // every acknowledgement carries ECE, until the peer's CWR
    BA_CWR = 1 << 3,   // the next new data carries CWR
    // recover is snd_max when an ECE, not a loss, lowered the window last.
    BA_REDUCED = 1 << 4,
    BA_SHUT = 1 << 5,    // the window has gone to zero, and was not opened again
    BA_WSCALE = 1 << 6,  // the peer's SYN offered window scaling: our SYN-ACK does, even by 0
    BA_RESEND = 1 << 7,  // the oldest segment leaves again when the turn's output comes
};

struct block {
    // line 0
    struct flow_key key;
    uint32_t rcv_nxt;
    uint32_t rcv_adv;  // right edge of the window that the peer was told; never moves left
    uint32_t snd_una;
    uint32_t snd_nxt;
    uint32_t snd_wnd;       // bytes, scaled
    uint32_t ts_recent;     // RFC 7323 4.3
    uint32_t ts_recent_ms;  // when it was set: it is void after 24 days (RFC 7323 5.5)
    uint16_t flags;         // enum block_flag
    uint8_t state;          // enum tcp_state; written by tcp_set_state() alone
    union {
        struct {
            uint8_t service : 5;    // index of the service
            uint8_t rcv_grown : 3;  // how often the receive window's limit was doubled
        };
        uint8_t window_class;  // both: the place in tcp.rcv_limits
    };
    uint8_t snd_wscale;
    uint8_t rcv_wscale;
    uint16_t mss;         // payload bytes of a full segment, options taken off
    uint32_t dirty_next;  // next of the dirty list; BLOCK_NONE: the last

    // line 1
    uint32_t snd_end;             // sequence number after the last queued byte
    uint32_t snd_max;             // highest sequence number sent, plus one
    uint32_t snd_head, snd_tail;  // send queue: buffers not yet acknowledged; BUF_NONE
    uint32_t snd_wl1;             // sequence number of the last window update
    uint32_t cwnd;                // bytes
    uint32_t srtt_us;             // smoothed RTT times 8 (RFC 6298); 0: none yet
    uint32_t rttvar_us;           // RTT variation times 4
    union {
        uint32_t rtt_seq;       // the timed segment
        uint32_t echo_from_ms;  // with timestamps: what is in flight left from then on
        uint32_t flight;        // with has_flight: the log of what is in flight (mem/flight.h)
    };
    uint32_t rtt_us;     // when the timed segment left; with timestamps or a log: the last burst
    uint32_t rto_at_ms;  // deadline of retransmission or persist; 0: none
    // The block's three entries of the wheel, which outlive the connection (tcp_deadline.h).
    uint32_t wheel_xmit_ms;  // when it wakes this block for an xmit deadline; 0: never
    uint32_t wheel_far_ms;   // the same for keepalive, FIN-WAIT-2, application
    uint32_t wheel_soon;     // place plus one of the entry for what comes sooner; 0: there is none
    uint32_t rcvq_bytes;     // bytes received in order and not consumed
    uint8_t backoff;         // doublings of the RTO
    union {
        struct {
            uint8_t dupacks : 7;
            uint8_t has_flight : 1;
        };
        uint8_t dupacks_flight;  // both: one test finds that there is neither
    };
    uint8_t unacked_segs;  // data segments received since the last ACK left
    uint8_t agreed;        // enum block_agreed

    // line 2
    uint32_t ssthresh;
    uint32_t delack_at_ms;
    uint32_t snd_cur;               // buffer that holds snd_nxt, or one before it: a hint
    uint32_t rcvq_head, rcvq_tail;  // unconsumed data
    uint32_t ext;                   // extension record; EXT_NONE
    uint32_t app_timer_at_ms;       // 0: none
    uint32_t linger_at_ms;          // FIN-WAIT-2 ends here; 0: none
    uint32_t keepalive_ms;          // idle time before a probe; 0: off
    uint32_t last_rx_ms;     // last sign of life seen by the keepalive timer, or its last probe
    uint32_t last_progress;  // tcp_progress() at that time
    // Between SYN and ESTABLISHED: our initial number is snd_una, the peer's snd_wl1, and rcv_nxt -
    // 1 but for Fast Open.
    // Since when what the timer runs for has waited; 0: no timeout yet. With keepalive probes out:
    // since when the peer is silent.
    uint32_t stuck_at_ms;
    uint16_t oow_16ms;  // when an unacceptable segment was answered last, in 16 ms
    uint8_t quick;      // segments to be acknowledged at once yet (tcp_quick_ack.c)
    union {
        uint8_t probes;  // keepalive probes without answer
        uint8_t error;   // in CLOSED: errno of its end, 0: none
    };
    uint16_t generation;      // counts the lives of this block
    uint8_t close_why : 3;    // enum c10m_close, told by `close`
    uint8_t wnd_max_log : 5;  // of the largest window of the peer that was seen, rounded down
    uint8_t retries;          // retransmissions of the oldest segment
    uint32_t source;          // place in the table of sources; 0: not counted there
    uint32_t recover;         // RFC 6582: snd_max when loss was seen last, else below snd_una

    // line 3
    uint8_t app[64];
} CACHE_ALIGNED;

// is_orphan: the application is done with it (c10m_close), and TCP brings it to its end alone.
static inline bool is_orphan(const struct block *b)
{
    return (b->flags & (BF_IN_APP | BF_FIN_QUEUED)) == BF_FIN_QUEUED;
}

static_assert(sizeof(struct block) == 256,
              "each more line costs 640 MB at ten million connections");
static_assert(offsetof(struct block, dirty_next) == 60, "line 0: identity and in-order receive");
static_assert(offsetof(struct block, snd_end) == 64, "line 1 begins with what a reply needs");
static_assert(offsetof(struct block, agreed) == 127, "line 1: sending and deadlines");
static_assert(offsetof(struct block, ssthresh) == 128, "line 2 is not touched in order");
static_assert(offsetof(struct block, app) == 192, "line 3 is the application's");

enum recovery {
    RECOVERY_NONE,
    RECOVERY_NEWRENO,  // RFC 6582
    RECOVERY_SACK,     // RFC 6675
};

enum {
    DUPACKS_MAX = 127,   // and no more are counted
    EXT_HELD_MAX = 4,    // what one segment can report (RFC 2018 3)
    EXT_SACKED_MAX = 8,  // gaps of one flight that are known
};

enum cc_flag {
    CC_LIVE = 1 << 0,     // the rest of the struct means something, and keeps the record
    CC_HYSTART = 1 << 1,  // in the first slow start: `hystart`; else `cubic`
    CC_CSS = 1 << 2,      // ... in its conservative part
    CC_UNDO = 1 << 3,     // the last congestion event may turn out to have been none
    CC_PACED = 1 << 4,    // the wheel wakes the block when the next segments may leave
};

// cubic: RFC 9438 4.1; bytes and milliseconds.
struct cubic {
    uint32_t w_max;        // of the last congestion event; 0: none since the last timeout
    uint32_t prior_w_max;  // the one before
    uint32_t epoch_ms;     // begin of this congestion avoidance; 0: it has not begun
    uint32_t k_ms;
    uint32_t w_est;
    uint16_t cwnd_frac, w_est_frac;  // of a byte, in 2^-16
};

// hystart: RFC 9406 4.2.
struct hystart {
    uint32_t round_end;        // windowEnd
    uint32_t last_us, now_us;  // lastRoundMinRTT, currentRoundMinRTT; UINT32_MAX: infinity
    uint32_t baseline_us;      // cssBaselineMinRtt
    uint8_t samples, css_rounds;
};

// ext_cc: what congestion control knows of a connection beyond cwnd and ssthresh (tcp/tcp_cc.h).
struct ext_cc {
    // Before the last congestion event, or at the end of the first slow start; 0: none yet.
    uint32_t prior_cwnd;
    uint32_t prior_ssthresh;
    uint32_t used_ms;     // when cwnd held something back last
    uint32_t idle_at_ms;  // when the wheel asks whether that was long ago; 0: it does not
    uint32_t pace_us;     // low half of the clock: the next segment may leave then
    uint16_t flags;       // enum cc_flag
    uint16_t pace_at_ms;  // with CC_PACED: low half of when the wheel wakes the block for them;
                          // else how late it did
    union {
        struct cubic cubic;
        struct hystart hystart;
    };
};

static_assert(sizeof(struct ext_cc) == 48, "its part of the extension record");

enum sockopt {  // bits of ext_sockopts.set
    SOCKOPT_RCV_LIMIT,
    SOCKOPT_SND_LIMIT,
    SOCKOPT_USER_TIMEOUT,
    SOCKOPT_KEEPALIVE_INTERVAL,
    SOCKOPT_KEEPALIVE_PROBES,
    SOCKOPT_LINGER2,
    SOCKOPT_WINDOW_CLAMP,
    SOCKOPT_MSS,
    SOCKOPT_SYN_RETRIES,
    SOCKOPT_TTL,
    SOCKOPT_TOS,
    SOCKOPT_DF,
    SOCKOPT_CORK,
    SOCKOPT_MORE,
    SOCKOPT_CONGESTION,
    SOCKOPT_DEAF,  // nothing is read any more: c10m_shut_read()
    SOCKOPT_COUNT,
};

enum sockopt_df { SOCKOPT_DF_OFF, SOCKOPT_DF_ON, SOCKOPT_DF_PROBE };  // as C10M_OPT_DF

// ext_sockopts: what of a connection differs from its service (tcp/tcp_sockopt.h); the record is
// kept while anything does.
struct ext_sockopts {
    uint16_t set;  // 1 << enum sockopt: these count, the others are the service's
    uint16_t mss;  // of what we announce, and send, at most
    uint32_t rcv_limit, snd_limit;
    uint32_t user_timeout_ms;
    uint32_t keepalive_interval_ms;
    uint32_t linger2_ms;  // UINT32_MAX: FIN-WAIT-2 ends as it begins
    uint32_t window_clamp;
    uint8_t keepalive_probes, syn_retries;
    uint8_t ttl, tos;
    uint8_t df;          // enum sockopt_df
    uint8_t congestion;  // enum c10m_congestion
    uint8_t soft_error;  // errno of an ICMP error about what is in flight; 0: none
    uint8_t pad;
    uint32_t total_retrans;  // segments sent again since there is the record
};

static_assert(SOCKOPT_COUNT <= 16, "bits of ext_sockopts.set");
static_assert(sizeof(struct ext_sockopts) == 40, "its part of the extension record");

enum undo_step {
    UNDO_NONE,
    UNDO_FAST,   // the oldest segment left again for duplicate acknowledgements
    UNDO_FIRST,  // or for a timeout (RFC 5682 2.1, step 1)
    UNDO_NEW,    // and new ones after its acknowledgement (step 2b)
};

// ext_undo: of a connection without a log of what is in flight (tcp/tcp_undo_plain.c).
struct ext_undo {
    uint32_t again_ms;  // when it left again
    uint8_t step;       // enum undo_step
    uint8_t pad[3];
};

// ext_hold: of a connection that holds data out of order: its place among those of its source that
// do (tcp/tcp_ooo.h). Extension records are named by their index plus one; 0: none.
struct ext_hold {
    uint32_t block;  // whose it is
    uint32_t older, younger;
    uint16_t source;  // the source's place, of every record
    uint16_t pad;
};

// ext: the extension record of a connection in trouble, or with options of its own; given back as
// soon as that is over. Four lines: 20 bytes of queue, 4 x 8 of blocks to report, 12 of recovery, 8
// x 8 of scoreboard, 48 of congestion control, 40 of options, 8 of undo, 16 of who holds data. The
// 65,536 of a large server are 16 MB, 1.7 bytes for each of ten million connections.
struct ext {
    // The data that came out of order (tcp/tcp_ooo.h).
    uint32_t ooo_head;  // its first page; BUF_NONE: there is none, and the next two mean nothing
    uint16_t ooo_runs;  // runs of it
    uint8_t has_fin;    // a FIN that arrived beyond a gap sits at fin_seq
    uint8_t n_held;
    uint32_t fin_seq;
    uint32_t ooo_table;                   // the buffer that describes the runs
    uint32_t ooo_bufs;                    // buffers that it takes, with the table
    struct seq_range held[EXT_HELD_MAX];  // runs of it, the most recently changed one first

    // What was sent and is not acknowledged.
    uint8_t recovery;     // enum recovery
    uint8_t resend_head;  // RFC 6675 5 (4.3) is due: the first segment again, whatever pipe says
    uint8_t n_sacked;
    uint8_t pad;
    uint32_t high_rxt;    // RFC 6675 2, plus one: sent again in this recovery up to here
    uint32_t rescue_rxt;  // RFC 6675 2, plus one
    // The scoreboard: what the peer has beyond snd_una, by sequence number, without one that
    // touches the next.
    struct seq_range sacked[EXT_SACKED_MAX];

    struct ext_cc cc;
    struct ext_sockopts sockopts;
    struct ext_undo undo;
    struct ext_hold hold;
} CACHE_ALIGNED;

static_assert(sizeof(struct ext) == 256, "lines of trouble");

// time_wait: what is left of a connection for 2 MSL. Capacity is [memory] time_wait; 1 M
// closes a second for 60 s are 1.9 GB of these.
struct time_wait {
    uint32_t remote_v4;  // unless is_v6
    uint16_t remote_port, local_port;
    uint16_t local_ix;
    uint8_t live;
    uint8_t has_ts : 1, is_v6 : 1;
    uint8_t again : 1;  // its time began again: to the young end of the ring, when it is the oldest
    uint32_t snd_nxt, rcv_nxt;
    uint32_t ts_recent;  // with has_ts
    uint32_t expires_ms;
    uint16_t wnd;          // as it goes out
    uint16_t answered_ms;  // low bits of when an empty segment or a SYN was answered last
};

static_assert(sizeof(struct time_wait) == 32, "two a line: the oldest lie in order");

// time_wait6: of a connection over IPv6, in a ring of its own ([memory] time_wait6).
struct time_wait6 {
    struct time_wait w;
    struct ip_addr remote;
    uint8_t pad[16];
} CACHE_ALIGNED;

static_assert(sizeof(struct time_wait6) == 64, "one line");

static inline struct ip_addr time_wait_remote(const struct time_wait *w)
{
    return w->is_v6 ? ((const struct time_wait6 *)(const void *)w)->remote
                    : ip_from_v4(w->remote_v4);
}

// syn_record: a half-open connection (RFC 4987: no block before the handshake is done).
struct syn_record {
    struct flow_key key;
    union {
        uint32_t iss;
        uint32_t child;  // not live: the block that it became in this turn; BLOCK_NONE: none
    };
    uint32_t irs;
    uint32_t ts_recent;
    uint32_t retry_at_ms;
    uint32_t sent_us;  // when the last SYN-ACK left, with sends
    uint16_t mss;      // as the peer sent it
    uint16_t wnd;      // the peer's, as sent
    uint8_t wscale;    // the peer's
    uint8_t opts;      // SEG_OPT_...: agreed
    uint8_t service;
    uint8_t retries;
    uint8_t live;
    uint8_t sends;      // SYN-ACKs sent: 0, 1, or 2 for more
    bool ecn;           // agreed (RFC 3168)
    uint8_t acked;      // the handshake's last ACK came, and was not taken
    uint32_t wheel_ms;  // when the wheel wakes this record; outlives the connection; 0: never
    // Of a listener that was opened while running (tcp_listen.h): its place plus one, its life.
    uint16_t listen, listen_life;
} CACHE_ALIGNED;

static_assert(sizeof(struct syn_record) == 64, "one line for a half-open connection");
