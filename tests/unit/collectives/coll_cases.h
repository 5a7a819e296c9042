/* What the tests of collectives share: meshes and schedules by name, and the trial of a collective in
 * the one-process executor. */
#ifndef MINIPOD_TESTS_UNIT_COLLECTIVES_COLL_CASES_H
#define MINIPOD_TESTS_UNIT_COLLECTIVES_COLL_CASES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algo/algo.h"
#include "collectives/exec/exec_local.h"
#include "tests/harness/harness.h"

#define N_OF(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum { COLL_GUARD = 4 }; /* elements behind every buffer that must stay as they are */

/* Which of the cases of every algorithm, mesh, net of three and count of three, in that order, are tried:
 * a third, in which each two of mesh, net and count meet; under sanitizers, every n-th. */
enum { COLL_TRIED_OF = POD_TEST_EVERY > 1 ? POD_TEST_EVERY : 3 };
static inline bool coll_is_tried(int k)
{
    return POD_TEST_EVERY > 1 ? k % POD_TEST_EVERY == 0 : (k / 9 + k / 3 + k) % 3 == 0;
}

pod_mesh coll_mesh(const char *text); /* "2x2"; fails the running test where it is none */

/* Of float32, over all ranks, from root 0. */
static inline pod_coll_args coll_args(const pod_mesh *m, pod_coll coll, int64_t count)
{
    return (pod_coll_args){
        .coll = coll, .dtype = POD_F32, .count = count, .group = pod_group_all(m)};
}

/* An all-to-all wants equal blocks: the least count that is not below `count`. */
static inline int64_t coll_count(pod_coll coll, int64_t count, int size)
{
    return coll == POD_ALLTOALL ? (count + size - 1) / size * size : count;
}

/* Schedules of all ranks, in an arena of their own. */
typedef struct coll_built {
    pod_arena *arena;
    const pod_sched *const
        *all; /* NULL: they could not be built, and the running test has failed */
} coll_built;

coll_built coll_build(const char *algo, const pod_mesh *m, const pod_coll_args *args);
void coll_built_end(coll_built *b);
/* One that ends with its block. */
#define COLL_BUILT __attribute__((cleanup(coll_built_end))) coll_built

/* Buffers of all ranks, with a guard behind each, and the numbers in them before the collective. */
typedef struct coll_data {
    int n_ranks;
    int64_t count;
    pod_dtype dtype;
    void **buf;      /* (n_ranks, count + COLL_GUARD) */
    float **initial; /* (n_ranks, count + COLL_GUARD) */
} coll_data;

/* Whole numbers of at most 5, whose sums over 51 ranks a bfloat16 holds; or any in [-1, 1). */
coll_data coll_data_make(int n_ranks, int64_t count, pod_dtype t, bool is_exact);
void coll_data_free(coll_data *d);

/* Builds, verifies and runs the collective, and checks the results against its definition: equal
 * where the inputs are exact, else within the bound of the arithmetic; the same bits on all members
 * after an all-reduce; no more roundings of bfloat16 sums than the algorithm needs. */
void coll_check(const pod_mesh *m, const pod_coll_algo *algo, const pod_coll_args *args,
                bool is_exact);

#endif
