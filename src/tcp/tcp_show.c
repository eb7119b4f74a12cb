// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_show.h"

#include <string.h>

#include "tcp/tcp_internal.h"

const char tcp_show_head4[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode                                                     \n";
const char tcp_show_head6[] =
    "  sl  local_address                         remote_address                        st tx_queue "
    "rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const char tcp_show_info_head[] =
    "worker service state local remote cwnd_bytes ssthresh_bytes srtt_us rttvar_us rto_ms "
    "mss_bytes "
    "snd_wnd_bytes rcv_wnd_bytes unacked_bytes unsent_bytes rcvq_bytes retransmits backoff flags\n";

// ---- values from copies of blocks

// left: milliseconds from now until at, 0 if that has passed.
static uint32_t left(uint32_t at_ms, uint32_t now_ms)
{
    return time_before(now_ms, at_ms) ? at_ms - now_ms : 0;
}

// distance: b - a of sequence numbers that may have been read at different moments.
static uint32_t distance(uint32_t a, uint32_t b)
{
    return seq_lt(a, b) ? b - a : 0;
}

// slow_deadline_of: the earliest slow deadline of the copy, 0 if there is none. The interval of
// probes is that of the service, because the copy does not tell whether the connection has its own.
static uint32_t slow_deadline_of(const struct tcp *t, const struct block *b)
{
    const struct tcp_service *sv = &t->services[b->service];
    uint32_t at = tcp_earlier(b->app_timer_at_ms, b->linger_at_ms);
    if (b->keepalive_ms != 0)
        at = tcp_earlier(at, deadline(b->last_rx_ms, b->probes == 0 ? b->keepalive_ms
                                                                    : sv->keepalive_interval_ms));
    return at;
}

static void timer_of(struct tcp_shown *s, const struct tcp *t, const struct block *b,
                     uint32_t now_ms)
{
    uint32_t at = slow_deadline_of(t, b);
    s->timer = at != 0 ? 2 : 0;
    if (b->rto_at_ms != 0) {
        at = b->rto_at_ms;
        s->timer = b->flags & BF_PROBE ? 4 : 1;
    }
    s->when_ms = s->timer != 0 ? left(at, now_ms) : 0;
}

static uint16_t opts_of(const struct block *b)
{
    return (uint16_t)((b->flags & BF_TS ? SHOW_TS : 0) | (b->agreed & BA_SACK ? SHOW_SACK : 0) |
                      (b->rcv_wscale != 0 ? SHOW_WSCALE : 0) | (b->agreed & BA_ECN ? SHOW_ECN : 0) |
                      (b->flags & BF_NODELAY ? SHOW_NODELAY : 0) |
                      (b->flags & BF_EXT ? SHOW_RECOVERY : 0));
}

void tcp_show_block(struct tcp_shown *s, const struct tcp *t, const struct block *b, uint32_t ix,
                    uint32_t now_ms)
{
    const uint32_t end = b->snd_end + ((b->flags & BF_FIN_QUEUED) != 0);
    *s = (struct tcp_shown){
        .remote = b->key.remote,
        .local_port = b->key.local_port,
        .remote_port = b->key.remote_port,
        .state = b->state,
        .backoff = b->backoff,
        .retries = b->retries,
        .probes = b->probes,
        .service = b->service,
        .unacked = distance(b->snd_una, b->snd_nxt),
        .unsent = distance(b->snd_nxt, end),
        .rcvq = b->rcvq_bytes,
        .cwnd = b->cwnd,
        .ssthresh = b->ssthresh,
        .srtt_us = b->srtt_us / 8,
        .rttvar_us = b->rttvar_us / 4,
        .rto_ms = tcp_rto_ms(t, b),
        .ato_ms = t->cfg.delayed_ack_ms,
        .snd_wnd = b->snd_wnd,
        .rcv_wnd = distance(b->rcv_nxt, b->rcv_adv),
        .mss = b->mss,
        .opts = opts_of(b),
        .id = flow_index(FLOW_BLOCK, ix),
    };
    timer_of(s, t, b, now_ms);
}

void tcp_show_syn(struct tcp_shown *s, const struct tcp *t, const struct syn_record *r, uint32_t ix,
                  uint32_t now_ms)
{
    const uint64_t rto_ms = (uint64_t)t->cfg.rto_initial_ms << MIN(r->retries, 20);
    *s = (struct tcp_shown){
        .remote = r->key.remote,
        .local_port = r->key.local_port,
        .remote_port = r->key.remote_port,
        .state = TCP_SYN_RECEIVED,
        .timer = 1,
        .when_ms = left(r->retry_at_ms, now_ms),
        .retries = r->retries,
        .backoff = r->retries,
        .service = r->service,
        .brief = true,
        .ssthresh = TCP_WINDOW_MAX,
        .rto_ms = (uint32_t)MIN(rto_ms, t->cfg.rto_max_ms),
        .snd_wnd = r->wnd,
        .mss = r->mss != 0 ? r->mss : tcp_default_mss(&r->key),
        .opts = (uint16_t)((r->opts & SEG_OPT_TS ? SHOW_TS : 0) |
                           (r->opts & SEG_OPT_SACK_PERM ? SHOW_SACK : 0) |
                           (r->opts & SEG_OPT_WSCALE ? SHOW_WSCALE : 0)),
        .id = flow_index(FLOW_SYN, ix),
    };
}

void tcp_show_time_wait(struct tcp_shown *s, const struct tcp *t, const struct time_wait6 *w6,
                        uint32_t ix, uint32_t now_ms)
{
    const struct time_wait *w = &w6->w;
    *s = (struct tcp_shown){
        .remote = time_wait_remote(w),
        .local_port = w->local_port,
        .remote_port = w->remote_port,
        .state = TCP_TIME_WAIT,
        .timer = 3,
        .when_ms = left(w->expires_ms, now_ms),
        .brief = true,
        .ssthresh = TCP_WINDOW_MAX,
        .rcv_wnd = w->wnd,
        .opts = w->has_ts ? SHOW_TS : 0,
        .id = flow_index(w->is_v6 ? FLOW_TIME_WAIT6 : FLOW_TIME_WAIT, ix),
    };
}

// ---- text

static char *put_digits(char *p, uint64_t v, int digits, const char hex[16])
{
    for (int i = digits - 1; i >= 0; i--)
        *p++ = hex[v >> 4 * i & 15];
    return p;
}

static char *put_hex(char *p, uint64_t v, int digits)
{
    return put_digits(p, v, digits, "0123456789ABCDEF");
}

// put_pointer: the field where Linux prints a pointer, in lower case.
static char *put_pointer(char *p, uint64_t v)
{
    return put_digits(p, v, 16, "0123456789abcdef");
}

// put_dec: right-aligned in `width` characters, or longer.
static char *put_dec(char *p, uint64_t v, int width)
{
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    for (; width > n; width--)
        *p++ = ' ';
    while (n != 0)
        *p++ = digits[--n];
    return p;
}

static char *put_text(char *p, const char *text)
{
    const size_t n = strlen(text);
    memcpy(p, text, n);
    return p + n;
}

// put_words: the address as 32-bit words in the byte order of this machine, as Linux prints it.
static char *put_words(char *p, const struct ip_addr *a, int first_byte, uint16_t port)
{
    for (int i = first_byte; i < 16; i += 4) {
        uint32_t word;
        memcpy(&word, a->b + i, sizeof(word));
        p = put_hex(p, word, 8);
    }
    *p++ = ':';
    p = put_hex(p, port, 4);
    *p++ = ' ';
    return p;
}

static uint32_t segments(const struct tcp_shown *s, uint32_t bytes)
{
    return s->mss == 0 ? 0 : MAX(bytes / s->mss, 1u);
}

// put_rest: the columns after the addresses, which both families have.
static char *put_rest(char *p, const struct tcp_shown *s)
{
    enum { MS_A_TICK = 10 };
    const uint64_t sending = s->brief ? 0 : (uint64_t)s->unacked + s->unsent;
    p = put_hex(p, s->state, 2);
    *p++ = ' ';
    p = put_hex(p, sending, 8);
    *p++ = ':';
    p = put_hex(p, s->rcvq, 8);
    *p++ = ' ';
    p = put_hex(p, s->timer, 2);
    *p++ = ':';
    p = put_hex(p, s->when_ms / MS_A_TICK, 8);
    *p++ = ' ';
    p = put_hex(p, s->retries, 8);
    p = put_dec(p, 0, 6);  // uid
    p = put_dec(p, s->probes, 9);
    p = put_text(p, " 0 1 ");  // inode, references
    p = put_pointer(p, (uint64_t)s->worker << 32 | s->id);
    if (s->brief)
        return p;
    *p++ = ' ';
    p = put_dec(p, s->rto_ms / MS_A_TICK, 0);
    *p++ = ' ';
    p = put_dec(p, s->ato_ms / MS_A_TICK, 0);
    p = put_text(p, " 0 ");
    p = put_dec(p, segments(s, s->cwnd), 0);
    if (s->state == TCP_LISTENS)
        return put_text(p, " 0");
    if (s->ssthresh >= TCP_WINDOW_MAX)
        return put_text(p, " -1");
    *p++ = ' ';
    return put_dec(p, segments(s, s->ssthresh), 0);
}

static size_t line(char *out, const struct tcp_shown *s, uint32_t sl, int first_byte)
{
    char *p = put_dec(out, sl, 4);
    p = put_text(p, ": ");
    p = put_words(p, &s->local, first_byte, s->local_port);
    p = put_words(p, &s->remote, first_byte, s->remote_port);
    return (size_t)(put_rest(p, s) - out);
}

size_t tcp_show_line4(char *out, const struct tcp_shown *s, uint32_t sl)
{
    size_t n = line(out, s, sl, 12);
    for (; n < TCP_SHOW4_BYTES - 1; n++)
        out[n] = ' ';
    out[n++] = '\n';
    return n;
}

size_t tcp_show_line6(char *out, const struct tcp_shown *s, uint32_t sl)
{
    const size_t n = line(out, s, sl, 0);
    out[n] = '\n';
    return n + 1;
}

static char *put_endpoint(char *p, const struct ip_addr *a, uint16_t port)
{
    char text[IP_TEXT_BYTES];
    const bool v4 = ip_is_v4(a);
    *p++ = ' ';
    if (!v4)
        *p++ = '[';
    p = put_text(p, ip_text(a, text));
    p = put_text(p, v4 ? ":" : "]:");
    return put_dec(p, port, 0);
}

static char *put_opts(char *p, uint16_t opts)
{
    static const char *const names[] = {"ts", "sack", "wscale", "ecn", "nodelay", "trouble"};
    char before = ' ';
    for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
        if (!(opts & 1u << i))
            continue;
        *p++ = before;
        p = put_text(p, names[i]);
        before = ',';
    }
    return before == ' ' ? put_text(p, " -") : p;
}

size_t tcp_show_info(char *out, const struct tcp_shown *s)
{
    const uint32_t behind[] = {s->srtt_us, s->rttvar_us, s->rto_ms,  s->mss,
                               s->snd_wnd, s->rcv_wnd,   s->unacked, s->unsent,
                               s->rcvq,    s->retries,   s->backoff};
    char *p = put_dec(out, s->worker, 0);
    *p++ = ' ';
    p = put_dec(p, s->service, 0);
    *p++ = ' ';
    p = put_text(p, tcp_state_name((enum tcp_state)s->state));
    p = put_endpoint(p, &s->local, s->local_port);
    p = put_endpoint(p, &s->remote, s->remote_port);
    *p++ = ' ';
    p = put_dec(p, s->cwnd, 0);
    *p++ = ' ';
    p = s->ssthresh >= TCP_WINDOW_MAX ? put_text(p, "-1") : put_dec(p, s->ssthresh, 0);
    for (unsigned i = 0; i < ARRAY_LEN(behind); i++) {
        *p++ = ' ';
        p = put_dec(p, behind[i], 0);
    }
    p = put_opts(p, s->opts);
    *p++ = '\n';
    return (size_t)(p - out);
}
