/* pod_sched_verify: spans, then messages and deadlock (the order's), then races within each
 * rank. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/sched/order.h"

typedef struct access {
    pod_buf buf;
    int64_t first, end;
    int32_t step;
    bool writes;
} access;

/* What a step touches; answers how many of the two. */
static int accesses_of(const pod_step *s, int32_t number, access out[2])
{
    bool reads = s->kind != POD_STEP_RECV && s->kind != POD_STEP_JOIN;
    bool writes = s->kind != POD_STEP_SEND && s->kind != POD_STEP_JOIN;
    int n = 0;
    if (reads && s->count)
        out[n++] = (access){s->src.buf, s->src.first, s->src.first + s->count, number, false};
    if (writes && s->count)
        out[n++] = (access){s->dst.buf, s->dst.first, s->dst.first + s->count, number, true};
    return n;
}

static bool overlap(const access *a, const access *b)
{
    return a->buf == b->buf && a->first < b->end && b->first < a->end;
}

static pod_status blame(int rank, const pod_step *steps, int32_t i, const char *fault)
{
    char text[POD_STEP_TEXT_BYTES];
    return pod_fail(POD_E_INVALID, "schedule: rank %d step %d (%s): %s", rank, (int)i,
                    pod_step_print(&steps[i], text, sizeof text), fault);
}

static pod_status check_spans(int rank, const pod_sched *s)
{
    int32_t n;
    const pod_step *steps = pod_sched_steps(s, &n);
    const int64_t limit[POD_N_BUFS] = {pod_sched_count(s), pod_sched_scratch_count(s),
                                       pod_sched_sum_count(s)};
    for (int32_t i = 0; i < n; i++) {
        access a[2];
        int n_accesses = accesses_of(&steps[i], i, a);
        for (int j = 0; j < n_accesses; j++) {
            if (a[j].end <= limit[a[j].buf]) continue;
            char fault[64];
            snprintf(fault, sizeof fault, "the buffer has %" PRId64 " elements", limit[a[j].buf]);
            return blame(rank, steps, i, fault);
        }
        if (n_accesses == 2 && overlap(&a[0], &a[1]) &&
            (steps[i].kind == POD_STEP_COPY || a[0].first != a[1].first))
            return blame(rank, steps, i, "source and destination overlap");
    }
    return POD_OK;
}

/* ---- races --------------------------------------------------------------------------------- */

static size_t words_of(int32_t n) { return ((size_t)n + 63) / 64; }

/* before (n, words): bit j of row i says that step i comes after step j. */
static void close_order(const pod_step *steps, int32_t n, uint64_t *before)
{
    size_t words = words_of(n);
    memset(before, 0, (size_t)n * words * sizeof *before);
    for (int32_t i = 0; i < n; i++) {
        for (int j = 0; j < 2; j++) {
            int32_t after = steps[i].after[j];
            if (after == POD_NO_STEP) continue;
            for (size_t k = 0; k < words; k++)
                before[(size_t)i * words + k] |= before[(size_t)after * words + k];
            before[(size_t)i * words + (size_t)after / 64] |= UINT64_C(1) << (after % 64);
        }
    }
}

static bool comes_after(const uint64_t *before, int32_t n, int32_t later, int32_t earlier)
{
    return (before[(size_t)later * words_of(n) + (size_t)earlier / 64] >> (earlier % 64) & 1) != 0;
}

static int by_place(const void *x, const void *y)
{
    const access *a = x;
    const access *b = y;
    if (a->buf != b->buf) return a->buf < b->buf ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->step < b->step ? -1 : a->step > b->step;
}

static pod_status check_races(int rank, const pod_sched *s, access *list, uint64_t *before)
{
    int32_t n;
    const pod_step *steps = pod_sched_steps(s, &n);
    close_order(steps, n, before);
    int32_t n_list = 0;
    for (int32_t i = 0; i < n; i++) n_list += accesses_of(&steps[i], i, &list[n_list]);
    if (n_list) qsort(list, (size_t)n_list, sizeof *list, by_place);
    for (int32_t i = 0; i < n_list; i++) {
        for (int32_t j = i + 1; j < n_list && overlap(&list[i], &list[j]); j++) {
            int32_t a = list[i].step < list[j].step ? list[i].step : list[j].step;
            int32_t b = list[i].step < list[j].step ? list[j].step : list[i].step;
            if (a == b || !(list[i].writes || list[j].writes) || comes_after(before, n, b, a))
                continue;
            char fault[POD_STEP_TEXT_BYTES + 64];
            char other[POD_STEP_TEXT_BYTES];
            snprintf(fault, sizeof fault, "races with step %d (%s)", (int)a,
                     pod_step_print(&steps[a], other, sizeof other));
            return blame(rank, steps, b, fault);
        }
    }
    return POD_OK;
}

static pod_status check_all_races(pod_arena *work, const pod_sched *const all[], int n_ranks)
{
    int32_t longest = 0;
    for (int r = 0; r < n_ranks; r++) {
        int32_t n;
        pod_sched_steps(all[r], &n);
        if (n > longest) longest = n;
    }
    access *list = POD_ARENA_NEW(work, access, 2 * (size_t)longest);
    uint64_t *before = POD_ARENA_NEW(work, uint64_t, (size_t)longest * words_of(longest));
    if (!list || !before) return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) POD_TRY(check_races(r, all[r], list, before));
    return POD_OK;
}

pod_status pod_sched_verify(const pod_sched *const all[], int n_ranks)
{
    for (int r = 0; r < n_ranks; r++) {
        POD_TRY(pod_sched_finish(all[r]));
        POD_TRY(check_spans(r, all[r]));
    }
    pod_arena *work;
    POD_TRY(pod_arena_create(NULL, &work));
    pod_sched_order order;
    pod_status status;
    POD_TRY_GOTO(status, pod_sched_order_build(work, all, n_ranks, &order), done);
    POD_TRY_GOTO(status, check_all_races(work, all, n_ranks), done);
done:
    pod_arena_destroy(work);
    return status;
}
