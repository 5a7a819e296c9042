/* pod_sched_verify: messages, sharing and deadlock (the order's), then spans, then races
 * (races.c). */
#include <inttypes.h>
#include <stdbool.h>

#include "collectives/sched/races.h"

pod_status pod__sched_blame(const pod_sched *const all[], int rank, int32_t i, const char *fault)
{
    int32_t n;
    char text[POD_STEP_TEXT_BYTES];
    return pod_fail(POD_E_INVALID, "schedule: rank %d step %d (%s): %s", rank, (int)i,
                    pod_step_print(&pod_sched_steps(all[rank], &n)[i], text, sizeof text), fault);
}

static int64_t elements_of(const pod_sched *s, pod_buf buf)
{
    return buf == POD_BUF_MAIN      ? pod_sched_count(s)
           : buf == POD_BUF_SCRATCH ? pod_sched_scratch_count(s)
                                    : pod_sched_sum_count(s);
}

/* `text` becomes what is wrong with a span of a step of `rank`, if it reaches beyond its end on
 * this rank or, for what all of them are read or written by, on one that shares with it. */
static bool is_beyond(const pod_sched *const all[], int rank, pod_span span, int64_t count,
                      bool on_all, char text[96])
{
    int n;
    const int *shared = pod_sched_shared(all[rank], &n);
    for (int k = 0; k < (on_all ? n : 1); k++) {
        const int owner = on_all ? shared[k] : rank;
        const int64_t limit = elements_of(all[owner], span.buf);
        if (span.first + count <= limit) continue;
        if (owner == rank)
            snprintf(text, 96, "the buffer has %" PRId64 " elements", limit);
        else
            snprintf(text, 96, "the buffer of rank %d has %" PRId64 " elements", owner, limit);
        return true;
    }
    return false;
}

/* NULL, or what is wrong with a step that stands alone. */
static const char *fault_of(const pod_step *s)
{
    const bool has_sum_src = s->src.buf == POD_BUF_SUM, has_sum_dst = s->dst.buf == POD_BUF_SUM;
    if ((s->kind == POD_STEP_SEND && has_sum_src) || (s->kind == POD_STEP_RECV && has_sum_dst))
        return "sum is no end of a message";
    if (pod__step_sums(s) && (has_sum_src || has_sum_dst)) return "sum is not shared";
    const bool can_be_same = s->kind != POD_STEP_COPY;
    if (pod__step_reads(s) && pod__step_writes(s) && s->src.buf == s->dst.buf &&
        s->src.first < s->dst.first + s->count && s->dst.first < s->src.first + s->count &&
        !(can_be_same && s->src.first == s->dst.first))
        return "source and destination overlap";
    return NULL;
}

static pod_status check_spans(const pod_sched *const all[], int rank)
{
    int32_t n;
    const pod_step *steps = pod_sched_steps(all[rank], &n);
    for (int32_t i = 0; i < n; i++) {
        const pod_step *s = &steps[i];
        char text[96];
        const bool on_all = s->kind == POD_STEP_REDUCE_ALL;
        if ((pod__step_reads(s) &&
             is_beyond(all, rank, s->src, s->count, pod__step_sums(s), text)) ||
            (pod__step_writes(s) && is_beyond(all, rank, s->dst, s->count, on_all, text)))
            return pod__sched_blame(all, rank, i, text);
        const char *fault = fault_of(s);
        if (fault) return pod__sched_blame(all, rank, i, fault);
    }
    return POD_OK;
}

pod_status pod_sched_verify(const pod_sched *const all[], int n_ranks)
{
    for (int r = 0; r < n_ranks; r++) POD_TRY(pod_sched_finish(all[r]));
    pod_arena *work;
    POD_TRY(pod_arena_create(NULL, &work));
    pod_sched_order order;
    pod_status status;
    POD_TRY_GOTO(status, pod_sched_order_build(work, all, n_ranks, &order), done);
    for (int r = 0; r < n_ranks; r++) POD_TRY_GOTO(status, check_spans(all, r), done);
    POD_TRY_GOTO(status, pod__sched_check_races(work, all, n_ranks, &order), done);
done:
    pod_arena_destroy(work);
    return status;
}
