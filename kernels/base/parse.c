#include "kernels/base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool has_space_or_is_empty(const char *text)
{
    if (*text == '\0') return true;
    for (const char *p = text; *p; p++)
        if (isspace((unsigned char)*p)) return true;
    return false;
}

pod_status pod_parse_int(const char *what, const char *text, int64_t min, int64_t max, int64_t *out)
{
    errno = 0;
    char *end;
    intmax_t value = has_space_or_is_empty(text) ? 0 : strtoimax(text, &end, 10);
    if (has_space_or_is_empty(text) || *end != '\0' || end == text)
        return pod_fail(POD_E_INVALID, "%s: '%s' is not a whole number", what, text);
    if (errno == ERANGE || value < min || value > max)
        return pod_fail(POD_E_INVALID, "%s: %s is not within %" PRId64 " to %" PRId64, what, text,
                        min, max);
    *out = value;
    return POD_OK;
}

pod_status pod_parse_double(const char *what, const char *text, double min, double max, double *out)
{
    char *end;
    double value = has_space_or_is_empty(text) ? 0 : strtod(text, &end);
    if (has_space_or_is_empty(text) || *end != '\0' || end == text || !isfinite(value))
        return pod_fail(POD_E_INVALID, "%s: '%s' is not a finite number", what, text);
    if (value < min || value > max)
        return pod_fail(POD_E_INVALID, "%s: %s is not within %g to %g", what, text, min, max);
    *out = value;
    return POD_OK;
}

pod_status pod_parse_size(const char *what, const char *text, int64_t *out)
{
    static const char suffixes[] = "KMGT";
    char *end;
    double value = has_space_or_is_empty(text) ? -1 : strtod(text, &end);
    bool ok = !has_space_or_is_empty(text) && end != text && isdigit((unsigned char)text[0]);
    if (ok) {
        const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
        if (suffix) {
            value = ldexp(value, 10 * (int)(suffix - suffixes + 1));
            end++;
        }
        if (*end == 'B' || *end == 'b') end++;
        ok = *end == '\0' && value < 0x1p62 && value == floor(value);
    }
    if (!ok)
        return pod_fail(POD_E_INVALID, "%s: '%s' is not a size in bytes (like 4096, 64K, 1.5M)",
                        what, text);
    *out = (int64_t)value;
    return POD_OK;
}

pod_status pod_parse_bool(const char *what, const char *text, bool *out)
{
    static const char *const yes[] = {"on", "true", "yes", "1"};
    static const char *const no[] = {"off", "false", "no", "0"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        if (strcasecmp(text, yes[i]) == 0) return *out = true, POD_OK;
        if (strcasecmp(text, no[i]) == 0) return *out = false, POD_OK;
    }
    return pod_fail(POD_E_INVALID, "%s: '%s' is neither on nor off", what, text);
}

pod_status pod_parse_dims(const char *what, const char *text, int max_dims, int64_t dim[],
                          int *n_dims)
{
    int64_t found[16];
    int n = 0;
    const char *p = text;
    for (bool more = true; more; n++) {
        char *end;
        errno = 0;
        long long value = isdigit((unsigned char)*p) ? strtoll(p, &end, 10) : 0;
        if (value <= 0 || errno || n == max_dims || n == 16 || (*end != 'x' && *end != '\0'))
            return pod_fail(POD_E_INVALID, "%s: '%s' is not 1 to %d positive numbers joined by x",
                            what, text, max_dims);
        found[n] = value;
        more = *end == 'x';
        p = end + 1;
    }
    memcpy(dim, found, (size_t)n * sizeof dim[0]);
    *n_dims = n;
    return POD_OK;
}

const char *pod_print_size(int64_t bytes, char *text, size_t text_bytes)
{
    static const char suffixes[] = "KMGT";
    int shift = -1;
    while (shift < 3 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        shift++;
    }
    if (shift < 0)
        snprintf(text, text_bytes, "%" PRId64, bytes);
    else
        snprintf(text, text_bytes, "%" PRId64 "%c", bytes, suffixes[shift]);
    return text;
}
