#include "runtime/exec/finite.h"

bool pod__all_finite(pod_dtype t, const void *data, int64_t count)
{
    /* Infinities and NaNs, and nothing else, have an exponent of all ones. */
    if (t == POD_F32) {
        const uint32_t *bits = data, exponent = 0x7f800000u;
        for (int64_t i = 0; i < count; i++)
            if ((bits[i] & exponent) == exponent) return false;
    } else if (t == POD_BF16) {
        const uint16_t *bits = data;
        const unsigned exponent = 0x7f80u;
        for (int64_t i = 0; i < count; i++)
            if ((bits[i] & exponent) == exponent) return false;
    }
    return true;
}
