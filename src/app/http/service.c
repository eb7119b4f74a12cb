// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/service.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "app/http/request_parse.h"

static_assert((int)HTTP_HEAD_BYTES_MAX <= (int)C10M_DATA_CONTIG_BYTES,
              "a head is parsed in place, as one contiguous range");

const char *http_param(const struct c10m_service *s, const char *key)
{
    const char *value = c10m_service_param(s, key);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

bool http_param_on(const struct c10m_service *s, const char *key)
{
    const char *value = c10m_service_param(s, key);
    return value != NULL && strcmp(value, "on") == 0;
}

// is_wait: whether the text is a word for max_wait_ms.
static bool is_wait(const char *text, uint64_t *value)
{
    if (strcmp(text, "off") == 0)
        *value = HTTP_WAIT_OFF;
    return strcmp(text, "off") == 0 || strcmp(text, "auto") == 0;
}

static int read_params(const struct c10m_service *s, struct http_params *p, char *err,
                       size_t err_bytes)
{
    const struct {
        const char *key;
        uint64_t *value, min, max, default_value;
    } rows[] = {
        {"header_bytes_max", &p->header_bytes_max, HTTP_HEAD_BYTES_MIN, HTTP_HEAD_BYTES_MAX, 8192},
        {"header_timeout_ms", &p->header_timeout_ms, 1, 1 << 30, 10000},
        {"header_bytes_held", &p->header_bytes_held, HTTP_HEAD_BYTES_MAX, UINT64_C(1) << 40,
         8 << 20},
        {"write_timeout_ms", &p->write_timeout_ms, 1, HTTP_WRITE_MS_MAX, 60000},
        {"write_bytes_min", &p->write_bytes_min, 1, 1 << 30, 4096},
        {"keepalive_timeout_ms", &p->keepalive_timeout_ms, 1, 1 << 30, 60000},
        {"max_wait_ms", &p->max_wait_ms, 1, 60000, HTTP_WAIT_AUTO},
        {"body_bytes_max", &p->body_bytes_max, 1, 1 << 30, 65536},
        {"body_timeout_ms", &p->body_timeout_ms, 1, 1 << 30, 30000},
        {"holds_max", &p->holds_max, 1, HTTP_HOLDS_MAX, 256},
        {"files_max", &p->files_max, 1, 1 << 24, 65536},
        {"bytes_max", &p->bytes_max, 1, UINT64_C(1) << 40, UINT64_C(1) << 30},
        {"proxy_connections_max", &p->proxy_connections_max, 1, 100000000, 65536},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *text = c10m_service_param(s, rows[i].key);
        *rows[i].value = rows[i].default_value;
        if (text == NULL ||
            (rows[i].default_value == HTTP_WAIT_AUTO && is_wait(text, rows[i].value)))
            continue;
        char *end;
        errno = 0;
        unsigned long long n = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || n < rows[i].min ||
            n > rows[i].max) {
            snprintf(err, err_bytes, "%s = %s: expected a whole number from %llu to %llu",
                     rows[i].key, text, (unsigned long long)rows[i].min,
                     (unsigned long long)rows[i].max);
            return -1;
        }
        *rows[i].value = n;
    }
    return 0;
}

static int register_counters(struct c10m_service *s, struct http_service *service, char *err,
                             size_t err_bytes)
{
    static const struct {
        const char *name, *help;
    } rows[] = {
#define HTTP_COUNTER_ROW(number, name, help) {name, help},
        HTTP_COUNTERS(HTTP_COUNTER_ROW)
#undef HTTP_COUNTER_ROW
    };
    for (int i = 0; i < HTTP_COUNTERS_N; i++) {
        service->counters[i] = c10m_counter(s, rows[i].name, rows[i].help);
        if (service->counters[i] < 0) {
            snprintf(err, err_bytes, "the service has no free counter for %s", rows[i].name);
            return -1;
        }
    }
    return 0;
}

static int make_boundary(struct http_service *service, char *err, size_t err_bytes)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
        snprintf(err, err_bytes, "no random numbers: %m");
        return -1;
    }
    snprintf(service->boundary, sizeof(service->boundary), "%016llx", (unsigned long long)random);
    return 0;
}

// The buffer of a hold has room for content if echo_path is set, and always for the text of a head:
// for headers_path, and for redirects that keep the query, which a reload may add.
static int make_pools(struct c10m_service *s, struct http_service *service, char *err,
                      size_t err_bytes)
{
    const struct http_params *p = &service->params;
    size_t room = p->header_bytes_max;
    if (c10m_service_param(s, "echo_path") != NULL && p->body_bytes_max > room)
        room = p->body_bytes_max;
    if (p->holds_max * room > HTTP_HELD_BYTES_MAX) {
        snprintf(err, err_bytes,
                 "holds_max = %llu of %zu bytes (the longer of body_bytes_max and header_bytes_max "
                 "that is answered): expected at most %d bytes a worker",
                 (unsigned long long)p->holds_max, room, HTTP_HELD_BYTES_MAX);
        return -1;
    }
    const struct http_pool_sizes z = {
        .holds = (unsigned)p->holds_max,
        .buffer_bytes = room,
        .logs = service->log != NULL,
        .units = (uint32_t)(p->header_bytes_held / HTTP_UNIT_BYTES),
        .head_units = (uint32_t)((p->header_bytes_max + HTTP_UNIT_BYTES - 1) / HTTP_UNIT_BYTES),
    };
    if (http_pools_init(&service->pools, c10m_workers(s), &z))
        return 0;
    snprintf(err, err_bytes, "no memory, or no random numbers, for holds_max = %llu of %zu bytes",
             (unsigned long long)p->holds_max, room);
    return -1;
}

