/* Rules that choose an algorithm by size: "allreduce:0-64K:tree;64K-:torus2d".
 *
 *     rules = rule { ";" rule }
 *     rule  = [ collective ":" ] [ from "-" [ to ] ":" ] algorithm [ "@" chunk ]
 *
 * A rule holds for buffers of from <= bytes < to; an upper end left out is open, a range left out
 * is every size. A collective left out is that of the rule before, allreduce in the first. Sizes
 * are bytes of the whole buffer, with binary suffixes. So "ring" alone is a rule, too. The chunk,
 * in bytes as well, is what an algorithm sends at a time of a longer block, or cuts blocks down to:
 * "torus2d@256K". Only for those that do (takes_chunk).
 *
 * Rules may overlap, as the default ones do: of those for a size the first wins whose algorithm can
 * run there, so the ones behind it are for where it refuses. "0-1M:ring;0-64K:tree" takes the ring
 * below 64K too; the tree's rule belongs before it.
 *
 * A file of rules has them on lines of their own, as if there were a ';' between: what follows a #
 * is a comment. */
#ifndef MINIPOD_COLLECTIVES_ALGO_RULES_H
#define MINIPOD_COLLECTIVES_ALGO_RULES_H

#include <stdio.h>

#include "collectives/algo/algo.h"
#include "kernels/base/arena.h"

/* Within a node all read all; else little data takes the tree, whose rounds are few, and much data
 * leaves its node as little as it can. */
#define POD_COLL_RULES_DEFAULT \
    "allreduce:0-8K:oneshot;8K-:direct;0-64K:tree;64K-:hierarchical;64K-:torus2d"

enum { POD_COLL_RULES_FILE_BYTES = 1 << 16 };

/* Into the arena. E_INVALID for a text that does not follow the grammar, an empty range, a name
 * that is none, a chunk for what takes none; E_NOMEM. */
POD_MUST pod_status pod_coll_rules_parse(pod_arena *a, const char *text, pod_coll_rules **out);
/* The same from a file of at most POD_COLL_RULES_FILE_BYTES; errors name file and line. E_IO. */
POD_MUST pod_status pod_coll_rules_read(pod_arena *a, const char *path, pod_coll_rules **out);
/* "@FILE" is read, any other text parsed. */
POD_MUST pod_status pod_coll_rules_load(pod_arena *a, const char *text, pod_coll_rules **out);
/* A text that parse reads back as the same rules, into the arena; NULL without memory. */
const char *pod_coll_rules_print(pod_arena *a, const pod_coll_rules *r);

/* Always answers: the first rule for the size whose algorithm does not refuse, else the first such
 * algorithm of the table, whose last one refuses nothing. A chunk that the rule names goes to
 * args->chunk_bytes. The group and root must fit the mesh. */
const pod_coll_algo *pod_coll_pick(const pod_coll_rules *r, const pod_mesh *m, pod_coll_args *args);

typedef struct pod_coll_refusal {
    const pod_coll_algo *algo; /* of the first rule that is for the size; NULL: none is */
    const char *reason;        /* one clause, as why_not has it */
} pod_coll_refusal;

/* Whether pick takes a rule's algorithm; else why it goes to the table. */
bool pod_coll_rules_apply(const pod_coll_rules *r, const pod_mesh *m, const pod_coll_args *args,
                          pod_coll_refusal *why_not);

/* A line on the largest of n collectives that goes by no rule, and of how many; NULL: all go by
 * rules. Into the arena; NULL without memory, too. */
const char *pod_coll_rules_missed(pod_arena *a, const pod_coll_rules *r, const pod_mesh *m,
                                  const pod_coll_args args[], int n);

/* What pick considered, a line each, with the reason of every refusal; the last line is the
 * pick. */
void pod_coll_explain(FILE *out, const pod_coll_rules *r, const pod_mesh *m,
                      const pod_coll_args *args);

#endif
