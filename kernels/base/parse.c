#include "kernels/base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

pod_status pod_parse_int(const char *what, const char *text, int64_t min, int64_t max, int64_t *out)
{
    /* strtoimax would also take leading space. */
    const bool is_number = *text && text[strspn(text, "0123456789+-")] == '\0';
    char *end = NULL;
    errno = 0;
    intmax_t value = is_number ? strtoimax(text, &end, 10) : 0;
    if (!end || *end != '\0' || end == text)
        return pod_fail(POD_E_INVALID, "%s: '%s' is not a whole number", what, text);
    if (errno == ERANGE || value < min || value > max)
        return pod_fail(POD_E_INVALID, "%s: %s is not within %" PRId64 " to %" PRId64, what, text,
                        min, max);
    *out = value;
    return POD_OK;
}

pod_status pod_parse_double(const char *what, const char *text, double min, double max, double *out)
{
    /* strtod would also take hexadecimal numbers and leading space. */
    const bool is_decimal = *text && text[strspn(text, "0123456789.eE+-")] == '\0';
    char *end = NULL;
    double value = is_decimal ? strtod(text, &end) : 0;
    if (!end || *end != '\0' || !isfinite(value))
        return pod_fail(POD_E_INVALID, "%s: '%s' is not a finite number", what, text);
    if (value < min || value > max)
        return pod_fail(POD_E_INVALID, "%s: %s is not within %g to %g", what, text, min, max);
    *out = value;
    return POD_OK;
}

/* digits [. digits] [K M G T] [B]; the whole part is kept exact, beyond what a double holds. */
static bool read_size(const char *text, int64_t *out)
{
    static const char digits[] = "0123456789", suffixes[] = "KMGT";
    if (!isdigit((unsigned char)*text)) return false;
    char *p;
    errno = 0;
    intmax_t whole = strtoimax(text, &p, 10);
    double fraction = 0;
    if (*p == '.') {
        const size_t n_digits = strspn(p + 1, digits);
        if (n_digits == 0) return false;
        fraction = strtod(p, NULL); /* stops at the suffix, which is no E */
        if (p[1 + n_digits] == 'e' || p[1 + n_digits] == 'E') return false;
        p += 1 + n_digits;
    }
    const char *suffix = *p ? strchr(suffixes, toupper((unsigned char)*p)) : NULL;
    const int shift = suffix ? 10 * (int)(suffix - suffixes + 1) : 0;
    p += suffix != NULL;
    p += suffix && *p == 'i'; /* KiB: as K and KB */
    p += *p == 'B' || *p == 'b';
    fraction = ldexp(fraction, shift);
    /* A fraction as long as 0.99999999999999999 rounds to 1. */
    const bool is_whole = fraction == floor(fraction) && fraction < ldexp(1, shift);
    if (*p != '\0' || errno || whole > INT64_MAX >> shift || !is_whole) return false;
    *out = whole * ((int64_t)1 << shift) + (int64_t)fraction;
    return true;
}

pod_status pod_parse_size(const char *what, const char *text, int64_t *out)
{
    if (!read_size(text, out))
        return pod_fail(POD_E_INVALID, "%s: '%s' is not a size in bytes (like 4096, 64K, 1.5M)",
                        what, text);
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

const char *pod_print_double(double value, char *text, size_t text_bytes)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, text_bytes, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    /* Digits that are too few for a whole number make %g write 50 as 5e+01. */
    if (fabs(value) < 1e6 && strstr(text, "e+")) snprintf(text, text_bytes, "%.0f", value);
    return text;
}