static int open_log(const struct c10m_service *s, struct http_service *service, char *err,
                    size_t err_bytes)
{
    const char *path = c10m_service_param(s, "access_log");
    const char *format = c10m_service_param(s, "access_log_format");
    bool common = format != NULL && strcmp(format, "common") == 0;
    if (format != NULL && !common && strcmp(format, "combined") != 0) {
        snprintf(err, err_bytes, "access_log_format = %s: expected common or combined", format);
        return -1;
    }
    if (path == NULL || path[0] == '\0')
        return 0;
    service->log_combined = !common;
    service->log = http_log_open(path, !common, err, err_bytes);
    return service->log == NULL ? -1 : 0;
}

// "10.0.0.0/8, fd00::/8"
static bool read_prefix(struct http_text item, struct http_peers *p)
{
    char text[64];
    unsigned bits;
    int n = 0;
    if (item.n >= sizeof(text))
        return false;
    memcpy(text, item.s, item.n);
    text[item.n] = '\0';
    char *slash = strchr(text, '/');
    if (slash == NULL || sscanf(slash, "/%3u%n", &bits, &n) != 1 || slash[n] != '\0')
        return false;
    *slash = '\0';
    *p = (struct http_peers){.addr = {[10] = 0xff, [11] = 0xff}, .bits = bits + 96};
    if (inet_pton(AF_INET, text, p->addr + 12) == 1)
        return bits <= 32;
    p->bits = bits;
    return inet_pton(AF_INET6, text, p->addr) == 1 && bits <= 128;
}

static int init_proxy(struct c10m_service *s, struct http_service *service, char *err,
                      size_t err_bytes)
{
    const char *from = http_param(s, "proxy_from");
    struct http_text list = {(const uint8_t *)from, from == NULL ? 0 : strlen(from)}, item;
    service->proxied = http_param_on(s, "proxy_protocol");
    while (http_list_next(&list, &item)) {
        if (service->n_from == HTTP_PREFIXES_MAX ||
            !read_prefix(item, &service->from[service->n_from++])) {
            snprintf(err, err_bytes, "proxy_from = %s: expected at most %d prefixes", from,
                     HTTP_PREFIXES_MAX);
            return -1;
        }
    }
    if (!service->proxied || http_clients_init(&service->clients, c10m_workers(s),
                                               (uint32_t)service->params.proxy_connections_max))
        return 0;
    snprintf(err, err_bytes, "no memory for proxy_connections_max = %llu",
             (unsigned long long)service->params.proxy_connections_max);
    return -1;
}

static int init_service(struct c10m_service *s, struct http_service *service, char *err,
                        size_t err_bytes)
{
    if (read_params(s, &service->params, err, err_bytes) != 0 ||
        register_counters(s, service, err, err_bytes) != 0 ||
        make_boundary(service, err, err_bytes) != 0)
        return -1;
    if (http_param(s, "root") == NULL && http_param(s, "host") == NULL) {
        snprintf(err, err_bytes, "root: missing: the directory to serve");
        return -1;
    }
    if (!http_sites_init(&service->sites, c10m_workers(s))) {
        snprintf(err, err_bytes, "no memory");
        return -1;
    }
    if (http_reload_first(s, service, err, err_bytes) != 0 ||
        open_log(s, service, err, err_bytes) != 0 || init_proxy(s, service, err, err_bytes) != 0 ||
        make_pools(s, service, err, err_bytes) != 0)
        return -1;
    const struct http_params *p = &service->params;
    service->answered_ms = p->keepalive_timeout_ms < p->write_timeout_ms ? p->keepalive_timeout_ms
                                                                         : p->write_timeout_ms;
    return 0;
}

static void free_service(struct http_service *service)
{
    http_sites_free(&service->sites);
    http_pools_free(&service->pools);
    http_clients_free(&service->clients);
    http_log_close(service->log);
    free(service);
}

int http_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    struct http_service *service = calloc(1, sizeof(*service));
    if (service == NULL) {
        snprintf(err, err_bytes, "no memory");
        return -1;
    }
    if (init_service(s, service, err, err_bytes) != 0) {
        free_service(service);
        return -1;
    }
    c10m_service_set_data(s, service);
    return 0;
}

void http_fini(struct c10m_service *s)
{
    struct http_service *service = c10m_service_data(s);
    if (service != NULL)
        free_service(service);
}

unsigned http_log(struct c10m_service *s, const void *record, size_t len)
{
    struct http_service *service = c10m_service_data(s);
    return service->log == NULL ? 0 : http_log_put(service->log, record, len);
}
