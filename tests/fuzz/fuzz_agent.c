// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as requests of three clients and events of the network between them, in virtual time,
// on two workers: every call ends when its client goes, nothing of a reset stays, and the workers
// never see a connection that they gave back.
#include <stdlib.h>
#include <string.h>

#include "app/agent/agent_server.h"
#include "app/apps.h"
#include "unit/fake_socket.h"

enum { CLIENTS = 3, WORKERS = 2, RING = 8, STEPS_MAX = 400, TURNS_MAX = 64 };

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond))                                                                               \
            abort();                                                                               \
    } while (0)

// input: what is left of it; zeros behind its end.
struct input {
    const uint8_t *at;
    size_t left;
};

static uint8_t byte(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static uint32_t word(struct input *in)
{
    const uint32_t low = byte(in);
    return low | (uint32_t)byte(in) << 8;
}

// Small numbers, and now and then one that is not.
static int64_t number(struct input *in)
{
    const uint8_t b = byte(in);
    switch (b >> 6) {
    case 0:
        return b & 0x3f;
    case 1:
        return word(in);
    case 2:
        return -(int64_t)(b & 0x3f);
    default:
        return (int64_t)((uint64_t)word(in) << (b & 0x3f));
    }
}

static void read_address(struct input *in, struct agent_request *r)
{
    static const uint8_t any4[16] = {2, 0, 0, 0};
    const uint8_t kind = byte(in);
    memset(r->addr, 0, sizeof(r->addr));
    memcpy(r->addr, any4, sizeof(any4));
    r->addr[3] = kind & 7;       // port
    r->addr[7] = kind >> 3 & 3;  // host: any, ours, a peer
    r->addr_bytes = 16;
    if (kind & 0x40) {
        r->addr[0] = 10;
        r->addr[23] = r->addr[7];
        r->addr[7] = 0;
        r->addr_bytes = 28;
    }
    if (kind & 0x80) {
        r->addr_bytes = byte(in) % (AGENT_ADDR_BYTES + 1);
        for (uint32_t i = 0; i < r->addr_bytes; i += 4)
            r->addr[i] = byte(in);
    }
}

static void read_request(struct input *in, struct agent_request *r)
{
    memset(r, 0, sizeof(*r));
    r->op = byte(in) % ((AGENT_OPS_END + 1));
    r->fd = (int8_t)byte(in) % 20;
    for (int i = 0; i < 3; i++)
        r->a[i] = number(in);
    if (r->op == AGENT_SOCKET) {  // most of the time one that there is
        r->a[0] = r->a[0] & 1 ? 10 : 2;
        r->a[1] = (r->a[1] & 3) == 3 ? r->a[1] : 1 + (r->a[1] & 1);
        r->a[2] = r->a[2] & 8 ? r->a[2] : 0;
    }
    read_address(in, r);
    r->data_bytes = word(in) % 600;
    if (r->op == AGENT_POLL && r->a[0] > 0 && r->a[0] < 20)
        r->data_bytes = (uint32_t)r->a[0] * 8;
    for (uint32_t i = 0; i < r->data_bytes; i++)
        r->data[i] = i < 64 ? byte(in) : (uint8_t)i;
}

static void turn(struct agent *a)
{
    for (int i = 0; i < TURNS_MAX; i++) {
        flush_posts(a);
        fake_turn();
        if (!receive_messages(a) && fake_posted() == 0)
            return;
    }
}

static void network(struct input *in)
{
    const uint8_t what = byte(in), which = byte(in);
    static const uint8_t bytes[1500];
    struct c10m_conn *c = fake_conn(which % 16);
    switch (what % 8) {
    case 0:
        fake_arrive(which % WORKERS, fake_listening_port(which / WORKERS));
        return;
    case 1:
        fake_datagram(which % WORKERS, which / WORKERS % 8, bytes, word(in) % sizeof(bytes));
        return;
    case 2:
        fake_datagram_error(which % WORKERS, which / WORKERS % 8, 111);
        return;
    default:
        break;
    }
    if (c == NULL)
        return;
    switch (what % 8) {
    case 3:
        fake_established(c);
        return;
    case 4:
        fake_data(c, bytes, 1 + word(in) % 1400);
        return;
    case 5:
        fake_fin(c);
        return;
    case 6:
        fake_lost_by(c, 104);
        return;
    default:
        fake_ack(c);
    }
}

static void request(struct agent *a, struct client *k, struct input *in)
{
    if (k->call.r != NULL)  // in a call
        return;
    read_request(in, k->in);
    MUST(request_is_valid(k->in, sizeof(*k->in) + k->in->data_bytes));
    k->call.r = k->in;
    call_start(a, &k->call);
    if (k->call.r == NULL)
        MUST(k->out->data_bytes <= AGENT_DATA_BYTES_MAX);
}

static void go(struct agent *a, struct client *k)
{
    call_cancel(a, &k->call);
    for (int i = 0; i < TURNS_MAX && !call_over(&k->call); i++) {
        turn(a);
        run_deadlines(a);
    }
    MUST(call_over(&k->call));
    k->call.gone = false;
}

static void play(struct agent *a, struct client *clients[CLIENTS], struct input *in)
{
    for (int i = 0; i < STEPS_MAX && in->left != 0; i++) {
        const uint8_t what = byte(in);
        if (what < 0x60 && a->resetter == NULL)
            request(a, clients[what % CLIENTS], in);
        else if (what < 0xb0)
            network(in);
        else if (what < 0xe0)
            turn(a);
        else if (what < 0xf0)
            a->now_us += (uint64_t)byte(in) * 100000;
        else if (what < 0xf8)
            go(a, clients[what % CLIENTS]);
        run_deadlines(a);
    }
}

// A reset by a new client: afterwards there is nothing.
static void reset(struct agent *a)
{
    struct client *k = client_new(a, -1);
    const unsigned before = fake_forgotten();
    MUST(k != NULL);
    memset(k->in, 0, sizeof(*k->in));
    k->in->op = AGENT_RESET;
    k->call.r = k->in;
    call_start(a, &k->call);
    for (int i = 0; i < TURNS_MAX && !call_over(&k->call); i++)
        turn(a);
    MUST(call_over(&k->call) && k->out->ret == 0);
    turn(a);
    MUST(fake_forgotten() - before == WORKERS);
    MUST(fake_listeners() == 0 && fake_udp_ports() == 0);
    for (unsigned i = 0; i < FAKE_CONNS_MAX; i++)
        MUST(fake_conn(i) == NULL);
    client_free(k);
}

// One agent for all inputs: each finds it as the reset behind the one before left it.
static struct agent *the_agent(struct client *clients[CLIENTS])
{
    char err[128];
    struct c10m_service *s = fake_start(&app_agent, WORKERS, RING);
    struct agent *a = agent_new(s, err, sizeof(err));
    MUST(a != NULL);
    c10m_service_set_data(s, a);
    for (int i = 0; i < CLIENTS; i++)
        MUST((clients[i] = client_new(a, -1)) != NULL);
    return a;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct agent *a;
    static struct client *clients[CLIENTS];
    struct input in = {data, len};
    if (a == NULL)
        a = the_agent(clients);
    a->fixed_random = 1;
    a->now_us = 0;
    play(a, clients, &in);
    for (int i = 0; i < CLIENTS; i++)
        go(a, clients[i]);
    turn(a);
    reset(a);
    MUST(a->n_lent == 0 && a->all == NULL && a->bound == NULL && a->first_blocked == NULL &&
         a->n_listening == 0);
    return 0;
}
