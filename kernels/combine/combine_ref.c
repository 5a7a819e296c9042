/* The specification: element by element. */
#include <string.h>

#include "kernels/base/binned.h"
#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/combine/combine.h"
#include "kernels/combine/f16.h"

static void combine_add(int64_t count, pod_dtype t, const void *from, pod_dtype t_sum,
                        const void *own, void *sum)
{
    if (t == POD_BINNED) {
        const pod_binned *a = own, *b = from;
        for (int64_t i = 0; i < count; i++) ((pod_binned *)sum)[i] = pod_binned_add(a[i], b[i]);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        pod_element_put(t_sum, sum, i,
                        pod_element_get(t_sum, own, i) + pod_element_get(t, from, i));
}

static void add_all_binned(int64_t count, int n_in, const void *const in[], int n_out,
                           void *const out[])
{
    for (int64_t i = 0; i < count; i++) {
        pod_binned sum = ((const pod_binned *)in[0])[i];
        for (int j = 1; j < n_in; j++) sum = pod_binned_add(sum, ((const pod_binned *)in[j])[i]);
        for (int k = 0; k < n_out; k++) ((pod_binned *)out[k])[i] = sum;
    }
}

static void combine_add_all(int64_t count, pod_dtype t, int n_in, const void *const in[], int n_out,
                            void *const out[])
{
    if (t == POD_BINNED) {
        add_all_binned(count, n_in, in, n_out, out);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float sum = pod_element_get(t, in[0], i);
        for (int j = 1; j < n_in; j++) sum += pod_element_get(t, in[j], i);
        for (int k = 0; k < n_out; k++) pod_element_put(t, out[k], i, sum);
    }
}

static void combine_convert(int64_t count, pod_dtype t_from, const void *from, pod_dtype t_to,
                            void *to)
{
    if (t_from == t_to) {
        if (count) memcpy(to, from, (size_t)count * pod_dtype_bytes(t_to));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (t_to == POD_F16)
            ((pod_f16 *)to)[i] = pod_f16_from_f32(((const float *)from)[i]);
        else if (t_from == POD_F16)
            ((float *)to)[i] = pod_f16_to_f32(((const pod_f16 *)from)[i]);
        else if (t_to == POD_BINNED)
            ((pod_binned *)to)[i] = pod_binned_from_f32(pod_element_get(t_from, from, i));
        else if (t_from == POD_BINNED)
            pod_element_put(t_to, to, i, pod_binned_to_f32(((const pod_binned *)from)[i]));
        else
            pod_element_put(t_to, to, i, pod_element_get(t_from, from, i));
    }
}

#include "kernels/combine/combine_fold.inc"

const pod_combine pod__combine_ref = {"ref",           0,           combine_add, combine_add_all,
                                      combine_convert, combine_fold};

POD_SETS_BF16(combine)
