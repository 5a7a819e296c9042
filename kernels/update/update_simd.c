/* Updates in vectors, compiled once for each instruction set: the roundings of the reference, in
 * its order, so the same bits. */
#include "kernels/base/simd/simd.h"
#include "kernels/update/update.h"

POD_INLINE pod_vec get(const float *x, int64_t i, int n) { return pod_vec_load(POD_F32, x, i, n); }
POD_INLINE void put(float *x, int64_t i, int n, pod_vec v) { pod_vec_store(POD_F32, x, i, n, v); }

POD_INLINE void momentum_as(bool outer, bool nesterov, int64_t count, float rate, float momentum,
                            float decay, const float *g, float *v, float *w)
{
    const pod_vec r = pod_vec_all(rate), mu = pod_vec_all(momentum), k = pod_vec_all(decay);
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec wi = get(w, i, n);
        const pod_vec decayed = pod_vec_add(get(g, i, n), pod_vec_mul(k, wi));
        const pod_vec e = outer ? decayed : pod_vec_mul(r, decayed);
        const pod_vec vi = pod_vec_add(pod_vec_mul(mu, get(v, i, n)), e);
        const pod_vec d = nesterov ? pod_vec_add(e, pod_vec_mul(mu, vi)) : vi;
        put(v, i, n, vi);
        put(w, i, n, pod_vec_sub(wi, outer ? pod_vec_mul(r, d) : d));
    });
}

static void update_momentum_outer(int64_t count, float rate, float momentum, float decay,
                                  bool nesterov, const float *g, float *v, float *w)
{
    if (nesterov)
        momentum_as(true, true, count, rate, momentum, decay, g, v, w);
    else
        momentum_as(true, false, count, rate, momentum, decay, g, v, w);
}

static void update_momentum_inner(int64_t count, float rate, float momentum, float decay,
                                  bool nesterov, const float *g, float *v, float *w)
{
    if (nesterov)
        momentum_as(false, true, count, rate, momentum, decay, g, v, w);
    else
        momentum_as(false, false, count, rate, momentum, decay, g, v, w);
}

static void update_rmsprop(int64_t count, const pod_rmsprop_attr *attr, float rate, const float *g,
                           float *s, float *v, float *w)
{
    const pod_vec rho = pod_vec_all(attr->rho), rest = pod_vec_all(1 - attr->rho);
    const pod_vec mu = pod_vec_all(attr->momentum), eps = pod_vec_all(attr->eps);
    const pod_vec k = pod_vec_all(attr->decay), r = pod_vec_all(rate);
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec wi = get(w, i, n);
        const pod_vec e = pod_vec_add(get(g, i, n), pod_vec_mul(k, wi));
        const pod_vec square = pod_vec_mul(rest, pod_vec_mul(e, e));
        const pod_vec si = pod_vec_add(pod_vec_mul(rho, get(s, i, n)), square);
        const pod_vec step = pod_vec_div(pod_vec_mul(r, e), pod_vec_sqrt(pod_vec_add(si, eps)));
        const pod_vec vi = pod_vec_add(pod_vec_mul(mu, get(v, i, n)), step);
        put(s, i, n, si);
        put(v, i, n, vi);
        put(w, i, n, pod_vec_sub(wi, vi));
    });
}

typedef struct adam {
    pod_vec b1, rest1, b2, rest2, per_c1, per_c2, eps, decay;
} adam;

POD_INLINE adam adam_of(const pod_adam_attr *attr)
{
    return (adam){.b1 = pod_vec_all(attr->beta1),
                  .rest1 = pod_vec_all(1 - attr->beta1),
                  .b2 = pod_vec_all(attr->beta2),
                  .rest2 = pod_vec_all(1 - attr->beta2),
                  .per_c1 = pod_vec_all(1 / attr->correction1),
                  .per_c2 = pod_vec_all(1 / attr->correction2),
                  .eps = pod_vec_all(attr->eps),
                  .decay = pod_vec_all(attr->decay)};
}

