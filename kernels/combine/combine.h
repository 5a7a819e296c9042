/* What collectives do to elements: add what came to what is here, sum what lies in many places,
 * change the type. Types are f32, bf16 and binned (kernels/base/binned.h).
 *
 * bf16 is added in float32 and rounded once, when it is stored. Every set gives the same bits, and
 * reads each input and writes each output once; memory beyond the caches is worth that. */
#ifndef MINIPOD_KERNELS_COMBINE_COMBINE_H
#define MINIPOD_KERNELS_COMBINE_COMBINE_H

#include <stdint.h>

#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

enum { POD_COMBINE_MAX_INPUTS = 256 };

typedef struct pod_combine {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    /* sum = own + from, all (count). `from` has type t; own and sum have t_sum, which is t or, for
     * bf16, f32. own may be sum. */
    void (*add)(int64_t count, pod_dtype t, const void *from, pod_dtype t_sum, const void *own,
                void *sum);
    /* out[k] = in[0] + in[1] + ..., for every k, added in this order; all (count) of type t. An
     * output may be an input; otherwise they do not overlap. At most POD_COMBINE_MAX_INPUTS. */
    void (*add_all)(int64_t count, pod_dtype t, int n_in, const void *const in[], int n_out,
                    void *const out[]);
    /* to = from in another type, or the same: f32 to and from bf16 and binned, and t to t. */
    void (*convert)(int64_t count, pod_dtype t_from, const void *from, pod_dtype t_to, void *to);
} pod_combine;

const pod_combine *pod_combine_sets(int *n); /* best first; the last one is the reference */
const pod_combine *pod_combine_pick(uint32_t cpu);

#endif
