/* The arithmetic of collectives: combining received with local elements, combining many arrays, and
 * converting types. Types are f32, bf16, f16, f64, the integers, and binned
 * (kernels/base/binned.h), for which only sums exist.
 *
 * bf16 and f16 are combined in float32 and rounded once, when they are stored. Sums and products of
 * integers wrap. The maximum of a and b is a > b ? a : b, so that it is b if one is NaN; likewise
 * the minimum. Every set gives the same bits, reads each input once and writes each output once, to
 * save memory traffic. */
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
    POD_AVG, /* combined as a sum; pod_combine_divide then divides it */
    POD_N_OPS
} pod_redop;

const char *pod_redop_name(pod_redop op); /* "sum" */
/* Returns NULL if `op` exists for type t, else the reason why not. */
const char *pod_redop_why_not(pod_redop op, pod_dtype t);

typedef struct pod_combine {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    /* sum = own + from, all (count), for f32, bf16 and binned. `from` has type t; own and sum have
     * type t_sum, which is t or, for bf16, f32. own may equal sum. */
    void (*add)(int64_t count, pod_dtype t, const void *from, pod_dtype t_sum, const void *own,
                void *sum);
    /* out[k] = in[0] + in[1] + ..., for every k, added in this order. All arrays are (count), of a
     * type t that `add` takes. An output may equal an input; otherwise they do not overlap. n_in is
     * at most POD_COMBINE_MAX_INPUTS. */
    void (*add_all)(int64_t count, pod_dtype t, int n_in, const void *const in[], int n_out,
                    void *const out[]);
    /* Converts f32 to bf16, f16 or binned, or these to f32; or copies, if the types are equal. */
    void (*convert)(int64_t count, pod_dtype t_from, const void *from, pod_dtype t_to, void *to);
    /* out = own op from, all (count) of type t, which is f32, f64 or an integer. own may equal
     * out. */
    void (*fold)(int64_t count, pod_redop op, pod_dtype t, const void *from, const void *own,
                 void *out);
} pod_combine;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_combine *const *pod_combine_sets(void);
const pod_combine *pod_combine_pick(uint32_t cpu);

/* Like `add` for any operation and any type that has it (pod_redop_why_not). t_out may be f32 also
 * for f16. */
void pod_combine_two(const pod_combine *k, pod_redop op, int64_t count, pod_dtype t,
                     const void *from, pod_dtype t_out, const void *own, void *out);
/* Like `add_all` for any operation and any type that has it. */
void pod_combine_all(const pod_combine *k, pod_redop op, int64_t count, pod_dtype t, int n_in,
                     const void *const in[], int n_out, void *const out[]);
/* Divides each of `count` elements by n: bf16 and f16 in float32, rounded once; integers toward 0.
 * Not for binned. */
void pod_combine_divide(const pod_combine *k, int64_t count, pod_dtype t, int n, void *data);

#endif
