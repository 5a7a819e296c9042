/* Rules that choose an algorithm by size: "allreduce:0-64K:tree;64K-:torus2d".
 *
 *     rules = rule { ";" rule }
 *     rule  = [ collective ":" ] [ from "-" [ to ] ":" ] algorithm
 *
 * A rule holds for buffers of from <= bytes < to; an upper end left out is open, a range left out
 * is every size. A collective left out is that of the rule before, allreduce in the first. Sizes
 * are bytes of the whole buffer, with binary suffixes. So "ring" alone is a rule, too. */
#ifndef MINIPOD_COLLECTIVES_ALGO_RULES_H
#define MINIPOD_COLLECTIVES_ALGO_RULES_H

#include <stdio.h>

#include "collectives/algo/algo.h"
#include "kernels/base/arena.h"

/* Within a node all read all; else little data takes the tree, whose rounds are few, and much data
 * leaves its node as little as it can. */
#define POD_COLL_RULES_DEFAULT \
    "allreduce:0-8K:oneshot;8K-:direct;0-64K:tree;64K-:hierarchical;64K-:torus2d"

/* Into the arena. E_INVALID for a text that does not follow the grammar, an empty range, a name
 * that is none; E_NOMEM. */
POD_MUST pod_status pod_coll_rules_parse(pod_arena *a, const char *text, pod_coll_rules **out);
/* A text that parse reads back as the same rules, into the arena; NULL without memory. */
const char *pod_coll_rules_print(pod_arena *a, const pod_coll_rules *r);

/* Always answers: the first rule for the size whose algorithm does not refuse, else the first such
 * algorithm of the table, whose last one refuses nothing. The group and root must fit the mesh. */
const pod_coll_algo *pod_coll_pick(const pod_coll_rules *r, const pod_mesh *m,
                                   const pod_coll_args *args);

/* What pick considered, a line each, with the reason of every refusal; the last line is the
 * pick. */
void pod_coll_explain(FILE *out, const pod_coll_rules *r, const pod_mesh *m,
                      const pod_coll_args *args);

#endif
