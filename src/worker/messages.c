// SPDX-License-Identifier: BSD-3-Clause
#include "worker/messages.h"

#include <rte_ring.h>

#include "c10m/thread.h"
#include "worker/egress.h"
#include "worker/worker.h"

void worker_messages(struct worker *w)
{
    void *msgs[C10M_MESSAGES_TURN_MAX];
    w->n_messages = 0;
    w->told_several = false;
    for (unsigned i = 0; i < w->n_boxed; i++) {
        struct c10m_service *s = &w->sock.services[w->boxed[i]];
        const unsigned n =
            rte_ring_sc_dequeue_burst(w->boxes[w->boxed[i]].in, msgs, C10M_MESSAGES_TURN_MAX, NULL);
        if (n != 0) {
            w->told_several |= w->n_messages != 0;
            w->told = w->boxed[i];
            w->n_messages += n;
        }
        for (unsigned k = 0; k < n; k++)
            sock_message(&w->sock, s, msgs[k]);
    }
    if (w->sock.resets != 0)
        sock_reset_some(&w->sock);
}

bool c10m_answer(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    struct worker_box *box = &worker_of_core(w)->boxes[s->ix];
    if (box->out == NULL)
        return false;
    if (likely(rte_ring_sp_enqueue(box->out, msg) == 0))
        return true;
    shared_u64_store(&box->out_full, shared_u64_load(&box->out_full) + 1);
    return false;
}
