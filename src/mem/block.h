// SPDX-License-Identifier: BSD-3-Clause
// block.h: the connection block [TCB | socket | app]: four cache lines in hugepages, without
// pointers. An in-order segment touches lines 0 and 1, the application line 3. Line 2 is used for
// recovery, closing, and queues that are not drained at once.
//
//   line 0  identity and in-order receive   the look-up compares the key here
//   line 1  sending, RTT, deadlines         what a reply and its acknowledgment touch
//   line 2  socket, other TCP state         queues of unconsumed data, recovery, slow timers
//   line 3  application state
//
// One writer: the worker that owns the connection for its whole life.
#pragma once
#include "base/addr.h"
#include "base/base.h"
#include "base/seq.h"

#define BLOCK_NONE UINT32_MAX

// Value of key.zero, which is 0 in the key of every segment: the connection of this block is over,
// and another may use its addresses and ports (tcp_input.c).
#define BLOCK_HAS_NO_ENTRY 1
#define EXT_NONE           UINT32_MAX

enum block_flag {
    BF_TS = 1 << 0,             // timestamps agreed (RFC 7323)
    BF_ACK_NOW = 1 << 1,        // an ACK is due in this turn
    BF_ACK_DELAYED = 1 << 2,    // an ACK is due by delack_at_ms
    BF_DIRTY = 1 << 3,          // on the dirty list
    BF_FIN_QUEUED = 1 << 4,     // FIN follows the last queued byte (at snd_end)
    BF_EXT = 1 << 5,            // has an extension record (struct ext)
    BF_NODELAY = 1 << 6,        // no Nagle
    BF_PAUSED = 1 << 7,         // the application has paused receiving
    BF_WANT_WRITE = 1 << 8,     // a send was partial: the application gets `writable`
    BF_TIMED = 1 << 9,          // rtt_seq, rtt_us hold a running measurement (no timestamps)
    BF_IN_APP = 1 << 10,        // the application got `open` and must get `close`; is_orphan()
    BF_PEER_FIN = 1 << 11,      // all data up to the peer's FIN was passed on
    BF_END_TOLD = 1 << 12,      // and the application was told of the FIN
    BF_PROBE = 1 << 13,         // rto_at_ms is the persist timer (RFC 9293 3.8.6.1)
    BF_ABORT = 1 << 14,         // the application requested a RST
    BF_DELACK_ARMED = 1 << 15,  // delack_at_ms holds a deadline
    BF_HELD = BF_TIMED,         // free block: not in the pool yet (tcp/tcp_lane.h)
};

// What the handshake negotiated besides BF_TS, and the state that follows from it.
enum block_agreed {
    BA_SACK = 1 << 0,  // RFC 2018
    BA_ECN = 1 << 1,   // RFC 3168
    BA_ECE = 1 << 2,   // every ACK carries ECE until the peer's CWR
    BA_CWR = 1 << 3,   // the next new data carries CWR
    // recover is snd_max at the last window reduction by ECE, not by loss.
    BA_REDUCED = 1 << 4,
    BA_SHUT = 1 << 5,    // the window went to zero and has not opened since
    BA_WSCALE = 1 << 6,  // the peer offered window scaling, so our SYN-ACK does too
    BA_RESEND = 1 << 7,  // retransmit the oldest segment in this turn's output
};

