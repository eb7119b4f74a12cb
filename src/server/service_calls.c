// The calls of c10m/app.h that need to know the worker or the server.
#include "c10m/socket.h"
#include "server/server_internal.h"
#include "sock/sock_internal.h"

unsigned c10m_workers(const struct c10m_service *s)
{
    return server_of(s)->params.n_workers;
}

unsigned c10m_worker(const struct c10m_conn *c)
{
    return ((const struct worker *)((const char *)c->k - offsetof(struct worker, sock)))->id;
}

// As init_local() of net.c has it: prefixes of 31 and 32 bits have none (RFC 3021).
static bool is_broadcast_of(const struct net_local *l, const struct ip_addr *a)
{
    return ip_is_v4(&l->addr) && l->prefix_bits <= 30 &&
           ip_in_prefix(a, &l->addr, l->prefix_bits) &&
           (ip_to_v4(a) | ~(UINT32_MAX >> l->prefix_bits)) == UINT32_MAX;
}

bool c10m_is_broadcast(const struct c10m_service *s, const uint8_t addr[16])
{
    const struct server_params *p = &server_of(s)->params;
    struct ip_addr a;
    memcpy(a.b, addr, sizeof(a.b));
    bool is = ip_is_v4(&a) && ip_to_v4(&a) == UINT32_MAX;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++)
            is |= is_broadcast_of(&p->ports[i].net.locals[k], &a);
    return is;
}

unsigned c10m_device_find(const struct c10m_service *s, const char *name)
{
    const struct server_params *p = &server_of(s)->params;
    for (unsigned i = 0; i < p->n_ports; i++)
        if (strcmp(p->ports[i].port.name, name) == 0)
            return i + 1;
    for (unsigned i = 0; i < p->n_ports; i++) {
        const char *device = p->ports[i].port.device;
        if (device != NULL && device[0] != '\0' && strcmp(device, name) == 0)
            return i + 1;
    }
    return 0;
}

const char *c10m_device_name(const struct c10m_service *s, unsigned device)
{
    const struct server_params *p = &server_of(s)->params;
    return device == 0 || device > p->n_ports ? NULL : p->ports[device - 1].port.name;
}

unsigned c10m_device_of(const struct c10m_service *s, const uint8_t addr[16])
{
    const struct server_params *p = &server_of(s)->params;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++)
            if (memcmp(p->ports[i].net.locals[k].addr.b, addr, 16) == 0)
                return i + 1;
    return 0;
}
