// The calls of c10m/app.h that need to know the worker or the server.
#include "sock/sock_internal.h"
#include "worker/server_priv.h"

// A service lies in its server's array.
unsigned c10m_workers(const struct c10m_service *s)
{
    const char *first = (const char *)(s - s->ix);
    return ((const struct server *)(first - offsetof(struct server, services)))->params.n_workers;
}

unsigned c10m_worker(const struct c10m_conn *c)
{
    return ((const struct worker *)((const char *)c->k - offsetof(struct worker, sock)))->id;
}
