// SPDX-License-Identifier: BSD-3-Clause
// opener.c: `c10m serve -c FILE` with an application "echo" that opens connections itself: one to
// port 5999 of the client for each byte that the client sends. On those it says "hello" and closes
// when it is answered.
#include <stdio.h>

#include "conf/conf_load.h"
#include "ctl/serve/serve.h"
#include "server/server_conf.h"

enum { PORT_OF_CLIENT = 5999 };

static bool is_ours(const struct c10m_conn *c, uint8_t addr[16])
{
    uint16_t port;
    c10m_peer(c, addr, &port);
    return port == PORT_OF_CLIENT;
}

static void on_open(struct c10m_conn *c)
{
    uint8_t addr[16];
    if (is_ours(c, addr))
        c10m_send(c, "hello", 5);
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    uint8_t addr[16];
    (void)data;
    if (is_ours(c, addr))
        c10m_shutdown(c);
    else
        for (size_t i = 0; i < len; i++)
            if (c10m_connect(c, addr, PORT_OF_CLIENT, NULL) != 0)
                c10m_abort(c);
    return len;
}

static const struct c10m_app app = {.name = "echo", .open = on_open, .data = on_data};
static const struct c10m_app *const apps[] = {&app, NULL};

int main(int argc, char **argv)
{
    static struct conf c;
    static struct server_params p;
    struct conf_errors errors;
    struct err err = {.text = ""};
    conf_errors_init(&errors);
    if (argc == 4 && conf_load(&c, argv[3], NULL, 0, &errors) == 0 &&
        server_params_from(&p, &c, apps, &err) == 0)
        return ctl_serve(&(struct ctl_conf){.conf = &c, .file = argv[3]}, &p, "opener");
    fprintf(stderr, "%s%s\n", text_str(&errors.lines), err.text);
    return 2;
}
