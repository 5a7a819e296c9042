/* What carries the messages of a run: the table behind coll_run.h. */
#ifndef MINIPOD_COLLECTIVES_EXEC_RUN_KIND_H
#define MINIPOD_COLLECTIVES_EXEC_RUN_KIND_H

#include "collectives/exec/coll_run.h"

typedef struct pod__run_kind {
    void (*start)(pod_coll_run *r);
    bool (*poll)(pod_coll_run *r);
    void (*destroy)(pod_coll_run *r);
} pod__run_kind;

struct pod_coll_run { /* the first member of every kind of run */
    const pod__run_kind *kind;
};

#endif
