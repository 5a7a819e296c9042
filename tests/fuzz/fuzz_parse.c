/* The parsers of kernels/base on any text: they neither crash nor lie. What parses is within its
 * range, and a size that is printed reads back equal. */
#include <math.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[128], printed[32];
    if (bytes >= sizeof text) return 0;
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';

    int64_t whole = 0, size = 0, again = -1, dim[4];
    double real = 0;
    bool flag;
    int n_dims = 0;
    if (pod_parse_int("int", text, -1000, 1000, &whole) == POD_OK)
        POD_ASSERT(whole >= -1000 && whole <= 1000, "'%s' is read as %lld", text, (long long)whole);
    if (pod_parse_double("double", text, -HUGE_VAL, HUGE_VAL, &real) == POD_OK)
        POD_ASSERT(isfinite(real), "'%s' is read as %g", text, real);
    if (pod_parse_size("size", text, &size) == POD_OK) {
        pod_print_size(size, printed, sizeof printed);
        pod_status s = pod_parse_size("size", printed, &again);
        POD_ASSERT(size >= 0 && s == POD_OK && again == size, "'%s' is read as %lld, printed '%s'",
                   text, (long long)size, printed);
    }
    if (pod_parse_dims("dims", text, 4, dim, &n_dims) == POD_OK)
        for (int i = 0; i < n_dims; i++)
            POD_ASSERT(n_dims <= 4 && dim[i] > 0, "'%s' has extent %lld", text, (long long)dim[i]);
    (void)!pod_parse_bool("bool", text, &flag);
    return 0;
}
