// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_shed.h"

enum { SHED_REST, SHED_COUNT, SHED_WATCH, SHED_WAIT, SHED_JUDGE, SHED_SHED };

enum { NOT_SLOW = UINT32_MAX };

// is_queued: whether data is queued in a connection that has not ended.
static bool is_queued(const struct block *b)
{
    return b->snd_head != BUF_NONE && b->state != TCP_FREE && b->state != TCP_CLOSED &&
           b->state != TCP_TIME_WAIT;
}

// queue_bufs: how many buffers b's send queue holds, without those for references. *looked grows by
// the number of buffers examined.
static uint32_t queue_bufs(const struct tcp *t, const struct block *b, uint32_t *looked)
{
    const struct buf *bufs = t->bufs.bufs;
    uint32_t ix = b->snd_head, n = 0, i = 0;
    for (; ix != BUF_NONE && i < TCP_SHED_QUEUE; ix = bufs[ix].next, i++)
        n += !buf_is_ref(&t->bufs, ix);
    *looked += i;
    if (likely(ix == BUF_NONE))
        return n;
    const uint32_t start = bufs[b->snd_head].seq, seen = bufs[ix].seq - start;
    return (uint32_t)((uint64_t)n * (b->snd_end - start) / MAX(seen, 1u));
}

static void note(struct tcp *t, const struct block *b, uint32_t bufs, uint16_t source)
{
    struct tcp_shed *s = &t->shed;
    if (bufs == 0 || s->bufs_of[source] < s->level)
        return;
    s->watched[s->n_watched++] = (struct shed_watch){
        .block = (uint32_t)(b - t->blocks),
        .held = (uint32_t)MIN((uint64_t)bufs * BUF_BYTES, b->snd_end - b->snd_una),
        .snd_una = b->snd_una,
        .bufs = bufs,
        .generation = b->generation,
        .source = source};
}

// look: examines block b, whose timer is armed. Returns how many buffers it examined.
static uint32_t look(struct tcp *t, const struct block *b)
{
    struct tcp_shed *s = &t->shed;
    uint32_t looked = 0;
    if (!is_queued(b))
        return 0;
    const uint32_t bufs = queue_bufs(t, b, &looked);
    const uint16_t source = tcp_source_place(t, &b->key.remote);
    if (s->step == SHED_WATCH) {
        note(t, b, bufs, source);
    } else {
        s->bufs_of[source] += bufs;
        s->most = MAX(s->most, s->bufs_of[source]);
    }
    return looked;
}

// round_slice: continues the round over all blocks. Returns whether the round is complete.
static bool round_slice(struct tcp *t)
{
    struct tcp_shed *s = &t->shed;
    const uint32_t all = t->block_pool->count;
    uint32_t blocks = 0, bufs = 0, words = 0;
    while (s->left != 0 && s->n_watched < TCP_SHED_WATCHED) {
        if (blocks == TCP_SHED_BLOCKS || bufs >= TCP_SHED_BUFS || words == TCP_SHED_WORDS)
            return false;
        if (s->at >= all)
            s->at = 0;
        const uint64_t word = t->xmit_runs[s->at / 64] >> s->at % 64;
        const uint32_t skip = word == 0 ? 64 - s->at % 64 : (uint32_t)__builtin_ctzll(word);
        const uint32_t n = MIN(skip, MIN(s->left, all - s->at));
        s->at += n;
        s->left -= n;
        words += word == 0;
        if (word == 0 || n != skip || s->left == 0)
            continue;
        bufs += look(t, &t->blocks[s->at++]);
        s->left--;
        blocks++;
    }
    return true;
}

static void round_begin(struct tcp *t, uint8_t step)
{
    t->shed.step = step;
    t->shed.left = t->block_pool->count;
    t->shed.n_watched = 0;
}

static void count_begin(struct tcp *t)
{
    struct tcp_shed *s = &t->shed;
    memset(s->bufs_of, 0, sizeof(s->bufs_of));
    s->most = 0;
    s->any_shed = false;
    round_begin(t, SHED_COUNT);
}

// watch_begin: the count is complete. If no send queue holds buffers, unread or out-of-order data
// does. No connection is reset for that.
static void watch_begin(struct tcp *t)
{
    struct tcp_shed *s = &t->shed;
    s->level = s->most >> s->halved;  // halved < 32, because there are fewer than 2^31 buffers
    if (s->level == 0) {
        s->halved = 0;
        s->step = SHED_REST;
        return;
    }
    round_begin(t, SHED_WATCH);
}

// drain_ms: how long a connection has to drain its queue. source_bufs: how many buffers its source
// holds.
static uint64_t drain_ms(const struct tcp *t, uint32_t source_bufs)
{
    const uint32_t share = MAX(t->bufs.data_count / TCP_SHED_SOURCE_SHARE, 1u);
    return (uint64_t)TCP_SHED_DRAIN_MS * share / MAX(share, source_bufs);
}

