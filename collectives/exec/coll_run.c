#include "collectives/exec/coll_run.h"

#include <sched.h>

#include "collectives/exec/run_kind.h"

/* Polls before the core is given away: a message between two running ranks arrives within fewer. */
enum { POLLS_BEFORE_YIELD = 64 };

void pod_coll_run_start(pod_coll_run *r) { r->kind->start(r); }

bool pod_coll_run_poll(pod_coll_run *r) { return r->kind->poll(r); }

void pod_coll_run_wait(pod_coll_run *r)
{
    int n_polls = 1;
    while (!r->kind->poll(r)) {
        /* With more ranks than cores the peer may need this one to go on. */
        if (n_polls == POLLS_BEFORE_YIELD)
            sched_yield();
        else
            n_polls++;
    }
}

void pod_coll_run_destroy(pod_coll_run *r)
{
    if (r) r->kind->destroy(r);
}
