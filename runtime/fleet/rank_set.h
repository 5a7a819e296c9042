/* A set of numbers from 0 to n - 1, walked in ascending order: a bitmap, and a summary with one bit
 * for each word of it that is not 0. */
#ifndef MINIPOD_RUNTIME_FLEET_RANK_SET_H
#define MINIPOD_RUNTIME_FLEET_RANK_SET_H

#include <stdint.h>

#include "kernels/base/arena.h"

typedef struct pod_rank_set {
    uint64_t *word, *summary;
    int n, n_words, n_summary;
    int count;
} pod_rank_set;

POD_MUST pod_status pod_rank_set_create(pod_arena *a, int n, pod_rank_set *out); /* 0 .. n-1 */
void pod_rank_set_add(pod_rank_set *s, int i);
void pod_rank_set_remove(pod_rank_set *s, int i);
int pod_rank_set_next(const pod_rank_set *s, int from); /* the first >= from; -1: none */

#endif
