/* Rounds pi to bfloat16 and draws a number, with headers and libraries from the install tree. */
#include <stdio.h>

#include "kernels/base/bf16.h"
#include "kernels/base/rng.h"

int main(void)
{
    pod_rng r = pod_rng_at(1, (pod_place){.stream = POD_STREAM_TEST});
    float u = pod_rng_uniform(&r);
    printf("%g %d\n", (double)pod_bf16_to_f32(pod_bf16_from_f32(3.14159265f)), u >= 0 && u < 1);
    return 0;
}
