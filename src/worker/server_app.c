// The calls of c10m/app.h that need to know the worker.
#include "sock/sock_internal.h"
#include "worker/worker.h"

unsigned c10m_worker(const struct c10m_conn *c)
{
    return ((const struct worker *)((const char *)c->k - offsetof(struct worker, sock)))->id;
}
