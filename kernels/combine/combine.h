/* What collectives do to elements: combine what came with what is here, combine what lies in many
 * places, change the type. Types are f32, bf16, f16, f64, the integers, and binned
 * (kernels/base/binned.h), which has sums alone.
 *
 * bf16 and f16 are combined in float32 and rounded once, when they are stored. Sums and products of
 * integers wrap. The larger of two numbers is a > b ? a : b, so b where one is NaN. Every set gives
 * the same bits, and reads each input and writes each output once; memory beyond the caches is worth
 * that. */
#ifndef MINIPOD_KERNELS_COMBINE_COMBINE_H
#define MINIPOD_KERNELS_COMBINE_COMBINE_H

#include <stdint.h>

#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

enum { POD_COMBINE_MAX_INPUTS = 256 };

typedef enum pod_redop {
    POD_SUM,
    POD_PROD,
    POD_MAX,
    POD_MIN,
    POD_AVG, /* combined as a sum, which pod_combine_divide makes the average of */
    POD_N_OPS
} pod_redop;

const char *pod_redop_name(pod_redop op); /* "sum" */
/* Why elements of type t have no such operation, or NULL. */
const char *pod_redop_why_not(pod_redop op, pod_dtype t);

typedef struct pod_combine {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    /* sum = own + from, all (count), of f32, bf16 and binned. `from` has type t; own and sum have
     * t_sum, which is t or, for bf16, f32. own may be sum. */
    void (*add)(int64_t count, pod_dtype t, const void *from, pod_dtype t_sum, const void *own,
                void *sum);
    /* out[k] = in[0] + in[1] + ..., for every k, added in this order; all (count) of type t, as in
     * `add`. An output may be an input; otherwise they do not overlap. At most
     * POD_COMBINE_MAX_INPUTS. */
    void (*add_all)(int64_t count, pod_dtype t, int n_in, const void *const in[], int n_out,
                    void *const out[]);
    /* to = from in another type, or the same: f32 to and from bf16, f16 and binned, and t to t. */
    void (*convert)(int64_t count, pod_dtype t_from, const void *from, pod_dtype t_to, void *to);
    /* out = own with from by `op`, all (count) of type t, which is f32, f64 or an integer. own may
     * be out. */
    void (*fold)(int64_t count, pod_redop op, pod_dtype t, const void *from, const void *own,
                 void *out);
} pod_combine;

/* All sets, best first, the reference last, then NULL; and the first that a CPU can run. */
const pod_combine *const *pod_combine_sets(void);
const pod_combine *pod_combine_pick(uint32_t cpu);

/* `add` by any operation, of any type that has it (pod_redop_why_not); t_out may be f32 for f16 too. */
void pod_combine_two(const pod_combine *k, pod_redop op, int64_t count, pod_dtype t,
                     const void *from, pod_dtype t_out, const void *own, void *out);
/* `add_all` likewise. */
void pod_combine_all(const pod_combine *k, pod_redop op, int64_t count, pod_dtype t, int n_in,
                     const void *const in[], int n_out, void *const out[]);
/* Each of `count` elements divided by n: bf16 and f16 in float32, rounded once; integers toward 0.
 * Not of binned. */
void pod_combine_divide(const pod_combine *k, int64_t count, pod_dtype t, int n, void *data);

#endif
