#include "runtime/study/job_model.h"

#include <math.h>

/* Without failures: the sum of what is done. */
static double undisturbed_s(const pod_job_model *m, int64_t n_whole, double work_s, double last_s)
{
    const double period_s = fmax(work_s, m->write_s) + m->save_s;
    if (n_whole == 0) return m->start_s + last_s + m->save_s + m->write_s;
    return m->start_s + work_s + m->save_s + (double)(n_whole - 1) * period_s +
           fmax(last_s, m->write_s) + m->save_s + m->write_s;
}

/* States are `fresh`, just started with k intervals kept, and `flowing`: interval k just became
 * whole, and `write` of the next has passed. From fresh to the next that is kept, work + save +
 * write must pass; from flowing max(work, write) + save. A failure leads to fresh.
 *
 *   fresh   = K (e^(L (work + save + write)) - 1)                   K = (1/L + D) e^(L R)
 *   flowing = (1 - e^(-L period)) (K + fresh) = (1 - e^(-L period)) K e^(L (work + save + write))
 */
static double flowing_s(const pod_job_model *m, double work_s)
{
    const double rate = 1 / m->mtbf_s, period_s = fmax(work_s, m->write_s) + m->save_s;
    return -expm1(-rate * period_s) * (m->mtbf_s + m->detect_s) *
           exp(rate * (m->restart_s + work_s + m->save_s + m->write_s));
}

double pod_job_model_wall_s(const pod_job_model *m)
{
    const int64_t n_whole = (m->n_steps - 1) / m->every; /* the last interval may be shorter */
    const double work_s = (double)m->every * m->step_s,
                 last_s = (double)(m->n_steps - n_whole * m->every) * m->step_s;
    if (!(m->mtbf_s > 0)) return undisturbed_s(m, n_whole, work_s, last_s);
    const double rate = 1 / m->mtbf_s, down_s = m->mtbf_s + m->detect_s;
    const double first_s = n_whole > 0 ? work_s : last_s;
    double wall_s =
        down_s * expm1(rate * m->start_s) +
        down_s * exp(rate * m->start_s) * expm1(rate * (first_s + m->save_s + m->write_s));
    if (n_whole > 1) wall_s += (double)(n_whole - 1) * flowing_s(m, work_s);
    if (n_whole > 0) wall_s += flowing_s(m, last_s);
    return wall_s;
}

double pod_job_model_goodput(const pod_job_model *m)
{
    return (double)m->n_steps * m->step_s / pod_job_model_wall_s(m);
}

double pod_job_interval_young_s(double save_s, double mtbf_s)
{
    return mtbf_s > 0 ? sqrt(2 * save_s * mtbf_s) : (double)INFINITY;
}

double pod_job_interval_daly_s(double save_s, double mtbf_s)
{
    if (!(mtbf_s > 0)) return (double)INFINITY;
    if (save_s >= 2 * mtbf_s) return mtbf_s;
    const double x = save_s / (2 * mtbf_s);
    return sqrt(2 * save_s * mtbf_s) * (1 + sqrt(x) / 3 + x / 9) - save_s;
}

/* The derivative is 0 where x + e^-(x + L save) = 1, x = L w; the left side grows with x. */
double pod_job_interval_best_s(double save_s, double mtbf_s)
{
    enum { HALVINGS = 200 };
    if (!(mtbf_s > 0)) return (double)INFINITY;
    double low = 0, high = 1;
    for (int i = 0; i < HALVINGS; i++) {
        const double x = low + (high - low) / 2;
        if (x + expm1(-(x + save_s / mtbf_s)) < 0)
            low = x;
        else
            high = x;
    }
    return low * mtbf_s;
}
