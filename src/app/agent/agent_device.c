// SPDX-License-Identifier: BSD-3-Clause
// SO_BINDTODEVICE and SO_BINDTOIFINDEX. A device is a port of the server.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "app/agent/agent_opt.h"

void device_assign(struct socket *k, unsigned device, const char *name)
{
    const size_t n = strnlen(name, sizeof(k->device_name) - 1);
    k->device = device;
    memset(k->device_name, 0, sizeof(k->device_name));
    memcpy(k->device_name, name, n);
}

static void rebound(struct agent *a, struct call *c, int rc)
{
    call_return(a, c, rc);
}

// Linux's sock_bindtoindex(): from now on the workers receive for the socket on this device only.
static void bind_to(struct agent *a, struct call *c, unsigned device, const char *name)
{
    struct socket *k = c->socket;
    const bool same = k->device == device;
    device_assign(k, device, name);
    if (!same && k->state == TCP_LISTENING)
        listener_rebind(a, c);
    else if (!same && k->port != NULL)
        udp_rebind(a, c, rebound);
    else
        call_return(a, c, 0);
}

// The name may end with a zero byte or not. A name that is too long is truncated, as in Linux's
// sock_setbindtodevice().
static void set_by_name(struct agent *a, struct call *c)
{
    char name[AGENT_DEVICE_BYTES] = "";
    const uint32_t n = c->r->data_bytes;
    memcpy(name, c->r->data, n < sizeof(name) - 1 ? n : sizeof(name) - 1);
    const unsigned device = name[0] == '\0' ? 0 : c10m_device_find(a->s, name);
    if (device == 0 && name[0] != '\0')
        call_return(a, c, -ENODEV);
    else
        bind_to(a, c, device, name);
}

static void set_by_index(struct agent *a, struct call *c)
{
    int ix;
    if (c->r->data_bytes < sizeof(ix)) {
        call_return(a, c, -EINVAL);
        return;
    }
    memcpy(&ix, c->r->data, sizeof(ix));
    const char *name = ix > 0 ? c10m_device_name(a->s, (unsigned)ix) : "";
    if (ix < 0)
        call_return(a, c, -EINVAL);
    else if (name == NULL)
        call_return(a, c, -ENODEV);
    else
        bind_to(a, c, (unsigned)ix, name);
}

bool device_set(struct agent *a, struct call *c)
{
    if (c->r->a[0] != SOL_SOCKET)
        return false;
    if (c->r->a[1] == SO_BINDTODEVICE)
        set_by_name(a, c);
    else if (c->r->a[1] == SO_BINDTOIFINDEX)
        set_by_index(a, c);
    else
        return false;
    return true;
}

bool device_get(struct agent *a, struct call *c)
{
    const struct socket *k = c->socket;
    if (c->r->a[0] != SOL_SOCKET)
        return false;
    if (c->r->a[1] == SO_BINDTOIFINDEX) {
        option_return_int(a, c, (int)k->device);
        return true;
    }
    if (c->r->a[1] != SO_BINDTODEVICE)
        return false;
    if (k->device == 0)
        call_return(a, c, 0);
    else if (c->r->a[2] < AGENT_DEVICE_BYTES)
        call_return(a, c, -EINVAL);
    else
        option_return(a, c, k->device_name, (uint32_t)strlen(k->device_name) + 1);
    return true;
}