struct block {
    // line 0
    struct flow_key key;
    uint32_t rcv_nxt;
    uint32_t rcv_adv;  // right edge of the announced window; never moves left
    uint32_t snd_una;
    uint32_t snd_nxt;
    uint32_t snd_wnd;       // bytes, scaled
    uint32_t ts_recent;     // RFC 7323 4.3
    uint32_t ts_recent_ms;  // when it was set; invalid after 24 days (RFC 7323 5.5)
    uint16_t flags;         // enum block_flag
    uint8_t state;          // enum tcp_state; written by tcp_set_state() alone
    union {
        struct {
            uint8_t service : 5;    // index of the service
            uint8_t rcv_grown : 3;  // how often the limit of the receive window was doubled
        };
        uint8_t window_class;  // both: index in tcp.rcv_limits
    };
    uint8_t snd_wscale;
    uint8_t rcv_wscale;
    uint16_t mss;         // payload bytes of a full segment, without options
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
        uint32_t echo_from_ms;  // with timestamps: what is in flight was sent since then
        uint32_t flight;        // with has_flight: the flight log (mem/flight.h)
    };
    uint32_t
        rtt_us;  // when the timed segment, or with timestamps or a log the last burst, was sent
    uint32_t rto_at_ms;  // deadline of retransmission or persist; 0: none
    // The block's three wheel entries (tcp_deadline.h). They outlive the connection.
    uint32_t wheel_xmit_ms;  // when the xmit entry expires; 0: there is none
    uint32_t wheel_slow_ms;  // the same of the slow entry
    uint32_t wheel_movable;  // place of the movable entry plus one; 0: there is none
    uint32_t rcvq_bytes;     // bytes received in order and not consumed
    uint8_t backoff;         // doublings of the RTO
    union {
        struct {
            uint8_t dupacks : 7;
            uint8_t has_flight : 1;
        };
        uint8_t dupacks_flight;  // both: one test for zero
    };
    uint8_t unacked_segs;  // data segments received since the last ACK left
    uint8_t agreed;        // enum block_agreed

    // line 2
    uint32_t ssthresh;
    uint32_t delack_at_ms;
    uint32_t snd_cur;               // hint: buffer that holds snd_nxt, or an earlier one
    uint32_t rcvq_head, rcvq_tail;  // unconsumed data
    uint32_t ext;                   // extension record; EXT_NONE
    uint32_t app_timer_at_ms;       // 0: none
    uint32_t linger_at_ms;          // FIN-WAIT-2 ends here; 0: none
    uint32_t keepalive_ms;          // idle time before a probe; 0: off
    uint32_t last_rx_ms;            // when the keepalive timer saw the peer last, or sent a probe
    uint32_t last_progress;         // tcp_progress() at that time
    // stuck_at_ms: when the data, window or probe that the timer runs for began to wait; 0: no
    // timeout yet. With keepalive probes in flight: since when the peer is silent.
    //
    // Between SYN and ESTABLISHED snd_una is our initial sequence number, snd_wl1 the peer's, and
    // rcv_nxt - 1 too, except with Fast Open.
    uint32_t stuck_at_ms;
    uint16_t oow_16ms;      // last answer to an unacceptable segment, in units of 16 ms
    uint8_t quickack_left;  // quick ACKs left, and QUICKACK_LATE (tcp_quick_ack.c)
    union {
        uint8_t probes;  // keepalive probes without answer
        uint8_t error;   // in CLOSED: errno of the connection, 0: none
    };
    uint16_t generation;      // counts the lives of this block
    uint8_t close_why : 3;    // enum c10m_close, for `close`
    uint8_t wnd_max_log : 5;  // log2 of the peer's largest window, rounded down
    uint8_t retries;          // retransmissions of the oldest segment
    uint32_t source : 31;     // place in the table of sources; 0: not counted
    uint32_t in_prefix : 1;   // counted with its prefix (flow/prefixes.h)
    uint32_t recover;         // RFC 6582: snd_max at the last loss, else below snd_una

    // line 3
    uint8_t app[64];
} CACHE_ALIGNED;

// is_orphan: whether the application has closed the connection (c10m_close) and TCP completes it
// alone.
static inline bool is_orphan(const struct block *b)
{
    return (b->flags & (BF_IN_APP | BF_FIN_QUEUED)) == BF_FIN_QUEUED;
}

// block_is_refused: the connection was not adopted (tcp/tcp_adopt.h), or its application closed it
// with bytes unread; it sends a RST, and then ends.
static inline bool block_is_refused(const struct block *b)
{
    return (b->flags & (BF_IN_APP | BF_ABORT)) == BF_ABORT;
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
    DUPACKS_MAX = 127,   // the count stops there
    EXT_HELD_MAX = 4,    // SACK blocks of one segment (RFC 2018 3)
    EXT_SACKED_MAX = 8,  // ranges of the scoreboard
};

