// The calls of c10m/app.h that need to know the worker or the server.
#include "sock/sock_internal.h"
#include "worker/server_priv.h"

unsigned c10m_workers(const struct c10m_service *s)
{
    return server_of(s)->params.n_workers;
}

unsigned c10m_worker(const struct c10m_conn *c)
{
    return ((const struct worker *)((const char *)c->k - offsetof(struct worker, sock)))->id;
}
