/* The text of a schedule and of its steps. */
#include <inttypes.h>
#include <stdbool.h>

#include "collectives/sched/sched.h"

static const char *const kind_names[POD_N_STEP_KINDS] = {
    "send", "recv", "recv_reduce", "copy", "join", "sync", "reduce_from", "reduce_all", "divide"};
static const char *const buf_names[POD_N_BUFS] = {"main", "scratch", "sum"};

const char *pod_step_kind_name(pod_step_kind kind) { return kind_names[kind]; }

/* Adds to a text that may be full. */
static void append(char *text, size_t text_bytes, const char *fmt, ...) POD_PRINTF(3, 4);
static void append(char *text, size_t text_bytes, const char *fmt, ...)
{
    size_t used = 0;
    while (used < text_bytes && text[used]) used++;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + used, text_bytes - used, fmt, args);
    va_end(args);
}

static void append_span(char *text, size_t text_bytes, pod_span span, int64_t count)
{
    append(text, text_bytes, " %s[%" PRId64 "..%" PRId64 ")", buf_names[span.buf], span.first,
           span.first + count);
}

const char *pod_step_print(const pod_step *step, char *text, size_t text_bytes)
{
    const bool is_send = step->kind == POD_STEP_SEND, is_divide = step->kind == POD_STEP_DIVIDE;
    bool is_own = step->kind == POD_STEP_COPY || step->kind == POD_STEP_REDUCE_FROM ||
                  step->kind == POD_STEP_REDUCE_ALL;
    bool is_recv = step->kind == POD_STEP_RECV || step->kind == POD_STEP_RECV_REDUCE;
    snprintf(text, text_bytes, "%s", kind_names[step->kind]);
    if (is_send || is_own || is_divide) append_span(text, text_bytes, step->src, step->count);
    if (is_own) append(text, text_bytes, " to");
    if (is_recv || is_own) append_span(text, text_bytes, step->dst, step->count);
    if (is_send || is_recv)
        append(text, text_bytes, " %s %d tag %d", is_send ? "to" : "from", step->peer, step->tag);
    if (is_divide) append(text, text_bytes, " by %d", step->peer);
    if (step->kind == POD_STEP_SYNC) append(text, text_bytes, " tag %d", step->tag);
    if (step->kind == POD_STEP_RECV_REDUCE &&
        (step->src.buf != step->dst.buf || step->src.first != step->dst.first)) {
        append(text, text_bytes, " plus");
        append_span(text, text_bytes, step->src, step->count);
    }
    const char *word = " after";
    for (int i = 0; i < 2; i++) {
        if (step->after[i] == POD_NO_STEP) continue;
        append(text, text_bytes, "%s %d", word, (int)step->after[i]);
        word = ",";
    }
    return text;
}

void pod_sched_print(FILE *out, int rank, const pod_sched *s)
{
    int32_t n;
    const pod_step *steps = pod_sched_steps(s, &n);
    fprintf(out, "rank %d: %d steps over %" PRId64 " elements, scratch %" PRId64, rank, (int)n,
            pod_sched_count(s), pod_sched_scratch_count(s));
    if (pod_sched_sum_count(s)) fprintf(out, ", sum %" PRId64, pod_sched_sum_count(s));
    int n_shared;
    const int *shared = pod_sched_shared(s, &n_shared);
    for (int k = 0; k < n_shared; k++) fprintf(out, "%s %d", k ? "" : ", shared by", shared[k]);
    fputc('\n', out);
    for (int32_t i = 0; i < n; i++) {
        char text[POD_STEP_TEXT_BYTES];
        fprintf(out, "%5d  %s\n", (int)i, pod_step_print(&steps[i], text, sizeof text));
    }
}
