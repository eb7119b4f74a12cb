// SPDX-License-Identifier: BSD-3-Clause
// What an `expect` line may ask.
#include <errno.h>
#include <string.h>

#include "pkt_machine.h"

static bool equal(struct pkt_machine *m, const char *what, int64_t got)
{
    if (got == m->line->n[0])
        return true;
    return pkt_fail(m, "expected %s %lld, got %lld", what, (long long)m->line->n[0],
                    (long long)got);
}

static bool expect_data(struct pkt_machine *m, struct pkt_conn *c)
{
    const size_t len = (size_t)m->line->n[0], there = c->n_read - c->n_expected;
    const uint32_t payload = (uint32_t)m->line->n[1];
    if (there < len || (len == 0 && there != 0))
        return pkt_fail(m, "expected data %zu, got %zu", len, there);
    for (size_t i = 0; i < len; i++, c->n_expected++)
        if (c->read[c->n_expected] != pkt_byte((uint32_t)c->n_expected, payload))
            return pkt_fail(m, "expected data of payload %u, got another byte number %zu", payload,
                            c->n_expected);
    return true;
}

static bool expect_told(struct pkt_machine *m, unsigned *count)
{
    const char *what = m->line->word[0];
    if (*count == 0)
        return pkt_fail(m, "expected the application to be told: %s, got nothing", what);
    --*count;
    return true;
}

static const char *const reasons[] = {
    [C10M_CLOSED] = "CLOSED",           [C10M_RESET] = "RESET",
    [C10M_TIMED_OUT] = "TIMED_OUT",     [C10M_ABORTED] = "ABORTED",
    [C10M_UNREACHABLE] = "UNREACHABLE", [C10M_REFUSED] = "REFUSED",
};

static bool expect_close(struct pkt_machine *m, struct pkt_conn *c)
{
    if (!expect_told(m, &c->closed))
        return false;
    const char *got = c->why < ARRAY_LEN(reasons) ? reasons[c->why] : "?";
    return strcmp(got, m->line->word[1]) == 0 ||
           pkt_fail(m, "expected close %s, got close %s", m->line->word[1], got);
}

static const struct {
    const char *name;
    int error;
} errors[] = {{"ECONNRESET", ECONNRESET},     {"EPIPE", EPIPE},
              {"ETIMEDOUT", ETIMEDOUT},       {"ECONNREFUSED", ECONNREFUSED},
              {"EHOSTUNREACH", EHOSTUNREACH}, {"ENETUNREACH", ENETUNREACH},
              {"ENOPROTOOPT", ENOPROTOOPT},   {"EPROTO", EPROTO}};

int pkt_errno(const char *name)
{
    for (unsigned i = 0; i < ARRAY_LEN(errors); i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].error;
    return 0;
}

static bool expect_error(struct pkt_machine *m, const struct pkt_conn *c)
{
    const char *got = "none";
    for (unsigned i = 0; i < ARRAY_LEN(errors); i++)
        if (errors[i].error == c->error)
            got = errors[i].name;
    return strcmp(got, m->line->word[1]) == 0 ||
           pkt_fail(m, "expected error %s, got error %s", m->line->word[1], got);
}

static bool expect_state(struct pkt_machine *m, const struct pkt_conn *c)
{
    const struct tcp *t = &m->e.tcp;
    const uint32_t handle = tcp_owner(t, &c->key);
    const char *got = "NONE";
    if (handle != FLOW_NONE) {
        const uint32_t kind = flow_index_kind(handle);
        got = kind == FLOW_SYN ? "SYN_RECEIVED"
              : kind == FLOW_TIME_WAIT || kind == FLOW_TIME_WAIT6
                  ? "TIME_WAIT"
                  : tcp_state_name(t->blocks[flow_index_ix(handle)].state);
    }
    return strcmp(got, m->line->word[1]) == 0 ||
           pkt_fail(m, "expected state %s, got state %s", m->line->word[1], got);
}

