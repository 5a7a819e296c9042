/* Rules that choose an algorithm by size: "allreduce:0-64K:tree;64K-:torus2d".
 *
 *     rules = rule { ";" rule }
 *     rule  = [ collective ":" ] [ from "-" [ to ] ":" ] algorithm [ "@" chunk ]
 *
 * A rule applies to buffers of from <= bytes < to. A range without an upper end is open; a rule
 * without a range applies to every size. A rule without a collective is for the collective of the
 * rule before it, the first one for allreduce. So "ring" alone is a rule. Sizes are bytes of the
 * whole buffer, with binary suffixes. The chunk, also in bytes, limits the pieces in which an
 * algorithm sends its blocks, or the blocks of torus2d and bucket: "torus2d@256K". Only algorithms
 * with takes_chunk allow one.
 *
 * Rules may overlap, as the default ones do: of the rules for a size, the first one whose algorithm
 * does not refuse is used. "0-1M:ring;0-64K:tree" selects the ring below 64K, too; to select the
 * tree there, put its rule first.
 *
 * A file has rules on separate lines, as if there were a ';' between them; text after a # is a
 * comment. */
#ifndef MINIPOD_COLLECTIVES_ALGO_RULES_H
#define MINIPOD_COLLECTIVES_ALGO_RULES_H

#include <stdio.h>

#include "collectives/algo/algo.h"
#include "kernels/base/arena.h"

/* Within a node, ranks read each other's memory. Between nodes, little data goes by the tree, which
 * has few rounds, and much data by algorithms that send little from node to node. */
#define POD_COLL_RULES_DEFAULT \
    "allreduce:0-8K:oneshot;8K-:direct;0-64K:tree;64K-:hierarchical;64K-:torus2d"

enum { POD_COLL_RULES_FILE_BYTES = 1 << 16 };

/* Parses rules into the arena. Fails with E_INVALID for a text that does not follow the grammar, an
 * empty range, an unknown name, or a chunk for an algorithm that takes none; and with E_NOMEM. */
POD_MUST pod_status pod_coll_rules_parse(pod_arena *a, const char *text, pod_coll_rules **out);
/* Likewise from a file of at most POD_COLL_RULES_FILE_BYTES; errors name file and line. Can also
 * fail with E_IO. */
POD_MUST pod_status pod_coll_rules_read(pod_arena *a, const char *path, pod_coll_rules **out);
/* Reads the file of "@FILE", and parses any other text. */
POD_MUST pod_status pod_coll_rules_load(pod_arena *a, const char *text, pod_coll_rules **out);
/* Returns a text in the arena that parses to the same rules; NULL without memory. */
const char *pod_coll_rules_print(pod_arena *a, const pod_coll_rules *r);

/* Returns the algorithm of the first rule for the size whose algorithm does not refuse, else the
 * first algorithm in the table that does not refuse; the last one never does. Sets
 * args->chunk_bytes if the rule has a chunk. The group and root must fit the mesh. */
const pod_coll_algo *pod_coll_pick(const pod_coll_rules *r, const pod_mesh *m, pod_coll_args *args);

typedef struct pod_coll_refusal {
    const pod_coll_algo *algo; /* of the first rule for the size; NULL: there is none */
    const char *reason;        /* one clause, from why_not */
} pod_coll_refusal;

/* Returns whether pod_coll_pick uses a rule. If not, sets why it uses the table of algorithms. */
bool pod_coll_rules_apply(const pod_coll_rules *r, const pod_mesh *m, const pod_coll_args *args,
                          pod_coll_refusal *why_not);

/* Returns a line in the arena that names the largest of n collectives to which no rule applies, and
 * how many there are; NULL if rules apply to all, or without memory. */
const char *pod_coll_rules_missed(pod_arena *a, const pod_coll_rules *r, const pod_mesh *m,
                                  const pod_coll_args args[], int n);

/* Prints a line for each algorithm that pod_coll_pick considers, with the reason if it refuses; the
 * last line is the choice. */
void pod_coll_explain(FILE *out, const pod_coll_rules *r, const pod_mesh *m,
                      const pod_coll_args *args);

#endif