enum cc_flag {
    CC_LIVE = 1 << 0,     // the other fields are valid, and the record is kept
    CC_HYSTART = 1 << 1,  // first slow start: `hystart` is valid, else `cubic`
    CC_CSS = 1 << 2,      // in conservative slow start
    CC_UNDO = 1 << 3,     // the last congestion event may be undone
    CC_PACED = 1 << 4,    // the wheel wakes the block when it may send again
};

// cubic: RFC 9438 4.1; bytes and milliseconds.
struct cubic {
    uint32_t w_max;        // at the last congestion event; 0: none since the last timeout
    uint32_t prior_w_max;  // at the one before
    uint32_t epoch_ms;     // begin of congestion avoidance; 0: not begun
    uint32_t k_ms;
    uint32_t w_est;
    uint16_t cwnd_frac, w_est_frac;  // fractions of a byte, in 2^-16
};

// hystart: RFC 9406 4.2.
struct hystart {
    uint32_t round_end;        // windowEnd
    uint32_t last_us, now_us;  // lastRoundMinRTT, currentRoundMinRTT; UINT32_MAX: infinity
    uint32_t baseline_us;      // cssBaselineMinRtt
    uint8_t samples, css_rounds;
};

// ext_cc: congestion control state besides cwnd and ssthresh (tcp/tcp_cc.h).
struct ext_cc {
    // Values before the last congestion event or at the end of the first slow start; 0: none yet.
    uint32_t prior_cwnd;
    uint32_t prior_ssthresh;
    uint32_t used_ms;     // when cwnd last limited sending
    uint32_t idle_at_ms;  // when the wheel checks for an idle time since; 0: never
    uint32_t pace_us;     // low half of the clock: earliest time of the next segment
    uint16_t flags;       // enum cc_flag
    uint16_t pace_at_ms;  // with CC_PACED: low half of when the wheel wakes the block,
                          // else how late the last wake-up was, in ms
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
    SOCKOPT_DEAF,  // received data is discarded: c10m_shut_read()
    SOCKOPT_COUNT,
};

enum sockopt_df { SOCKOPT_DF_OFF, SOCKOPT_DF_ON, SOCKOPT_DF_PROBE };  // as C10M_OPT_DF

// ext_sockopts: options of a connection that differ from its service's (tcp/tcp_sockopt.h). While
// any does, the record is kept.
struct ext_sockopts {
    uint16_t set;  // 1 << enum sockopt: valid here; others come from the service
    uint16_t mss;  // limit of the announced and of the used MSS
    uint32_t rcv_limit, snd_limit;
    uint32_t user_timeout_ms;
    uint32_t keepalive_interval_ms;
    uint32_t linger2_ms;  // UINT32_MAX: FIN-WAIT-2 is skipped
    uint32_t window_clamp;
    uint8_t keepalive_probes, syn_retries;
    uint8_t ttl, tos;
    uint8_t df;          // enum sockopt_df
    uint8_t congestion;  // enum c10m_congestion
    uint8_t soft_error;  // errno of a soft ICMP error; 0: none
    uint8_t pad;
    uint32_t total_retrans;  // retransmissions since the record exists
};

static_assert(SOCKOPT_COUNT <= 16, "bits of ext_sockopts.set");
static_assert(sizeof(struct ext_sockopts) == 40, "its part of the extension record");

enum undo_step {
    UNDO_NONE,
    UNDO_FAST,   // fast retransmit of the oldest segment
    UNDO_FIRST,  // its retransmission by timeout (RFC 5682 2.1, step 1)
    UNDO_NEW,    // new data was sent after its acknowledgment (step 2b)
};

// ext_undo: for a connection without a flight log (tcp/tcp_undo_plain.c).
struct ext_undo {
    uint32_t again_ms;  // when the oldest segment was retransmitted
    uint8_t step;       // enum undo_step
    uint8_t pad[3];
};

// ext_hold: for a connection with out-of-order data: its place in the list of such connections of
// its source (tcp/tcp_ooo.h). Records are linked by index plus one; 0: none.
struct ext_hold {
    uint32_t block;  // its block
    uint32_t older, younger;
    uint16_t source;  // the place of the source; valid in every record
    uint16_t pad;
};

