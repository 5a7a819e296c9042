#include "runtime/machine/op_times.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/parse.h"

pod_status pod_op_times_add(pod_op_times *t, const pod_op_time *point)
{
    if (t->n == POD_MAX_OP_TIMES)
        return pod_fail(POD_E_NOMEM, "more than %d times of ops", POD_MAX_OP_TIMES);
    t->at[t->n++] = *point;
    return POD_OK;
}

/* ---- text ---- */

static pod_status parse_dtype(const char *what, const char *text, int32_t *out)
{
    for (int32_t t = 0; t < POD_N_DTYPES; t++) {
        if (strcmp(pod_dtype_name((pod_dtype)t), text) != 0) continue;
        *out = t;
        return POD_OK;
    }
    return pod_fail(POD_E_INVALID, "%s: there is no type '%s'", what, text);
}

static pod_status parse_sizes(const char *what, const char *text, int32_t *columns, int32_t *width)
{
    int64_t dim[2];
    int n;
    POD_TRY(pod_parse_dims(what, text, 2, dim, &n));
    if (n != 2 || dim[0] > INT32_MAX || dim[1] > INT32_MAX)
        return pod_fail(POD_E_INVALID, "%s: '%s' is not columns x width", what, text);
    *columns = (int32_t)dim[0];
    *width = (int32_t)dim[1];
    return POD_OK;
}

pod_status pod_op_time_parse(const char *what, const char *text, pod_op_time *out)
{
    enum { WORD = 32 };
    pod_op_time p = {0};
    char dtype[WORD], from[WORD], to[WORD], flops[WORD], bytes[WORD], us[WORD], more;
    if (sscanf(text, "%23s %31s %23s %31s %31s %31s %31s %31s %c", p.op, dtype, p.impl, from, to,
               flops, bytes, us, &more) != 8)
        return pod_fail(POD_E_INVALID,
                        "%s: '%.60s' is not op, type, kernel, columns x width of two values, "
                        "FLOPs, bytes and microseconds",
                        what, text);
    POD_TRY(parse_dtype(what, dtype, &p.dtype));
    POD_TRY(parse_sizes(what, from, &p.columns[0], &p.width[0]));
    POD_TRY(parse_sizes(what, to, &p.columns[1], &p.width[1]));
    POD_TRY(pod_parse_double(what, flops, 0, 1e18, &p.flops));
    POD_TRY(pod_parse_double(what, bytes, 0, 1e18, &p.bytes));
    POD_TRY(pod_parse_double(what, us, 0, 1e12, &p.us));
    *out = p;
    return POD_OK;
}

const char *pod_op_time_print(const pod_op_time *p, char *text, size_t text_bytes)
{
    char flops[32], bytes[32], us[32];
    snprintf(text, text_bytes, "%s %s %s %dx%d %dx%d %s %s %s", p->op,
             pod_dtype_name((pod_dtype)p->dtype), p->impl, (int)p->columns[0], (int)p->width[0],
             (int)p->columns[1], (int)p->width[1], pod_print_double(p->flops, flops, sizeof flops),
             pod_print_double(p->bytes, bytes, sizeof bytes),
             pod_print_double(p->us, us, sizeof us));
    return text;
}

/* ---- looking between ---- */

/* Returns the amount that the time of similar calls is proportional to. */
static double amount(const pod_op_time *p)
{
    if (p->flops > 0) return p->flops;
    return p->bytes > 0 ? p->bytes : 1;
}

static double squared_doublings(double a, double b)
{
    if (a <= 0 || b <= 0) return 0;
    const double d = log2(a / b);
    return d * d;
}

static double squared_distance(const pod_op_time *a, const pod_op_time *b)
{
    const double size_weight = 0.25; /* twice as many samples are the same work twice */
    double d = size_weight * squared_doublings(a->bytes, b->bytes);
    if (a->bytes > 0 && b->bytes > 0)
        d += squared_doublings(a->flops / a->bytes, b->flops / b->bytes);
    for (int i = 0; i < 2; i++)
        d += squared_doublings(a->columns[i], b->columns[i]) +
             squared_doublings(a->width[i], b->width[i]);
    return d;
}

typedef enum likeness { SAME_KERNEL, SAME_TYPE, SAME_OP, N_LIKENESSES } likeness;

static bool is_like(const pod_op_time *a, const pod_op_time *b, likeness how)
{
    if (strcmp(a->op, b->op) != 0 || (a->flops > 0) != (b->flops > 0)) return false;
    if (how == SAME_OP) return true;
    return a->dtype == b->dtype && (how == SAME_TYPE || strcmp(a->impl, b->impl) == 0);
}

static double estimate(const pod_op_times *t, const pod_op_time *like, likeness how)
{
    const double nearly_0 = 1e-9;
    double weights = 0, sum = 0;
    for (int32_t i = 0; i < t->n; i++) {
        const pod_op_time *p = &t->at[i];
        if (!is_like(p, like, how) || p->us <= 0) continue;
        const double d = squared_distance(p, like) + nearly_0, weight = 1 / (d * d);
        sum += weight * log(p->us / amount(p));
        weights += weight;
    }
    return weights > 0 ? exp(sum / weights) * amount(like) : 0;
}

double pod_op_times_of_kernel(const pod_op_times *t, const pod_op_time *like)
{
    return estimate(t, like, SAME_KERNEL);
}

double pod_op_times_estimate(const pod_op_times *t, const pod_op_time *like)
{
    double us = 0;
    for (int how = 0; how < N_LIKENESSES && us <= 0; how++) us = estimate(t, like, (likeness)how);
    return us;
}
