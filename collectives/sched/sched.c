#include "collectives/sched/sched.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "kernels/base/assert.h"

enum { FIRST_CAPACITY = 16, FAILURE_BYTES = 160 };

struct pod_sched {
    pod_arena *arena;
    pod_step *steps;
    int32_t n_steps, capacity;
    int64_t count;
    int64_t needs[POD_N_BUFS]; /* elements that the steps touch */
    int n_tags;
    int *shared, n_shared;
    pod_redop op;
    pod_status status; /* of the first add that failed, with its text */
    char failure[FAILURE_BYTES];
};

pod_status pod_sched_create(pod_arena *a, int64_t count, pod_sched **out)
{
    if (count < 0)
        return pod_fail(POD_E_INVALID, "schedule: a buffer of %" PRId64 " elements", count);
    pod_sched *s = POD_ARENA_NEW(a, pod_sched, 1);
    if (!s) return POD_E_NOMEM;
    s->arena = a;
    s->count = count;
    *out = s;
    return POD_OK;
}

void pod_sched_set_op(pod_sched *s, pod_redop op) { s->op = op; }

pod_redop pod_sched_op(const pod_sched *s) { return s->op; }

static int32_t fail(pod_sched *s, pod_status status)
{
    s->status = status;
    snprintf(s->failure, sizeof s->failure, "%s", pod_error_text());
    return POD_NO_STEP;
}

static pod_status check_step(const pod_sched *s, const pod_step *step)
{
    for (int i = 0; i < 2; i++)
        if (step->after[i] < POD_NO_STEP || step->after[i] >= s->n_steps)
            return pod_fail(POD_E_INVALID, "schedule: step %d comes after %d, not an earlier step",
                            (int)s->n_steps, (int)step->after[i]);
    if (step->count < 0 || step->src.first < 0 || step->dst.first < 0 || step->tag < 0 ||
        step->tag == INT_MAX || step->src.first > INT64_MAX - step->count ||
        step->dst.first > INT64_MAX - step->count)
        return pod_fail(POD_E_INVALID,
                        "schedule: step %d has count %" PRId64 ", tag %d, spans from %" PRId64
                        " and %" PRId64,
                        (int)s->n_steps, step->count, step->tag, step->src.first, step->dst.first);
    return POD_OK;
}

/* The old array stays behind in the arena: at most as much again as the schedule itself. */
static pod_status grow(pod_sched *s)
{
    if (s->capacity > INT32_MAX / 2)
        return pod_fail(POD_E_UNSUPPORTED, "schedule: more than %d steps", (int)s->capacity);
    int32_t capacity = s->capacity ? 2 * s->capacity : FIRST_CAPACITY;
    pod_step *steps = POD_ARENA_NEW(s->arena, pod_step, capacity);
    if (!steps) return POD_E_NOMEM;
    if (s->n_steps) memcpy(steps, s->steps, (size_t)s->n_steps * sizeof *steps);
    s->steps = steps;
    s->capacity = capacity;
    return POD_OK;
}

static void note_need(pod_sched *s, pod_span span, int64_t count)
{
    if (span.first + count > s->needs[span.buf]) s->needs[span.buf] = span.first + count;
}

int32_t pod_sched_add(pod_sched *s, pod_step step)
{
    if (s->status != POD_OK) return POD_NO_STEP;
    pod_status status = check_step(s, &step);
    if (status == POD_OK && s->n_steps == s->capacity) status = grow(s);
    if (status != POD_OK) return fail(s, status);
    note_need(s, step.src, step.count);
    note_need(s, step.dst, step.count);
    if (step.tag >= s->n_tags) s->n_tags = step.tag + 1;
    s->steps[s->n_steps] = step;
    return s->n_steps++;
}

int32_t pod_sched_send(pod_sched *s, int peer, int tag, pod_span src, int64_t count, int32_t after)
{
    if (count == 0) return after;
    return pod_sched_add(s, (pod_step){.kind = POD_STEP_SEND,
                                       .peer = peer,
                                       .tag = tag,
                                       .after = {after, POD_NO_STEP},
                                       .src = src,
                                       .count = count});
}

int32_t pod_sched_recv(pod_sched *s, int peer, int tag, pod_span dst, int64_t count, int32_t after)
{
    if (count == 0) return after;
    return pod_sched_add(s, (pod_step){.kind = POD_STEP_RECV,
                                       .peer = peer,
                                       .tag = tag,
                                       .after = {after, POD_NO_STEP},
                                       .dst = dst,
                                       .count = count});
}

int32_t pod_sched_recv_reduce(pod_sched *s, int peer, int tag, pod_span span, int64_t count,
                              int32_t after, int32_t after_too)
{
    if (count == 0) return after;
    return pod_sched_add(s, (pod_step){.kind = POD_STEP_RECV_REDUCE,
                                       .peer = peer,
                                       .tag = tag,
                                       .after = {after, after_too},
                                       .src = span,
                                       .dst = span,
                                       .count = count});
}

