/* How variables are cut into what ranks write, and ranges of elements into boxes of an array. */
#include <inttypes.h>

#include "kernels/base/rng.h"
#include "runtime/checkpoint/parts.h"
#include "tests/harness/checkpoints.h"

static const int n_ranks[] = {1, 2, 3, 4, 8, 9};
enum { N_RANKS = sizeof n_ranks / sizeof n_ranks[0] };

static pod_arena *arena;

static int open_arena(void) { return pod_arena_create(NULL, &arena) == POD_OK ? 0 : 1; }
static int close_arena(void)
{
    pod_arena_destroy(arena);
    return 0;
}

/* Every box is walked through; what comes is the range, in order. */
static void check_boxes(int n_dims, const int64_t dim[], pod_checkpoint_range r)
{
    pod_h5_source box[POD__MAX_BOXES];
    const int n = pod__boxes_of(n_dims, dim, r, "", box);
    int64_t next = r.first;
    POD_CHECK(n <= 2 * n_dims - 1, "%d boxes in %d dimensions", n, n_dims);
    for (int i = 0; i < n; i++) {
        int64_t at[POD_CHECKPOINT_MAX_DIMS] = {0}, count = 1;
        for (int d = 0; d < n_dims; d++) count *= box[i].extent[d];
        for (int64_t k = 0; k < count; k++) {
            int64_t element = 0;
            for (int d = 0; d < n_dims; d++) element = element * dim[d] + box[i].first[d] + at[d];
            if (element != next++) POD_CHECK(false, "element %" PRId64 " out of turn", element);
            for (int d = n_dims - 1; d >= 0 && ++at[d] == box[i].extent[d]; d--) at[d] = 0;
        }
    }
    POD_CHECK(next == r.first + r.count, "%" PRId64 " elements of %" PRId64, next - r.first,
              r.count);
}

static void boxes(void)
{
    pod_rng rng = pod_rng_at(3, (pod_place){.stream = POD_STREAM_TEST});
    int64_t dim[POD_CHECKPOINT_MAX_DIMS];
    for (int trial = 0; trial < 600; trial++) {
        const int n_dims = 1 + (int)pod_rng_below(&rng, POD_CHECKPOINT_MAX_DIMS);
        int64_t count = 1;
        for (int d = 0; d < n_dims; d++) count *= dim[d] = 1 + (int64_t)pod_rng_below(&rng, 5);
        const int64_t first = (int64_t)pod_rng_below(&rng, (uint64_t)count + 1);
        const int64_t n = (int64_t)pod_rng_below(&rng, (uint64_t)(count - first) + 1);
        check_boxes(n_dims, dim, (pod_checkpoint_range){first, n});
    }
}

/* Ranks get as much as each other but for one element, one behind another. */
static void cuts(void)
{
    pod_test_model m;
    pod_checkpoint_range range[POD_TEST_MAX_TENSORS * POD_TEST_MAX_RANKS];
    const bool whole[POD_TEST_MAX_TENSORS] = {false};
    for (uint64_t seed = 0; seed < 20; seed++) {
        const int ranks = n_ranks[seed % N_RANKS];
        const pod_checkpoint_form f = {0, ranks, m.tensor, range};
        pod_checkpoint_form form = f;
        int64_t of_rank[POD_TEST_MAX_RANKS] = {0}, all = 0;
        pod_test_model_make(arena, seed, 1, &m);
        form.n = m.n;
        pod_checkpoint_cut(&form, whole);
        for (int i = 0; i < m.n; i++) {
            int64_t next = 0;
            for (int r = 0; r < ranks; r++) {
                const pod_checkpoint_range *at = &range[i * ranks + r];
                POD_CHECK(at->count == 0 || at->first == next, "variable %d, rank %d", i, r);
                next += at->count;
                of_rank[r] += at->count;
            }
            POD_CHECK(next == pod_tensor_count(&m.tensor[i]), "variable %d is not covered", i);
            all += next;
        }
        for (int r = 0; r < ranks; r++)
            POD_CHECK(of_rank[r] >= all / ranks && of_rank[r] <= all / ranks + 1,
                      "rank %d has %" PRId64 " of %" PRId64, r, of_rank[r], all);
    }
}

POD_TEST_SUITE_WITH("checkpoint_pieces", open_arena, close_arena, {"boxes", boxes}, {"cuts", cuts});
