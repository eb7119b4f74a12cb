// SPDX-License-Identifier: BSD-3-Clause
#include "bench/feed.h"

#include <rte_cycles.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/rng.h"

enum {
    ETH_BYTES = 14,
    IP_BYTES = 20,
    TCP_BYTES = 20,
    AT_IP = ETH_BYTES,
    AT_TCP = AT_IP + IP_BYTES,
    AT_DATA = AT_TCP + TCP_BYTES,
    TCP_ACK = 0x10,
    TCP_PSH = 0x08,
};

enum conn_state { IDLE, ASKED };

struct conn {
    uint32_t snd_nxt, rcv_nxt;
    uint32_t state;
};

struct feed {
    struct feed_params p;
    struct conn *conns;
    uint32_t next;  // next connection with FEED_IN_TURN
    uint32_t *due;  // connections with an unacknowledged reply
    uint32_t due_count;
    struct rng rng;
    uint64_t sent;  // packets of all batches
    struct turn_loop_sums before;
    uint8_t header[AT_DATA];
    struct pkt *out[FEED_BATCH_MAX];
};

struct feed_conn feed_conn_at(const struct feed_params *p, uint32_t i)
{
    return (struct feed_conn){p->client_v4 + i / FEED_PORTS,
                              (uint16_t)(FEED_PORT_FIRST + i % FEED_PORTS)};
}

// Returns the one's complement sum of n bytes (RFC 1071), not folded.
static uint64_t sum_bytes(const uint8_t *p, size_t n, uint64_t sum)
{
    for (; n > 1; n -= 2, p += 2)
        sum += load_be16(p);
    return n == 0 ? sum : sum + ((uint32_t)*p << 8);
}