int32_t pod_sched_copy(pod_sched *s, pod_span src, pod_span dst, int64_t count, int32_t after)
{
    if (count == 0) return after;
    return pod_sched_add(s, (pod_step){.kind = POD_STEP_COPY,
                                       .after = {after, POD_NO_STEP},
                                       .src = src,
                                       .dst = dst,
                                       .count = count});
}

int32_t pod_sched_sync(pod_sched *s, int tag, int32_t after)
{
    return pod_sched_add(
        s, (pod_step){.kind = POD_STEP_SYNC, .tag = tag, .after = {after, POD_NO_STEP}});
}

static int32_t reduce(pod_sched *s, pod_step_kind kind, pod_span src, pod_span dst, int64_t count,
                      int32_t after)
{
    if (count == 0) return after;
    return pod_sched_add(
        s,
        (pod_step){
            .kind = kind, .after = {after, POD_NO_STEP}, .src = src, .dst = dst, .count = count});
}

int32_t pod_sched_reduce_from(pod_sched *s, pod_span src, pod_span dst, int64_t count,
                              int32_t after)
{
    return reduce(s, POD_STEP_REDUCE_FROM, src, dst, count, after);
}

int32_t pod_sched_reduce_all(pod_sched *s, pod_span span, int64_t count, int32_t after)
{
    return reduce(s, POD_STEP_REDUCE_ALL, span, span, count, after);
}

int32_t pod_sched_join(pod_sched *s, int32_t a, int32_t b)
{
    if (a == b || b == POD_NO_STEP) return a;
    if (a == POD_NO_STEP) return b;
    return pod_sched_add(s, (pod_step){.kind = POD_STEP_JOIN, .after = {a, b}});
}

/* What waits for every step: for those that no other one waits for. */
static int32_t join_all(pod_sched *s)
{
    const int32_t n = s->n_steps;
    int32_t all = POD_NO_STEP;
    bool *is_awaited = POD_ARENA_NEW(s->arena, bool, n);
    if (!is_awaited) return fail(s, POD_E_NOMEM);
    for (int32_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            if (s->steps[i].after[k] != POD_NO_STEP) is_awaited[s->steps[i].after[k]] = true;
    for (int32_t i = 0; i < n; i++)
        if (!is_awaited[i]) all = pod_sched_join(s, all, i);
    return all;
}

int32_t pod_sched_divide(pod_sched *s, pod_span span, int64_t count, int n)
{
    if (s->status != POD_OK) return POD_NO_STEP;
    const int32_t after = join_all(s);
    if (count == 0) return after;
    return pod_sched_add(s, (pod_step){.kind = POD_STEP_DIVIDE,
                                       .peer = n,
                                       .after = {after, POD_NO_STEP},
                                       .src = span,
                                       .dst = span,
                                       .count = count});
}

void pod_sched_share(pod_sched *s, const int rank[], int n)
{
    if (s->status != POD_OK) return;
    POD_ASSERT(s->n_shared == 0, "a schedule shares with %d ranks and then with %d", s->n_shared,
               n);
    if (n > POD_COMBINE_MAX_INPUTS) {
        (void)fail(s, pod_fail(POD_E_UNSUPPORTED, "schedule: %d ranks share memory, at most %d", n,
                               POD_COMBINE_MAX_INPUTS));
        return;
    }
    int *copy = POD_ARENA_NEW(s->arena, int, n);
    if (!copy) {
        (void)fail(s, POD_E_NOMEM);
        return;
    }
    memcpy(copy, rank, (size_t)n * sizeof *copy);
    s->shared = copy;
    s->n_shared = n;
}

const int *pod_sched_shared(const pod_sched *s, int *n)
{
    *n = s->n_shared;
    return s->shared;
}

pod_status pod_sched_finish(const pod_sched *s)
{
    return s->status == POD_OK ? POD_OK : pod_fail(s->status, "%s", s->failure);
}

pod_arena *pod_sched_arena(const pod_sched *s) { return s->arena; }

const pod_step *pod_sched_steps(const pod_sched *s, int32_t *n)
{
    *n = s->n_steps;
    return s->steps;
}

int64_t pod_sched_count(const pod_sched *s) { return s->count; }

int64_t pod_sched_scratch_count(const pod_sched *s) { return s->needs[POD_BUF_SCRATCH]; }

int64_t pod_sched_sum_count(const pod_sched *s) { return s->needs[POD_BUF_SUM]; }

pod_dtype pod_sched_dtype(pod_buf buf, pod_dtype t)
{
    return buf == POD_BUF_SUM && (t == POD_BF16 || t == POD_F16) ? POD_F32 : t;
}

int pod_sched_n_tags(const pod_sched *s) { return s->n_tags; }
