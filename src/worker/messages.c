// SPDX-License-Identifier: BSD-3-Clause
#include "worker/messages.h"

#include <rte_ring.h>

#include "c10m/thread.h"
#include "worker/egress.h"
#include "worker/worker.h"

void worker_messages(struct worker *w)
{
    void *msgs[C10M_MESSAGES_TURN_MAX];
    for (unsigned i = 0; i < w->n_boxed; i++) {
        struct c10m_service *s = &w->sock.services[w->boxed[i]];
        const unsigned n =
            rte_ring_sc_dequeue_burst(w->boxes[w->boxed[i]].in, msgs, C10M_MESSAGES_TURN_MAX, NULL);
        for (unsigned k = 0; k < n; k++)
            sock_message(&w->sock, s, msgs[k]);
    }
    if (w->sock.resets != 0)
        sock_reset_some(&w->sock);
}

bool c10m_answer(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    struct rte_ring *out = worker_of_core(w)->boxes[s->ix].out;
    return out != NULL && rte_ring_sp_enqueue(out, msg) == 0;
}
