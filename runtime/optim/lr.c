#include "runtime/optim/lr.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static const char *const kind_name[POD_N_LR_KINDS] = {
#define POD_X(id, name) [POD_LR_##id] = (name),
    POD_LR_MAP(POD_X)
#undef POD_X
};

static int64_t warmup_end(const pod_lr *lr) { return lr->warmup_start + lr->warmup_steps; }

static double constant(const pod_lr *lr, int64_t s)
{
    (void)s;
    return lr->base;
}

static double poly(const pod_lr *lr, int64_t s)
{
    if (lr->from_start) {
        const double left = 1.0 - (double)s / (double)lr->train_steps;
        return left > 0 ? (lr->base - lr->end) * pow(left, lr->power) + lr->end : lr->end;
    }
    const int64_t end = warmup_end(lr);
    if (s == end && s > 0) return lr->base;
    const double p = fmax(1.0, (double)(s - end));
    const double length = (double)(lr->train_steps - end + 1);
    if (p >= length) return lr->end;
    return (lr->base - lr->end) * pow(1.0 - p / length, lr->power) + lr->end;
}

static double stairs(const pod_lr *lr, int64_t s)
{
    return lr->base * pow(lr->decay_rate, floor((double)s / lr->decay_steps));
}

static double cosine(const pod_lr *lr, int64_t s)
{
    const double done = (double)(s - warmup_end(lr));
    const double length = (double)(lr->train_steps - warmup_end(lr));
    if (done >= length) return lr->end;
    return lr->end + (lr->base - lr->end) * (1.0 + cos(pi * done / length)) / 2.0;
}

static double noam(const pod_lr *lr, int64_t s)
{
    const double w = fmax(1.0, (double)lr->warmup_steps);
    return lr->base * sqrt(w / fmax((double)(s - lr->warmup_start), w));
}

double pod_lr_at(const pod_lr *lr, int64_t step)
{
    static double (*const after_warmup[POD_N_LR_KINDS])(const pod_lr *, int64_t) = {
        [POD_LR_CONSTANT] = constant, [POD_LR_POLY] = poly, [POD_LR_EXP] = stairs,
        [POD_LR_COSINE] = cosine,     [POD_LR_NOAM] = noam,
    };
    const double warmed = (double)(step - lr->warmup_start);
    if (warmed < (double)lr->warmup_steps)
        return lr->base * fmax(0.0, warmed) / (double)lr->warmup_steps;
    return after_warmup[lr->kind](lr, step);
}

const char *pod_lr_print(pod_lr_kind kind) { return kind_name[kind]; }

pod_status pod_lr_parse(const char *text, pod_lr_kind *out)
{
    for (int k = 0; k < POD_N_LR_KINDS; k++)
        if (strcmp(kind_name[k], text) == 0) {
            *out = (pod_lr_kind)k;
            return POD_OK;
        }
#define POD_X(id, name) " " name
    return pod_fail(POD_E_INVALID, "learning-rate schedule '%s': the kinds are" POD_LR_MAP(POD_X),
                    text);
#undef POD_X
}
