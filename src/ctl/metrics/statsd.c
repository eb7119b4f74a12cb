// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/metrics/statsd.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl/metrics/statsd_passing.h"

// sent: a counter's value that is in the datagram.
struct sent {
    uint32_t at;
    double value;
};

struct statsd {
    struct metric_sink sink;  // first: the sink is the pusher
    struct statsd_params p;
    struct ctl_loop *loop;
    int fd, timer_fd;  // -1: none
    uint64_t chance;
    // Counters in the order of metrics_visit, which never changes: what was sent of each.
    double *before;
    uint32_t n, room;
    struct statsd_passing passing;
    bool first;  // the first reading: what was before the start is not sent
    char datagram[STATSD_DATAGRAM_BYTES];
    size_t len;
    struct sent in[STATSD_LINES_MAX];
    unsigned n_in;
    struct statsd_counts counts;
};

static void flush(struct statsd *s)
{
    if (s->len == 0)
        return;
    if (send(s->fd, s->datagram, s->len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)s->len) {
        s->counts.datagrams++;
        for (unsigned i = 0; i < s->n_in; i++)
            s->before[s->in[i].at] = s->in[i].value;
    } else
        s->counts.failed++;
    s->len = 0;
    s->n_in = 0;
}

// append: one line more, in the next datagram if there is no room in this one.
static bool append(struct statsd *s, const char *line, size_t n)
{
    if (n > STATSD_DATAGRAM_BYTES) {
        s->counts.too_long++;
        return false;
    }
    if (s->len + (s->len > 0) + n > STATSD_DATAGRAM_BYTES || s->n_in == STATSD_LINES_MAX)
        flush(s);
    if (s->len > 0)
        s->datagram[s->len++] = '\n';
    memcpy(s->datagram + s->len, line, n);
    s->len += n;
    s->counts.lines++;
    return true;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

static void name_of(const struct statsd *s, const struct metric_sample *m, struct text *out)
{
    const char *family = m->metric->name;
    const size_t skip = strncmp(family, "c10m_", 5) == 0 ? 5 : 0;
    size_t n = strlen(family + skip);
    if (n > 6 && strcmp(family + skip + n - 6, "_total") == 0)
        n -= 6;
    text_printf(out, "%s.%.*s", s->p.prefix, (int)n, family + skip);
    for (unsigned i = 0; i < m->n_labels; i++) {
        text_put(out, ".", 1);
        for (const char *c = m->labels[i].value; *c != '\0'; c++)
            text_put(out, is_plain(*c) ? c : "_", 1);
    }
}

static double number(const struct metric_value *v)
{
    return v->is_real ? v->real : (double)v->n;
}

// chosen: xorshift64*: one of a million.
static bool chosen(struct statsd *s)
{
    s->chance ^= s->chance >> 12;
    s->chance ^= s->chance << 25;
    s->chance ^= s->chance >> 27;
    return (s->chance * 0x2545f4914f6cdd1d >> 32) % 1000000 < s->p.rate_ppm;
}

static void value_put(struct text *out, const struct metric_value *v, double value)
{
    if (v->is_real)
        text_printf(out, ":%.6f|", value);
    else
        text_printf(out, ":%.0f|", value);
}

// counter_at: the place of the next counter; NULL: no memory, it is left out.
static double *counter_at(struct statsd *s, uint32_t *at)
{
    *at = s->n;
    if (s->n == s->room) {
        const uint32_t room = s->room == 0 ? 1024 : 2 * s->room;
        double *more = reallocarray(s->before, room, sizeof(*more));
        if (more == NULL)
            return NULL;
        memset(more + s->room, 0, (room - s->room) * sizeof(*more));
        s->before = more;
        s->room = room;
    }
    return &s->before[s->n++];
}

static void counter(struct statsd *s, const struct metric_sample *m, struct text *line)
{
    uint32_t at;
    double *before = counter_at(s, &at);
    const double value = number(&m->value);
    if (before == NULL)
        return;
    const double grown = value < *before ? value : value - *before;  // less: it was reset
    if (s->first || grown == 0 || !chosen(s)) {
        *before = value;
        return;
    }
    name_of(s, m, line);
    value_put(line, &m->value, grown);
    text_put(line, "c", 1);
    if (s->p.rate_ppm < 1000000)
        text_printf(line, "|@%g", s->p.rate_ppm / 1e6);
    if (line->error == 0 && append(s, line->data, line->len))
        s->in[s->n_in++] = (struct sent){at, value};
}

static void gauge(struct statsd *s, const struct metric_sample *m, struct text *line)
{
    if (s->first)
        return;
    name_of(s, m, line);
    if (m->metric->type == METRIC_PASSING && line->error == 0)
        statsd_passing_see(&s->passing, text_str(line));
    value_put(line, &m->value, number(&m->value));
    text_put(line, "g", 1);
    if (line->error == 0)
        append(s, line->data, line->len);
}

static void on_sample(struct metric_sink *to, const struct metric_sample *m)
{
    struct statsd *s = (struct statsd *)to;
    struct text line;
    text_init(&line, STATSD_NAME_BYTES + 64);
    if (m->metric->type == METRIC_COUNTER)
        counter(s, m, &line);
    else if (m->metric->type != METRIC_HISTOGRAM)
        gauge(s, m, &line);
    s->counts.too_long += line.error != 0;
    text_free(&line);
}

// gone: zeros for the samples that are not there any more.
static void gone(struct statsd *s)
{
    const char *name;
    for (uint32_t i = 0; (name = statsd_passing_next(&s->passing, &i)) != NULL;) {
        char line[STATSD_NAME_BYTES + 64];
        const int n = snprintf(line, sizeof(line), "%s:0|g", name);
        if (n > 0 && n < (int)sizeof(line))
            append(s, line, (size_t)n);
    }
}

void statsd_push(struct statsd *s)
{
    s->n = 0;
    s->p.visit(s->p.shown, &s->sink);
    gone(s);
    flush(s);
    s->first = false;
}

static void on_interval(void *arg, uint64_t periods)
{
    statsd_push(arg);
}

struct statsd_counts statsd_counts(const struct statsd *s)
{
    return s->counts;
}

int statsd_render(const struct statsd *s, struct text *out)
{
    char addr[IP_TEXT_BYTES];
    const struct statsd_counts *c = &s->counts;
    text_printf(out, ip_is_v4(&s->p.to.addr) ? "address %s:%u\n" : "address [%s]:%u\n",
                ip_text(&s->p.to.addr, addr), s->p.to.port);
    return text_printf(out,
                       "prefix %s\ninterval_ms %u\ndatagrams %" PRIu64 "\ndatagrams_failed %" PRIu64
                       "\nlines %" PRIu64 "\nlines_too_long %" PRIu64 "\n",
                       s->p.prefix, s->p.interval_ms, c->datagrams, c->failed, c->lines,
                       c->too_long);
}

static int connect_to(const struct conf_endpoint *to)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(to->port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = htons(to->port),
                             .sin_addr.s_addr = htonl(ip_to_v4(&to->addr))};
    const bool is_v4 = ip_is_v4(&to->addr);
    memcpy(&v6.sin6_addr, to->addr.b, sizeof(to->addr.b));
    const int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int rc = fd < 0  ? -1
                   : is_v4 ? connect(fd, (struct sockaddr *)&v4, sizeof(v4))
                           : connect(fd, (struct sockaddr *)&v6, sizeof(v6));
    if (rc == 0)
        return fd;
    const int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return -1;
}

