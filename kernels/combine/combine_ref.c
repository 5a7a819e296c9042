/* The specification: element by element. */
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/element.h"
#include "kernels/combine/sets.h"

void pod__combine_add_ref(int64_t count, pod_dtype t, const void *from, pod_dtype t_sum,
                          const void *own, void *sum)
{
    for (int64_t i = 0; i < count; i++)
        pod_element_put(t_sum, sum, i,
                        pod_element_get(t_sum, own, i) + pod_element_get(t, from, i));
}

void pod__combine_add_all_ref(int64_t count, pod_dtype t, int n_in, const void *const in[],
                              int n_out, void *const out[])
{
    for (int64_t i = 0; i < count; i++) {
        float sum = pod_element_get(t, in[0], i);
        for (int j = 1; j < n_in; j++) sum += pod_element_get(t, in[j], i);
        for (int k = 0; k < n_out; k++) pod_element_put(t, out[k], i, sum);
    }
}

void pod__combine_convert_ref(int64_t count, pod_dtype t_from, const void *from, pod_dtype t_to,
                              void *to)
{
    if (t_from == t_to) {
        if (count) memcpy(to, from, (size_t)count * pod_dtype_bytes(t_to));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        pod_element_put(t_to, to, i, pod_element_get(t_from, from, i));
}
