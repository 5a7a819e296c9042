#include "collectives/exec/add_received.h"

enum { PART_ELEMENTS = 1024 };

/* dst, of type t, = own + received, where own is float32. */
static void add_and_round(const pod_combine *combine, pod_redop op, pod_dtype t, int64_t count,
                          const char *received, const float *own, char *dst)
{
    const int64_t bytes = (int64_t)pod_dtype_bytes(t);
    float sum[PART_ELEMENTS];
    for (int64_t i = 0; i < count; i += PART_ELEMENTS) {
        const int64_t n = count - i < PART_ELEMENTS ? count - i : PART_ELEMENTS;
        pod_combine_two(combine, op, n, t, received + i * bytes, POD_F32, own + i, sum);
        combine->convert(n, POD_F32, sum, t, dst + i * bytes);
    }
}

/* dst, float32, = own + received, both of type t. In parts too: what was widened is added to while
 * it is in L1. */
static void widen_and_add(const pod_combine *combine, pod_redop op, pod_dtype t, int64_t count,
                          const char *received, const char *own, float *dst)
{
    const int64_t bytes = (int64_t)pod_dtype_bytes(t);
    for (int64_t i = 0; i < count; i += PART_ELEMENTS) {
        const int64_t n = count - i < PART_ELEMENTS ? count - i : PART_ELEMENTS;
        combine->convert(n, t, own + i * bytes, POD_F32, dst + i);
        pod_combine_two(combine, op, n, t, received + i * bytes, POD_F32, dst + i, dst + i);
    }
}

void pod__add_received(const pod_combine *combine, pod_redop op, const pod_step *step, pod_dtype t,
                       int64_t count, const void *received, const void *own, void *dst)
{
    const pod_dtype t_own = pod_sched_dtype(step->src.buf, t);
    const pod_dtype t_dst = pod_sched_dtype(step->dst.buf, t);
    if (t_own == t_dst) {
        pod_combine_two(combine, op, count, t, received, t_dst, own, dst);
    } else if (t_dst == t) {
        add_and_round(combine, op, t, count, received, own, dst);
    } else {
        widen_and_add(combine, op, t, count, received, own, dst);
    }
}