static void judge(struct tcp *t, struct shed_watch *w)
{
    struct tcp_shed *s = &t->shed;
    const struct block *b = &t->blocks[w->block];
    w->took = NOT_SLOW;
    if (b->generation != w->generation || !is_queued(b)) {
        s->bufs_of[w->source] -= MIN(w->bufs, s->bufs_of[w->source]);
        return;
    }
    const uint64_t acked = b->snd_una - w->snd_una, ms = t->now.ms - s->since_ms;
    if (acked * drain_ms(t, s->bufs_of[w->source]) < w->held * ms)
        w->took = (uint32_t)(acked * 4096 / MAX(w->held, 1u));
}

static void judge_slice(struct tcp *t)
{
    struct tcp_shed *s = &t->shed;
    for (uint32_t n = 0; n < TCP_SHED_BLOCKS; n++) {
        if (s->judged == s->n_watched) {
            s->step = SHED_SHED;
            return;
        }
        judge(t, &s->watched[s->judged++]);
    }
}

// is_before: whether a is reset before b. Compares first what their sources hold, then how much
// each has drained, then how much each holds.
static bool is_before(const struct tcp_shed *s, const struct shed_watch *a,
                      const struct shed_watch *b)
{
    const uint32_t of_a = s->bufs_of[a->source], of_b = s->bufs_of[b->source];
    if (of_a != of_b)
        return of_a > of_b;
    return a->took != b->took ? a->took < b->took : a->bufs > b->bufs;
}

static struct shed_watch *next_victim(struct tcp_shed *s)
{
    struct shed_watch *best = NULL;
    for (uint32_t i = 0; i < s->n_watched; i++) {
        struct shed_watch *w = &s->watched[i];
        if (w->took == NOT_SLOW || s->bufs_of[w->source] < (s->level + 1) / 2)
            continue;
        if (best == NULL || is_before(s, w, best))
            best = w;
    }
    return best;
}

// step_level: no watched connection is left to be reset. If none was reset, smaller sources are
// watched next time, else larger ones.
static void step_level(struct tcp *t)
{
    struct tcp_shed *s = &t->shed;
    if (!tcp_bufs_scarce(t, 0))
        s->halved = 0;
    else if (!s->any_shed)
        s->halved++;
    else if (s->halved != 0)
        s->halved--;
}

static bool is_pending(const struct tcp *t)
{
    const struct tcp_shed *s = &t->shed;
    return s->victim != 0 && t->blocks[s->victim - 1].generation == s->victim_generation &&
           is_queued(&t->blocks[s->victim - 1]) && t->now.ms - s->since_ms < TCP_SHED_LATE_MS;
}

static void shed_one(struct tcp *t)
{
    struct tcp_shed *s = &t->shed;
    if (is_pending(t))
        return;
    s->victim = 0;
    if (tcp_bufs_scarce(t, 0))
        tcp_ooo_relieve(t);  // drop out-of-order data first, because peers send it again
    struct shed_watch *w = tcp_bufs_scarce(t, 0) ? next_victim(s) : NULL;
    if (w == NULL) {
        step_level(t);
        s->step = SHED_REST;
        return;
    }
    struct block *b = &t->blocks[w->block];
    w->took = NOT_SLOW;
    s->bufs_of[w->source] -= MIN(w->bufs, s->bufs_of[w->source]);
    if (b->generation != w->generation || !is_queued(b))
        return;
    s->any_shed = true;
    s->victim = w->block + 1;
    s->victim_generation = w->generation;
    s->since_ms = t->now.ms;
    arm_movable(t, b, w->block, deadline(t->now.ms, 1));
}

void tcp_shed(struct tcp *t)
{
    struct tcp_shed *s = &t->shed;
    if (likely(s->step == SHED_REST && !tcp_bufs_scarce(t, 0)) || t->now.ms == s->slice_ms)
        return;
    s->slice_ms = t->now.ms;
    if (s->step == SHED_REST)
        count_begin(t);
    if (s->step == SHED_COUNT && round_slice(t)) {
        watch_begin(t);
    } else if (s->step == SHED_WATCH && round_slice(t)) {
        s->step = SHED_WAIT;
        s->since_ms = t->now.ms;
    } else if (s->step == SHED_WAIT && t->now.ms - s->since_ms >= TCP_SHED_WATCH_MS) {
        s->step = SHED_JUDGE;
        s->judged = 0;
    } else if (s->step == SHED_JUDGE) {
        judge_slice(t);
    } else if (s->step == SHED_SHED) {
        shed_one(t);
    }
}

uint32_t tcp_shed_next_ms(const struct tcp *t)
{
    const struct tcp_shed *s = &t->shed;
    if (s->step == SHED_REST && !tcp_bufs_scarce(t, 0))
        return 0;
    if (s->step == SHED_WAIT)
        return deadline(s->since_ms, TCP_SHED_WATCH_MS);
    return deadline(s->slice_ms, 1);
}

bool tcp_shed_confirm_victim(struct tcp *t, const struct block *b)
{
    struct tcp_shed *s = &t->shed;
    s->victim = 0;
    return b->generation == s->victim_generation && is_queued(b) && tcp_bufs_scarce(t, 0);
}
