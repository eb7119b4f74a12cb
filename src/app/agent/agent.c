// SPDX-License-Identifier: BSD-3-Clause
// The application `agent`: parameters, memory and callbacks.
#include "app/agent/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/apps.h"

struct agent *agent_of(const struct c10m_service *s)
{
    return c10m_service_data(s);
}

static unsigned long number(const struct c10m_service *s, const char *key, unsigned long initial)
{
    const char *text = c10m_service_param(s, key);
    return text == NULL ? initial : strtoul(text, NULL, 10);
}

static const char *read_params(const struct c10m_service *s, struct agent *a)
{
    const char *path = c10m_service_param(s, "socket");
    if (path == NULL || path[0] == '\0' || strlen(path) >= sizeof(a->path))
        return "socket: expected a path of at most 107 characters";
    snprintf(a->path, sizeof(a->path), "%s", path);
    a->sockets_max = (unsigned)number(s, "sockets_max", AGENT_SOCKETS_DEFAULT);
    a->clients_max = AGENT_CLIENTS_MAX;
    if (a->sockets_max == 0 || a->sockets_max > AGENT_SOCKETS_MAX)
        return "sockets_max: expected 1 to 65536";
    a->rcvbuf = (int)number(s, "receive_buffer", 65536) * 2;
    a->sndbuf = (int)number(s, "send_buffer", 65536) * 2;
    return NULL;
}

static bool make_tables(struct agent *a)
{
    a->fds = calloc(a->sockets_max, sizeof(*a->fds));
    a->workers = calloc(a->n_workers, sizeof(struct agent_worker *));
    a->unsent_first = calloc(a->n_workers, sizeof(struct agent_msg *));
    a->unsent_last = calloc(a->n_workers, sizeof(struct agent_msg *));
    a->inboxes = calloc(a->n_workers, sizeof(*a->inboxes));
    return a->fds != NULL && a->workers != NULL && a->unsent_first != NULL &&
           a->unsent_last != NULL && a->inboxes != NULL;
}

static const char *make_workers(struct c10m_service *s, struct agent *a)
{
    static const struct {
        const char *name, *help;
    } rows[] = {
#define AGENT_COUNTER_ROW(name, help) {#name, help},
        AGENT_COUNTERS(AGENT_COUNTER_ROW)
#undef AGENT_COUNTER_ROW
    };
    int counters[WORKER_COUNTS_N];
    for (int i = 0; i < WORKER_COUNTS_N; i++) {
        counters[i] = c10m_counter(s, rows[i].name, rows[i].help);
        if (counters[i] < 0)
            return "the service has no free counters";
    }
    for (unsigned w = 0; w < a->n_workers; w++) {
        a->workers[w] = agent_worker_new(s, w, 2 * a->sockets_max, &a->defaults, counters);
        if (a->workers[w] == NULL)
            return "no memory";
    }
    return NULL;
}

void agent_free(struct agent *a)
{
    agent_clients_free(a);
    while (a->all != NULL)
        file_drop(a, a->all);
    for (unsigned w = 0; a->workers != NULL && w < a->n_workers; w++)
        agent_worker_free(a->workers[w]);
    udp_ports_free(a);
    tcp_ports_free(a);
    groups_free(a);
    time_wait_free(a);
    free(a->fds);
    free(a->workers);
    free(a->unsent_first);
    free(a->unsent_last);
    free(a->inboxes);
    free(a);
}

static const char *prepare(struct c10m_service *s, struct agent *a)
{
    a->s = s;
    a->listen_fd = a->epoll = -1;
    a->n_workers = c10m_workers(s);
    const char *wrong = read_params(s, a);
    if (wrong != NULL)
        return wrong;
    connection_defaults(a, &a->defaults);
    return make_tables(a) ? make_workers(s, a) : "no memory";
}

struct agent *agent_new(struct c10m_service *s, char *err, size_t err_bytes)
{
    struct agent *a = calloc(1, sizeof(*a));
    const char *wrong = a == NULL ? "no memory" : prepare(s, a);
    if (wrong == NULL)
        return a;
    snprintf(err, err_bytes, "%s", wrong);
    if (a != NULL)
        agent_free(a);
    return NULL;
}

static int agent_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    struct agent *a = agent_new(s, err, err_bytes);
    const char *wrong = a == NULL ? NULL : agent_socket_open(a);
    if (a != NULL && wrong == NULL) {
        c10m_service_set_data(s, a);
        return 0;
    }
    if (a != NULL) {
        snprintf(err, err_bytes, "socket: %s: %s", a->path, wrong);
        agent_socket_close(a);
        agent_free(a);
    }
    return -1;
}

static void agent_fini(struct c10m_service *s)
{
    struct agent *a = agent_of(s);
    agent_socket_close(a);
    agent_free(a);
}

const struct c10m_app app_agent = {
    .name = "agent",
    .init = agent_init,
    .fini = agent_fini,
    .open = agent_open,
    .readable = agent_readable,
    .writable = agent_writable,
    .drained = agent_drained,
    .close = agent_close,
    .packet = agent_packet,
    .packet_error = agent_packet_error,
    .thread = agent_thread,
    .message = agent_message,
};
