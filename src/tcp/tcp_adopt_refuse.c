// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_adopt_refuse.h"

#include <string.h>

#include "tcp/tcp_block.h"
#include "tcp/tcp_fast_open.h"
#include "tcp/tcp_internal.h"

// ordered: the compiler keeps the order of stores, because the process may be killed between them.
static void ordered(void)
{
    __asm__ volatile("" ::: "memory");
}

// has_peer: whether the peer may take it for open. It may wait for bytes, and would send nothing by
// itself.
static bool has_peer(const struct block *b)
{
    enum {
        STATES = 1 << TCP_SYN_RECEIVED | 1 << TCP_ESTABLISHED | 1 << TCP_FIN_WAIT_1 |
                 1 << TCP_FIN_WAIT_2 | 1 << TCP_CLOSE_WAIT | 1 << TCP_LAST_ACK | 1 << TCP_CLOSING
    };
    return b->state < TCP_STATE_COUNT && (STATES >> b->state & 1) != 0 && b->key.zero == 0;
}

// strip: nothing of the connection stays but what a RST needs, and what says where it is counted
// and in which lists of its worker. Each byte is stored once, so that a process which ends
// meanwhile leaves the addresses and ports.
static void strip(struct block *b)
{
    const uint32_t max = b->snd_max, nxt = b->rcv_nxt;
    struct block bare = {.key = b->key,
                         .rcv_nxt = nxt,
                         .rcv_adv = nxt,
                         .snd_una = max,
                         .snd_nxt = max,
                         .snd_max = max,
                         .snd_end = max,
                         .flags = (uint16_t)(BF_ABORT | BF_PAUSED | (b->flags & BF_DIRTY)),
                         .state = TCP_ESTABLISHED,
                         .service = b->service,
                         .mss = TCP_MSS_MIN,
                         .dirty_next = b->dirty_next,
                         .snd_head = BUF_NONE,
                         .snd_tail = BUF_NONE,
                         .snd_cur = BUF_NONE,
                         .rcvq_head = BUF_NONE,
                         .rcvq_tail = BUF_NONE,
                         .ext = EXT_NONE,
                         .wheel_xmit_ms = b->wheel_xmit_ms,
                         .wheel_slow_ms = b->wheel_slow_ms,
                         .wheel_movable = b->wheel_movable,
                         .source = b->source,
                         .in_prefix = b->in_prefix,
                         .generation = b->generation};
    __asm__ volatile("" : "+m"(bare));  // it is another object than the block
    memcpy(b, &bare, sizeof(*b));
}

void tcp_adopt_forget(struct block *b)
{
    const uint16_t generation = b->generation;
    *b = (struct block){.generation = generation, .dirty_next = BLOCK_NONE};
}

void tcp_adopt_reset_soon(struct tcp *t, uint32_t ix)
{
    t->blocks[ix].app_timer_at_ms = deadline(t->now.ms, 1);  // for sock_event(), which sends it
    tcp_arm_slow(t, ix);
}

bool tcp_adopt_drop(struct block *b)
{
    const bool was = b->state != TCP_FREE && !block_is_refused(b);
    if (has_peer(b))
        strip(b);
    else
        tcp_adopt_forget(b);
    return was;
}

static void end_silently(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    if (b->state != TCP_CLOSED && b->state != TCP_TIME_WAIT)
        tcp_end(t, b, TCP_CLOSE_ABORTED);
    tcp_free(t, ix);
}

void tcp_adopt_refuse(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    const bool established = b->state == TCP_ESTABLISHED || b->state == TCP_CLOSE_WAIT;
    b->flags = (uint16_t)((b->flags & ~(BF_IN_APP | BF_WANT_WRITE | BF_FIN_QUEUED)) | BF_ABORT);
    ordered();  // from here on the next process refuses it, whatever else it finds
    if (!has_peer(b)) {
        end_silently(t, ix);
        return;
    }
    if (tcp_is_pending(b))
        tcp_fast_open_ended(t, b, false);
    t->stats->c.established_now += !established;
    tcp_block_give_back(t, b);
    strip(b);
    tcp_adopt_reset_soon(t, ix);
}
