// SPDX-License-Identifier: BSD-3-Clause
// steering_env.h: the files of ctl/ over a server without workers: what they parse, show and order.
// Orders end at the next steering_env_turn().
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ctl/steering/steering.h"
#include "server/server_internal.h"

static const char steering_env_conf[] =
    "[memory]\nconnections = 1000\n"
    "[port a]\ndriver = ring\naddress = 10.0.0.2/24, fd00::2/64\n"
    "[port b]\ndriver = ring\naddress = 10.0.1.2/24\n"
    "[service web]\napp = http\nport = 80\nroot = /srv\n"
    "[service echo]\napp = echo\nport = 7\n";

struct steering_env {
    struct conf conf;
    struct server server;
    struct ctl_loop loop;
    struct tree *tree;
    struct tree_session session;
    struct ctl_steering *steering;
};

// steering_env_follow: the interface that the last port follows; NULL: none. Set it before
// steering_env_new().
static const char *steering_env_follow;

// steering_env_app: the application of the first service; NULL: none. Set it before
// steering_env_new(), too.
static const struct c10m_app *steering_env_app;

static inline void steering_env_params(struct steering_env *e)
{
    struct server_params *p = &e->server.params;
    p->n_ports = e->conf.n_ports;
    for (unsigned i = 0; i < p->n_ports; i++) {
        const struct conf_prefixes *a = &e->conf.ports[i].address;
        p->ports[i].port.name = e->conf.ports[i].name;
        p->ports[i].net.n_locals = (uint8_t)a->n;
        for (unsigned k = 0; k < a->n; k++)
            p->ports[i].net.locals[k] = (struct net_local){a->at[k].addr, (uint8_t)a->at[k].bits};
    }
    p->ports[p->n_ports - 1].follow = steering_env_follow;
    p->n_services = e->conf.n_services;
    for (unsigned i = 0; i < p->n_services; i++)
        p->services[i].name = e->server.services[i].name = e->conf.services[i].name;
    for (unsigned i = 0; i < p->n_services; i++)
        e->server.services[i].ix = (uint8_t)i;
    e->server.services[0].app = steering_env_app;
}

// steering_env_new: file, unless NULL: what SIGHUP reads.
static inline struct steering_env *steering_env_new(const char *file)
{
    static const struct conf_host host = {.cpus = {.n = 2, .id = {0, 1}}};
    struct steering_env *e = calloc(1, sizeof(*e));
    struct conf_errors errs;
    struct err err;
    CHECK(e != NULL);
    conf_errors_init(&errs);
    CHECK(conf_load_text(&e->conf, &host, "f", steering_env_conf, sizeof(steering_env_conf) - 1,
                         NULL, 0, &errs) == 0);
    conf_errors_free(&errs);
    steering_env_params(e);
    CHECK(ctl_loop_init(&e->loop, &err) == 0);
    e->tree = tree_create();
    tree_session_init(&e->session, e->tree);
    const struct ctl_steering_params p = {
        .loop = &e->loop, .server = &e->server, .conf = &e->conf, .file = file};
    e->steering = ctl_steering_new(&p, &err);
    CHECK(e->steering != NULL && ctl_steering_fill(e->steering, tree_root(e->tree)) == 0);
    return e;
}

static inline void steering_env_free(struct steering_env *e)
{
    tree_destroy(e->tree);
    ctl_steering_free(e->steering);
    ctl_loop_fini(&e->loop);
    free(e);
}

// steering_env_turn: what was ordered ends. steering_env_node: the entry at a path below the root.
static inline void steering_env_turn(struct steering_env *e)
{
    for (int i = 0; i < 3; i++)
        ctl_loop_turn(&e->loop, 10);
}

static inline struct tree_node *steering_env_node(struct steering_env *e, const char *path)
{
    struct tree_node *n = tree_root(e->tree);
    char copy[256], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *w = strtok_r(copy, "/", &save); w != NULL && n != NULL;
         w = strtok_r(NULL, "/", &save))
        n = tree_lookup(n, w);
    return n;
}

static inline int steering_env_write(struct steering_env *e, struct tree_node *n, const void *at,
                                     size_t len)
{
    struct tree_handle *h;
    CHECK(tree_open(&e->session, n, TREE_WRITE, &h) == 0);
    const int rc = tree_write(h, at, len);
    tree_close(h);
    return rc;
}

// steering_env_read: the text, in buf.
static inline const char *steering_env_read(struct steering_env *e, struct tree_node *n, char *buf,
                                            size_t bytes)
{
    struct tree_handle *h;
    const char *at = "";
    CHECK(tree_open(&e->session, n, TREE_READ, &h) == 0);
    const ssize_t got = tree_read(h, 0, bytes - 1, &at);
    CHECK(got >= 0);
    memcpy(buf, at, (size_t)got);
    buf[got] = '\0';
    tree_close(h);
    return buf;
}
