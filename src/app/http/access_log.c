// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/access_log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/http/date.h"
#include "app/http/fields.h"

enum { BUFFER_BYTES = 65536 };
static_assert((int)BUFFER_BYTES > (int)HTTP_LOG_LINE_MAX, "an empty buffer has room for a line");

struct http_log {
    char path[PATH_MAX];
    int fd;
    bool combined;
    time_t looked_s;  // time of the last check of the path
    unsigned lines;   // in the buffer
    size_t n;
    char buffer[BUFFER_BYTES];
};

static uint16_t add_text(struct http_log_record *r, size_t at, struct http_text t, size_t max)
{
    size_t n = t.n < max ? t.n : max;
    if (n != 0)
        memcpy(r->texts + at, t.s, n);
    return (uint16_t)n;
}

// The text up to the end of the line, or all of it.
static struct http_text first_line(struct http_text head)
{
    while (head.n > 0 && (head.s[0] == '\r' || head.s[0] == '\n'))
        head.s++, head.n--;
    for (size_t i = 0; i < head.n && i < HTTP_LOG_REQUEST_MAX; i++)
        if (head.s[i] == '\r' || head.s[i] == '\n')
            return (struct http_text){head.s, i};
    return head;
}

void http_log_fill(struct http_log_record *r, const struct c10m_conn *c, struct http_text head,
                   struct http_text fields)
{
    struct http_text referer = {NULL, 0}, agent = {NULL, 0}, name, value;
    while (fields.n != 0 && http_field_next(&fields, &name, &value)) {
        if (name.n == 7 && http_text_is(name, "referer"))
            referer = value;
        else if (name.n == 10 && http_text_is(name, "user-agent"))
            agent = value;
    }
    c10m_peer(c, r->peer, NULL);
    r->request_bytes = add_text(r, 0, first_line(head), HTTP_LOG_REQUEST_MAX);
    r->referer_bytes = add_text(r, r->request_bytes, referer, HTTP_LOG_FIELD_MAX);
    r->agent_bytes = add_text(r, r->request_bytes + r->referer_bytes, agent, HTTP_LOG_FIELD_MAX);
}

size_t http_log_bytes(const struct http_log_record *r)
{
    return offsetof(struct http_log_record, texts) + r->request_bytes + r->referer_bytes +
           r->agent_bytes;
}

static char *put_peer(char *to, const uint8_t peer[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (memcmp(peer, mapped, sizeof(mapped)) == 0)
        inet_ntop(AF_INET, peer + 12, to, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, peer, to, INET6_ADDRSTRLEN);
    return to + strlen(to);
}

// "21/Nov/2026:07:33:54 +0000" from "Sat, 21 Nov 2026 07:33:54 GMT".
static char *put_time(char *to, uint64_t unix_s)
{
    const char *date = http_date(unix_s);
    return to + sprintf(to, "%.2s/%.3s/%.4s:%.8s +0000", date + 5, date + 8, date + 12, date + 17);
}

static char *put_quoted(char *to, const uint8_t *s, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    *to++ = '"';
    if (n == 0)
        *to++ = '-';
    for (size_t i = 0; i < n; i++) {
        if (s[i] < 0x20 || s[i] >= 0x7f) {
            *to++ = '\\';
            *to++ = 'x';
            *to++ = digits[s[i] >> 4];
            *to++ = digits[s[i] & 15];
            continue;
        }
        if (s[i] == '"' || s[i] == '\\')
            *to++ = '\\';
        *to++ = (char)s[i];
    }
    *to++ = '"';
    return to;
}

size_t http_log_line(const struct http_log_record *r, bool combined, char *to)
{
    char *p = put_peer(to, r->peer);
    p += sprintf(p, " - - [");
    p = put_time(p, r->unix_s);
    p += sprintf(p, "] ");
    p = put_quoted(p, r->texts, r->request_bytes);
    p += sprintf(p, " %u ", r->status);
    p += r->bytes == 0 ? sprintf(p, "-") : sprintf(p, "%llu", (unsigned long long)r->bytes);
    if (combined) {
        *p++ = ' ';
        p = put_quoted(p, r->texts + r->request_bytes, r->referer_bytes);
        *p++ = ' ';
        p = put_quoted(p, r->texts + r->request_bytes + r->referer_bytes, r->agent_bytes);
    }
    *p++ = '\n';
    return (size_t)(p - to);
}

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

struct http_log *http_log_open(const char *path, bool combined, char *err, size_t err_bytes)
{
    struct http_log *log = malloc(sizeof(*log));
    if (log == NULL || strlen(path) >= sizeof(log->path)) {
        snprintf(err, err_bytes, "access_log = %s: %s", path,
                 log == NULL ? "no memory" : "path too long");
        free(log);
        return NULL;
    }
    strcpy(log->path, path);
    log->fd = open_file(path);
    log->combined = combined;
    log->looked_s = 0;
    log->lines = 0;
    log->n = 0;
    if (log->fd >= 0)
        return log;
    snprintf(err, err_bytes, "access_log = %s: %s", path, strerror(errno));
    free(log);
    return NULL;
}

// Opens the path again if it is missing or another file.
static void reopen(struct http_log *log)
{
    struct stat there, ours;
    if (stat(log->path, &there) == 0 && fstat(log->fd, &ours) == 0 && there.st_dev == ours.st_dev &&
        there.st_ino == ours.st_ino)
        return;
    int fd = open_file(log->path);
    if (fd < 0)
        return;  // continue with the old file
    close(log->fd);
    log->fd = fd;
}

// Checks at most once a second.
static void follow_rotation(struct http_log *log)
{
    const time_t now_s = time(NULL);
    if (now_s != log->looked_s)
        reopen(log);
    log->looked_s = now_s;
}

static unsigned flush(struct http_log *log)
{
    size_t done = 0;
    unsigned lines = log->lines;
    while (done < log->n) {
        ssize_t n = write(log->fd, log->buffer + done, log->n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    bool all = done == log->n;
    log->n = 0;
    log->lines = 0;
    return all ? 0 : lines;
}

unsigned http_log_put(struct http_log *log, const void *record, size_t len)
{
    unsigned lost = 0;
    if (record == NULL && len == C10M_LOG_REOPEN) {
        lost = flush(log);  // what was written before the signal belongs to the old file
        reopen(log);
        return lost;
    }
    if (record == NULL || log->n + HTTP_LOG_LINE_MAX > BUFFER_BYTES) {
        follow_rotation(log);
        lost = flush(log);
    }
    if (record != NULL) {
        log->n += http_log_line(record, log->combined, log->buffer + log->n);
        log->lines++;
    }
    return lost;
}

void http_log_close(struct http_log *log)
{
    if (log == NULL)
        return;
    flush(log);
    close(log->fd);
    free(log);
}