static bool expect_counter(struct pkt_machine *m)
{
    const uint64_t *words = (const uint64_t *)&m->e.stats.c;
    for (unsigned i = 0; i < CORE_COUNTER_COUNT; i++)
        if (strcmp(stat_counter_names[i].name, m->line->word[1]) == 0)
            return equal(m, m->line->word[1], (int64_t)words[i]);
    return pkt_fail(m, "no counter is called '%s'", m->line->word[1]);
}

static bool expect_drop(struct pkt_machine *m)
{
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++)
        if (strcmp(stat_drop_names[i].name, m->line->word[1]) == 0)
            return equal(m, m->line->word[1], (int64_t)m->e.stats.drops[i]);
    return pkt_fail(m, "no drop reason is called '%s'", m->line->word[1]);
}

static bool expect_block(struct pkt_machine *m, const struct pkt_conn *c)
{
    const struct block *b = pkt_block(m);
    const char *name = m->line->word[1];
    if (b == NULL)
        return pkt_fail(m, "expected block %s, got no block", name);
    const struct {
        const char *name;
        int64_t value;
    } all[] = {
        {"cwnd", b->cwnd},
        {"ssthresh", b->ssthresh},
        {"mss", b->mss},
        {"backoff", b->backoff},
        {"dupacks", b->dupacks},
        {"retries", b->retries},
        {"snd_wnd", b->snd_wnd},
        {"snd_wscale", b->snd_wscale},
        {"rcv_wscale", b->rcv_wscale},
        {"srtt_us", b->srtt_us >> 3},
        {"rttvar_us", b->rttvar_us >> 2},
        {"rto_ms", tcp_rto_ms(&m->e.tcp, b)},
        {"ts_recent", b->ts_recent},
        {"timestamps", (b->flags & BF_TS) != 0},
        {"trouble", (b->flags & BF_EXT) != 0},
        {"snd_una", (int32_t)(b->snd_una - c->our_isn)},
        {"snd_nxt", (int32_t)(b->snd_nxt - c->our_isn)},
        {"snd_max", (int32_t)(b->snd_max - c->our_isn)},
        {"rcv_nxt", (int32_t)(b->rcv_nxt - c->peer_isn)},
        {"rcv_adv", (int32_t)(b->rcv_adv - c->peer_isn)},
    };
    for (unsigned i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i].name, name) == 0)
            return equal(m, name, all[i].value);
    return pkt_fail(m, "no field of the block is called '%s'", name);
}

static bool expect_bytes(struct pkt_machine *m)
{
    const struct block *b = pkt_block(m);
    const bool unread = strcmp(m->line->word[0], "unread") == 0;
    if (b == NULL)
        return pkt_fail(m, "expected %s bytes, got no block", m->line->word[0]);
    return equal(m, m->line->word[0], unread ? b->rcvq_bytes : b->snd_end - b->snd_una);
}

bool pkt_expect(struct pkt_machine *m)
{
    struct pkt_conn *c = &m->conns[m->conn];
    const char *what = m->line->word[0];
    if (strcmp(what, "data") == 0)
        return expect_data(m, c);
    if (strcmp(what, "open") == 0)
        return expect_told(m, &c->opened);
    if (strcmp(what, "end") == 0)
        return expect_told(m, &c->ended);
    if (strcmp(what, "writable") == 0)
        return expect_told(m, &c->writable);
    if (strcmp(what, "close") == 0)
        return expect_close(m, c);
    if (strcmp(what, "state") == 0)
        return expect_state(m, c);
    if (strcmp(what, "counter") == 0)
        return expect_counter(m);
    if (strcmp(what, "drop") == 0)
        return expect_drop(m);
    if (strcmp(what, "error") == 0)
        return expect_error(m, c);
    if (strcmp(what, "block") == 0)
        return expect_block(m, c);
    return expect_bytes(m);
}