struct statsd *statsd_start(struct ctl_loop *loop, const struct statsd_params *p, struct err *e)
{
    struct statsd *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        err_set(e, "statsd: no memory");
        return NULL;
    }
    s->sink.sample = on_sample;
    s->p = *p;
    s->loop = loop;
    s->first = true;
    s->chance = p->seed | 1;
    s->timer_fd = -1;
    s->fd = connect_to(&p->to);
    if (s->fd < 0)
        err_set(e, "statsd: %s", strerror(errno));
    else
        s->timer_fd = ctl_loop_timer(loop, p->interval_ms, on_interval, s, e);
    if (s->timer_fd >= 0) {
        statsd_push(s);
        return s;
    }
    statsd_stop(s);
    return NULL;
}

int statsd_change(struct statsd *s, uint32_t interval_ms, uint32_t rate_ppm, struct err *e)
{
    if (s == NULL)
        return 0;
    s->p.rate_ppm = rate_ppm;
    if (s->p.interval_ms == interval_ms)
        return 0;
    const int fd = ctl_loop_timer(s->loop, interval_ms, on_interval, s, e);
    if (fd < 0)
        return -1;
    ctl_loop_remove(s->loop, s->timer_fd);
    s->timer_fd = fd;
    s->p.interval_ms = interval_ms;
    return 0;
}

void statsd_stop(struct statsd *s)
{
    if (s == NULL)
        return;
    if (s->timer_fd >= 0)
        ctl_loop_remove(s->loop, s->timer_fd);
    if (s->fd >= 0)
        close(s->fd);
    statsd_passing_free(&s->passing);
    free(s->before);
    free(s);
}
