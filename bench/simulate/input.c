#include "bench/simulate/input.h"

#include "collectives/net/engine.h"
#include "runtime/machine/machine.h"

static int min(int a, int b) { return a < b ? a : b; }

/* Cores of a host; a machine that is here is one host. 0: not known. */
static int cores_of_host(const pod_planned *p, int n_cores)
{
    const pod_machine *m = &p->machine;
    if (!pod_machine_is_virtual(m)) return n_cores;
    return min(n_cores, (int)(m->chips_per_host * m->cores_per_chip));
}

static double bytes_of_sample(const pod_dataset_info *d)
{
    return (double)d->height * (double)d->width * (double)d->channels + sizeof(int32_t);
}

pod_status pod_simulate_input(const pod_planned *p, pod_input_time *out)
{
    const pod_machine *m = &p->machine;
    const int n_cores = pod_mesh_size(&p->setup.compile.mesh), of_host = cores_of_host(p, n_cores);
    const double local = (double)p->setup.batch / n_cores;
    pod_input_time t = {.n_hosts = of_host > 0 ? (n_cores + of_host - 1) / of_host : 0};
    if (p->input_rate > 0 && of_host == 0)
        return pod_fail(POD_E_INVALID,
                        "machine %s: its file has no chips_per_host, which --input-rate needs",
                        m->name);
    if (p->input_rate > 0) t.make_s = local * of_host / p->input_rate;
    if (m->feed_gb_per_s > 0)
        t.feed_s = local * (double)(m->cores_per_chip > 0 ? m->cores_per_chip : 1) *
                   bytes_of_sample(&p->data) / (1e9 * m->feed_gb_per_s);
    t.seconds = t.make_s > t.feed_s ? t.make_s : t.feed_s;
    if (pod_ps(t.seconds) == POD_PS_NEVER)
        return pod_fail(POD_E_INVALID,
                        "input-rate: %g samples/s make a batch in more than the 53 days that the "
                        "clock counts",
                        p->input_rate);
    *out = t;
    return POD_OK;
}