static uint16_t fold(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static uint64_t tcp_sum(const uint8_t *frame, uint32_t tcp_len)
{
    return sum_bytes(frame + AT_TCP, tcp_len, sum_bytes(frame + AT_IP + 12, 8, 6 + tcp_len));
}

static void make_header(struct feed *f)
{
    uint8_t *h = f->header;
    memcpy(h, f->p.server_mac.b, 6);
    memcpy(h + 6, f->p.port->mac.b, 6);
    store_be16(h + 12, 0x0800);
    h[AT_IP] = 0x45;
    store_be16(h + AT_IP + 6, 0x4000);  // do not fragment
    h[AT_IP + 8] = 64;
    h[AT_IP + 9] = 6;
    store_be32(h + AT_IP + 16, f->p.server_v4);
    store_be16(h + AT_TCP + 2, f->p.server_port);
    h[AT_TCP + 12] = (TCP_BYTES / 4) << 4;
    store_be16(h + AT_TCP + 14, 65535);
}

// The payload consists of repetitions of the mark.
static uint64_t mark_of(uint32_t conn, uint32_t seq)
{
    return ((uint64_t)conn << 32 | seq) * 0x9e3779b97f4a7c15ull;
}

static void fill(uint8_t *data, uint32_t n, uint64_t mark)
{
    uint32_t at = 0;
    for (; at + 8 <= n; at += 8)
        memcpy(data + at, &mark, 8);
    memcpy(data + at, &mark, n - at);
}

static void put_frame(struct feed *f, struct pkt *pkt, uint32_t i, uint32_t payload)
{
    struct conn *c = &f->conns[i];
    struct feed_conn addr = feed_conn_at(&f->p, i);
    uint8_t *h = pkt_data(pkt);
    memcpy(h, f->header, AT_DATA);
    store_be16(h + AT_IP + 2, (uint16_t)(IP_BYTES + TCP_BYTES + payload));
    store_be32(h + AT_IP + 12, addr.remote_v4);
    store_be16(h + AT_IP + 10, fold(sum_bytes(h + AT_IP, IP_BYTES, 0)));
    store_be16(h + AT_TCP, addr.remote_port);
    store_be32(h + AT_TCP + 4, c->snd_nxt);
    store_be32(h + AT_TCP + 8, c->rcv_nxt);
    h[AT_TCP + 13] = payload ? TCP_ACK | TCP_PSH : TCP_ACK;
    fill(h + AT_DATA, payload, mark_of(i, c->snd_nxt));
    store_be16(h + AT_TCP + 16, fold(tcp_sum(h, TCP_BYTES + payload)));
    pkt_set_len(pkt, AT_DATA + payload);
    c->snd_nxt += payload;
}

static uint32_t choose(struct feed *f)
{
    for (;;) {
        uint32_t i = f->next;
        if (f->p.order == FEED_RANDOM)
            i = rng_below(&f->rng, f->p.connections);
        else
            f->next = (i + 1) % f->p.connections;
        if (f->conns[i].state == IDLE)
            return i;
    }
}

// Builds a batch, in which ACKs and requests alternate as long as ACKs are due. Returns the number
// of requests.
static uint32_t build(struct feed *f)
{
    uint32_t requests = f->p.batch / 2, n = 0;
    for (uint32_t i = 0; i < requests; i++) {
        if (i < f->due_count) {
            put_frame(f, f->out[n++], f->due[i], 0);
            f->conns[f->due[i]].state = IDLE;
        }
        uint32_t c = choose(f);
        f->conns[c].state = ASKED;
        put_frame(f, f->out[n++], c, f->p.payload);
    }
    f->due_count = 0;
    return n;
}

// Sends n packets. They fit into the ring in one call after an idle turn of the server.
static int publish(struct feed *f, uint32_t n, struct err *err)
{
    struct port *p = f->p.port;
    uint64_t end = tsc_read() + FEED_TIMEOUT_S * rte_get_tsc_hz();
    uint32_t took = 0;
    while (took < n && tsc_read() < end)
        took += p->ops->tx_burst(p, f->p.queue, f->out + took, (uint16_t)(n - took));
    f->sent += took;
    if (took == n)
        return 0;
    pkt_free_bulk(f->out + took, n - took);
    return err_set(err, "the server received %u of %u packets within %d s", took, n,
                   FEED_TIMEOUT_S);
}

static int check_reply(struct feed *f, const struct pkt *pkt, struct err *err)
{
    const uint8_t *h = pkt_data(pkt);
    uint32_t want = f->p.payload, len = pkt_len(pkt);
    if (len != AT_DATA + want || load_be16(h + 12) != 0x0800 || h[AT_IP] != 0x45 ||
        h[AT_IP + 9] != 6 || load_be16(h + AT_IP + 2) != IP_BYTES + TCP_BYTES + want)
        return err_set(err, "a reply of %u bytes is not a TCP segment of %u bytes", len, want);
    if (memcmp(h, f->p.port->mac.b, 6) != 0 || fold(sum_bytes(h + AT_IP, IP_BYTES, 0)) != 0)
        return err_set(err, "a reply with a wrong MAC address or IPv4 checksum");
    if (f->p.check_tcp_sum && fold(tcp_sum(h, TCP_BYTES + want)) != 0)
        return err_set(err, "a reply with a wrong TCP checksum");
    uint32_t host = load_be32(h + AT_IP + 16) - f->p.client_v4;
    uint32_t port = (uint32_t)load_be16(h + AT_TCP + 2) - FEED_PORT_FIRST;
    uint64_t i = (uint64_t)host * FEED_PORTS + port;
    if (port >= FEED_PORTS || i >= f->p.connections || f->conns[i].state != ASKED)
        return err_set(err, "a reply on a connection without a request");
    struct conn *c = &f->conns[i];
    if (load_be32(h + AT_TCP + 4) != c->rcv_nxt || load_be32(h + AT_TCP + 8) != c->snd_nxt)
        return err_set(err, "connection %u: seq %u ack %u, expected %u and %u", (unsigned)i,
                       load_be32(h + AT_TCP + 4), load_be32(h + AT_TCP + 8), c->rcv_nxt,
                       c->snd_nxt);
    uint8_t expected[FEED_PAYLOAD_MAX];
    fill(expected, want, mark_of((uint32_t)i, c->snd_nxt - want));
    if (memcmp(expected, h + AT_DATA, want) != 0)
        return err_set(err, "connection %u: the payload differs from the request", (unsigned)i);
    c->rcv_nxt += want;
    f->due[f->due_count++] = (uint32_t)i;
    return 0;
}

static int receive_replies(struct feed *f, uint32_t expected, struct err *err)
{
    struct port *p = f->p.port;
    uint32_t got = 0;
    int rc = 0;
    struct pkt *in[BURST_MAX];
    for (uint16_t n; (n = p->ops->rx_burst(p, f->p.queue, in, BURST_MAX)) != 0; got += n) {
        for (uint16_t i = 0; i < n && rc == 0; i++)
            rc = f->due_count < f->p.batch / 2 ? check_reply(f, in[i], err)
                                               : err_set(err, "more replies than requests");
        pkt_free_bulk(in, n);
    }
    if (rc == 0 && got != expected)
        return err_set(err, "%u replies to %u requests", got, expected);
    return rc;
}

int feed_begin(struct feed *f, struct err *err)
{
    const uint32_t n = f->p.batch / 2 + f->due_count;
    if (!pkt_alloc_bulk(f->p.pool, f->out, n))
        return err_set(err, "the client's pool has less than %u free packets", n);
    build(f);
    return publish(f, n, err);
}

int feed_end(struct feed *f, struct turn_loop_sums *did, struct err *err)
{
    if (!turn_loop_wait(f->p.server, f->sent, FEED_TIMEOUT_S))
        return err_set(err, "the server did not receive all of a batch within %d s",
                       FEED_TIMEOUT_S);
    const struct turn_loop_sums *now = &f->p.server->sums;
    did->packets = now->packets - f->before.packets;
    did->cycles = now->cycles - f->before.cycles;
    did->turns = now->turns - f->before.turns;
    f->before = *now;
    return receive_replies(f, f->p.batch / 2, err);
}

int feed_batch(struct feed *f, struct turn_loop_sums *did, struct err *err)
{
    return feed_begin(f, err) != 0 ? -1 : feed_end(f, did, err);
}

int feed_settle(struct feed *f, struct err *err)
{
    const uint32_t n = f->due_count;
    if (!pkt_alloc_bulk(f->p.pool, f->out, n))
        return err_set(err, "the client's pool has less than %u free packets", n);
    for (uint32_t i = 0; i < n; i++) {
        put_frame(f, f->out[i], f->due[i], 0);
        f->conns[f->due[i]].state = IDLE;
    }
    f->due_count = 0;
    if (publish(f, n, err) != 0)
        return -1;
    if (!turn_loop_wait(f->p.server, f->sent, FEED_TIMEOUT_S))
        return err_set(err, "the server did not receive all of %u packets within %d s", n,
                       FEED_TIMEOUT_S);
    f->before = f->p.server->sums;
    return 0;
}

struct feed *feed_new(const struct feed_params *params, struct err *err)
{
    if (params->payload < FEED_PAYLOAD_MIN || params->payload > FEED_PAYLOAD_MAX ||
        params->batch < 2 || params->batch % 2 != 0 || params->batch > FEED_BATCH_MAX ||
        params->batch > params->connections) {
        err_set(err, "payload %u (%d to %d), batch %u (even, 2 to %d, at most the %u connections)",
                params->payload, FEED_PAYLOAD_MIN, FEED_PAYLOAD_MAX, params->batch, FEED_BATCH_MAX,
                params->connections);
        return NULL;
    }
    struct feed *f = calloc(1, sizeof(*f));
    CHECK(f != NULL);
    f->p = *params;
    f->conns = malloc(params->connections * sizeof(f->conns[0]));
    f->due = malloc(params->batch / 2 * sizeof(f->due[0]));
    CHECK(f->conns != NULL && f->due != NULL);
    for (uint32_t i = 0; i < params->connections; i++)
        f->conns[i] = (struct conn){FEED_ISS + 1, FEED_ISS + 1, IDLE};
    f->rng.state = params->seed;
    f->before = params->server->sums;
    f->sent = f->before.packets;
    make_header(f);
    // Provides packets for the first replies.
    struct pkt *early;
    if (f->p.port->ops->rx_burst(f->p.port, f->p.queue, &early, 1) != 0)
        pkt_free(early);
    return f;
}

void feed_free(struct feed *f)
{
    if (f == NULL)
        return;
    free(f->conns);
    free(f->due);
    free(f);
}