// ext: the extension record of a connection in recovery, with out-of-order data or with its own
// options; released when it is no longer needed. Four lines: 20 bytes of queue, 4 x 8 of blocks to
// report, 12 of recovery, 8 x 8 of scoreboard, 48 of congestion control, 40 of options, 8 of undo,
// 16 of ext_hold. The 65,536 of a large server are 16 MB, 1.7 bytes for each of ten million
// connections.
struct ext {
    // Out-of-order data (tcp/tcp_ooo.h).
    uint32_t ooo_head;  // first page; BUF_NONE: none, ooo_runs and has_fin are not valid
    uint16_t ooo_runs;  // number of runs
    uint8_t has_fin;    // a FIN arrived beyond a gap, at fin_seq
    uint8_t n_held;
    uint32_t fin_seq;
    uint32_t ooo_table;                   // the buffer that describes the runs
    uint32_t ooo_bufs;                    // buffers in use, with the table
    struct seq_range held[EXT_HELD_MAX];  // runs to report, the most recently changed first

    // Recovery.
    uint8_t recovery;     // enum recovery
    uint8_t resend_head;  // RFC 6675 5 (4.3): retransmit the first segment regardless of pipe
    uint8_t n_sacked;
    uint8_t guessed;      // in this recovery a segment was resent without a SACK block beyond it
    uint32_t high_rxt;    // HighRxt of RFC 6675 2, plus one
    uint32_t rescue_rxt;  // RescueRxt, plus one
    // The scoreboard: ranges beyond snd_una that the peer has SACKed, in order of sequence numbers;
    // adjacent ranges are merged.
    struct seq_range sacked[EXT_SACKED_MAX];

    struct ext_cc cc;
    struct ext_sockopts sockopts;
    struct ext_undo undo;
    struct ext_hold hold;
} CACHE_ALIGNED;

static_assert(sizeof(struct ext) == 256, "lines of trouble");

// time_wait: the record of a connection in TIME-WAIT. [memory] time_wait records; one million
// closes a second for 60 s are 1.9 GB.
struct time_wait {
    uint32_t remote_v4;  // unless is_v6
    uint16_t remote_port, local_port;
    uint16_t local_ix;
    uint8_t live;
    uint8_t has_ts : 1, is_v6 : 1;
    uint8_t again : 1;  // its time was restarted: moves to the end of the ring when it expires
    uint32_t snd_nxt, rcv_nxt;
    uint32_t ts_recent;  // with has_ts
    uint32_t expires_ms;
    uint16_t wnd;          // field value of our segments
    uint16_t answered_ms;  // low bits: last answer to an empty segment or a SYN
};

static_assert(sizeof(struct time_wait) == 32, "two a line: the oldest lie in order");

// time_wait6: the record of an IPv6 connection, in a ring of its own ([memory] time_wait6).
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

// syn_record: a half-open connection (RFC 4987: no block before the handshake completes).
struct syn_record {
    struct flow_key key;
    union {
        uint32_t iss;
        uint32_t child;  // not live: the block made of it in this turn; BLOCK_NONE: none
    };
    uint32_t irs;
    uint32_t ts_recent;
    uint32_t retry_at_ms;
    uint32_t sent_us;  // when the last SYN-ACK was sent; valid if sends != 0
    uint16_t mss;      // as the peer sent it
    uint16_t wnd;      // the peer's field value
    uint8_t wscale;    // the peer's
    uint8_t opts;      // SEG_OPT_...: negotiated
    uint8_t service;
    uint8_t retries;
    uint8_t live;
    uint8_t sends;      // SYN-ACKs sent: 0, 1, or 2 for more than one
    bool ecn;           // negotiated (RFC 3168)
    uint8_t acked;      // the last ACK of the handshake came and was dropped
    uint32_t wheel_ms;  // when its wheel entry expires; outlives the connection; 0: none
    // Of a listener opened at run time (tcp_listen.h): its place plus one, and its life.
    uint16_t listen, listen_life;
} CACHE_ALIGNED;

static_assert(sizeof(struct syn_record) == 64, "one line for a half-open connection");
