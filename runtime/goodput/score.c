#include "runtime/goodput/score.h"

#include <math.h>

#include "kernels/base/assert.h"

/* The share within +-t, for a whole number of degrees of freedom a finite sum in theta = atan(t /
 * sqrt(df)): Abramowitz and Stegun 1964, 26.7.3 and 26.7.4. */
static double share_within(double t, int df)
{
    const double pi = acos(-1.0), theta = atan(t / sqrt(df)), c = cos(theta);
    const bool is_odd = df % 2 == 1;
    double term = is_odd ? c : 1, sum = df == 1 ? 0 : term;
    for (int k = is_odd ? 3 : 2; k < df; k += 2) {
        term *= (k - 1) * c * c / k;
        sum += term;
    }
    return is_odd ? 2 / pi * (theta + sin(theta) * sum) : sin(theta) * sum;
}

double pod_student_t(double share, int df)
{
    POD_ASSERT(share > 0 && share < 1 && df >= 1, "share %g, %d degrees of freedom", share, df);
    double low = 0, high = 1;
    while (share_within(high, df) < share) high *= 2;
    for (;;) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) return middle;
        if (share_within(middle, df) < share)
            low = middle;
        else
            high = middle;
    }
}

static void add_statistics(const double time_s[], pod_score *s)
{
    const double share = 0.95;
    double sum = 0, squares = 0;
    for (int i = 0; i < s->n; i++) {
        if (isinf(time_s[i])) continue;
        sum += time_s[i];
        if (time_s[i] < s->least_s) s->least_s = time_s[i];
        if (time_s[i] > s->most_s) s->most_s = time_s[i];
    }
    s->mean_s = sum / s->n_reached;
    if (s->n_reached < 2) return;
    for (int i = 0; i < s->n; i++)
        if (!isinf(time_s[i])) squares += (time_s[i] - s->mean_s) * (time_s[i] - s->mean_s);
    const int df = s->n_reached - 1;
    const double half = pod_student_t(share, df) * sqrt(squares / df / s->n_reached);
    s->low_s = s->mean_s - half;
    s->high_s = s->mean_s + half;
}

pod_score pod_score_of(const double time_s[], int n)
{
    pod_score s = {.n = n, .least_s = (double)INFINITY};
    for (int i = 0; i < n; i++) s.n_reached += !isinf(time_s[i]);
    if (s.n_reached == 0) return s;
    add_statistics(time_s, &s);
    const int n_missed = n - s.n_reached;
    s.is_valid = n >= POD_SCORE_LEAST_RUNS && n_missed <= POD_SCORE_MAX_MISSES;
    if (!s.is_valid) return s;
    const double slowest_s = n_missed == 0 ? s.most_s : 0; /* which is not among the reached else */
    s.score_s = (s.mean_s * s.n_reached - s.least_s - slowest_s) / (n - 2);
    return s;
}