/* The new m and v. */
POD_INLINE pod_vec mean_of(const adam *a, pod_vec m, pod_vec g)
{
    return pod_vec_add(pod_vec_mul(a->b1, m), pod_vec_mul(a->rest1, g));
}
POD_INLINE pod_vec square_of(const adam *a, pod_vec v, pod_vec g)
{
    return pod_vec_add(pod_vec_mul(a->b2, v), pod_vec_mul(a->rest2, pod_vec_mul(g, g)));
}

POD_INLINE pod_vec direction(const adam *a, pod_vec m, pod_vec v, pod_vec w)
{
    const pod_vec root = pod_vec_add(pod_vec_sqrt(pod_vec_mul(v, a->per_c2)), a->eps);
    const pod_vec ratio = pod_vec_div(pod_vec_mul(m, a->per_c1), root);
    return pod_vec_add(ratio, pod_vec_mul(a->decay, w));
}

static void update_adam_step(int64_t count, const pod_adam_attr *attr, float rate, const float *g,
                             float *m, float *v, float *w)
{
    const adam a = adam_of(attr);
    const pod_vec r = pod_vec_all(rate);
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec gi = get(g, i, n), wi = get(w, i, n);
        const pod_vec mi = mean_of(&a, get(m, i, n), gi), vi = square_of(&a, get(v, i, n), gi);
        put(m, i, n, mi);
        put(v, i, n, vi);
        put(w, i, n, pod_vec_sub(wi, pod_vec_mul(r, direction(&a, mi, vi, wi))));
    });
}

/* The sums in the order of reduce_simd.c. */
static void update_adam_norms(int64_t count, const pod_adam_attr *attr, const float *g,
                              const float *w, float *m, float *v, float *w_sq, float *u_sq)
{
    enum { BLOCK = POD_SUM_SWEEPS * POD_VEC_LANES };
    const adam a = adam_of(attr);
    double w_total[POD_VEC_LANES] = {0}, u_total[POD_VEC_LANES] = {0}, w_all = 0, u_all = 0;
    for (int64_t at = 0; at < count; at += BLOCK) {
        const int64_t length = count - at < BLOCK ? count - at : BLOCK;
        pod_vec w_sum = pod_vec_all(0), u_sum = pod_vec_all(0);
        POD_VEC_EACH(POD_VEC_LANES, length, k, n, {
            const int64_t i = at + k;
            const pod_vec gi = get(g, i, n), wi = get(w, i, n);
            const pod_vec mi = mean_of(&a, get(m, i, n), gi), vi = square_of(&a, get(v, i, n), gi);
            const pod_vec u = pod_vec_first(n, direction(&a, mi, vi, wi), pod_vec_all(0));
            put(m, i, n, mi);
            put(v, i, n, vi);
            w_sum = pod_vec_fma(wi, wi, w_sum);
            u_sum = pod_vec_fma(u, u, u_sum);
        });
        pod_vec_add_f64(w_sum, w_total);
        pod_vec_add_f64(u_sum, u_total);
    }
    for (int lane = 0; lane < POD_VEC_LANES; lane++) {
        w_all += w_total[lane];
        u_all += u_total[lane];
    }
    *w_sq = (float)w_all;
    *u_sq = (float)u_all;
}

static void update_adam_direction(int64_t count, const pod_adam_attr *attr, const float *g,
                                  const float *w, float *m, float *v, float *u)
{
    const adam a = adam_of(attr);
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec gi = get(g, i, n);
        const pod_vec mi = mean_of(&a, get(m, i, n), gi), vi = square_of(&a, get(v, i, n), gi);
        put(m, i, n, mi);
        put(v, i, n, vi);
        put(u, i, n, direction(&a, mi, vi, get(w, i, n)));
    });
}

static void update_adam_descend(int64_t count, const pod_adam_attr *attr, float rate,
                                const float *m, const float *v, float *w)
{
    const adam a = adam_of(attr);
    const pod_vec r = pod_vec_all(rate);
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec wi = get(w, i, n), u = direction(&a, get(m, i, n), get(v, i, n), wi);
        put(w, i, n, pod_vec_sub(wi, pod_vec_mul(r, u)));
    });
}

const pod_update POD_ISA(pod__update) = {
    POD_ISA_SET,      update_momentum_outer, update_momentum_inner, update_rmsprop,
    update_adam_step, update_adam_norms,     update_adam_direction, update_adam_descend};
