/* --autotune: which algorithm at which size, from what was measured, as rules that `train --algo
 * @FILE` reads, with the measurements as comments.
 *
 * As few ranges as possible: a range begins with the algorithm that stays within SLACK of the
 * fastest for the most sizes on end, so what noise decides between two that are as good changes
 * nothing. Where hot and cold buffers were measured, their geometric mean counts. */
#include <math.h>

#include "bench/coll/coll.h"
#include "kernels/base/parse.h"
#include "runtime/core/file.h"

static const double SLACK = 0.05;

typedef struct range { /* of sizes that one entry serves */
    int entry, first, n;
    double excess; /* sum of logarithms of its time / the fastest: breaks ties */
} range;

static double time_of(const pod_bench *b, int entry, int size)
{
    double log_sum = 0;
    int n = 0;
    for (int is_cold = 0; is_cold < 2; is_cold++) {
        const pod_bench_row *r = pod_bench_find(b, size, entry, is_cold);
        if (!r) continue;
        log_sum += log(pod_bench_time_s(r));
        n++;
    }
    return n > 0 ? exp(log_sum / n) : (double)INFINITY;
}

/* The fastest of ours but for one; -1: there is no other. */
static int fastest_but(const pod_bench *b, int size, int but)
{
    int best = -1;
    for (int e = 0; e < b->plan.n_entries; e++) {
        const double s = time_of(b, e, size);
        if (e == but || b->plan.entry[e].is_peer || !isfinite(s)) continue;
        if (best < 0 || s < time_of(b, best, size)) best = e;
    }
    return best;
}

static range range_of(const pod_bench *b, int entry, int first)
{
    range r = {.entry = entry, .first = first};
    for (int s = first; s < b->plan.n_sizes; s++) {
        const double mine = time_of(b, entry, s);
        const double fastest = time_of(b, fastest_but(b, s, -1), s);
        if (!(mine <= (1 + SLACK) * fastest)) break;
        r.excess += fastest > 0 ? log(mine / fastest) : 0;
        r.n++;
    }
    return r;
}

static range best_range(const pod_bench *b, int first)
{
    range best = {.entry = -1};
    for (int e = 0; e < b->plan.n_entries; e++) {
        if (b->plan.entry[e].is_peer) continue;
        const range r = range_of(b, e, first);
        if (best.entry < 0 || r.n > best.n || (r.n == best.n && r.excess < best.excess)) best = r;
    }
    return best;
}

/* ---- the file ------------------------------------------------------------------------------- */

static void put_entry(FILE *to, const pod_bench *b, const char *before, int entry, int size)
{
    if (entry >= 0)
        fprintf(to, "%s%s %.4g us", before, b->plan.entry[entry].name,
                1e6 * time_of(b, entry, size));
}

/* The entry that is what the default rules pick; -1: it was not measured. */
static int default_entry(const pod_bench *b, const pod_coll_rules *rules, int size)
{
    pod_coll_args args = pod_bench_args(&b->plan, size);
    const pod_coll_algo *algo = pod_coll_pick(rules, &b->plan.mesh, &args);
    for (int e = 0; e < b->plan.n_entries; e++)
        if (b->plan.entry[e].algo == algo && b->plan.entry[e].chunk_bytes == 0) return e;
    return -1;
}

static void put_range(FILE *to, const pod_bench *b, const pod_coll_rules *defaults, const range *r)
{
    const pod_bench_plan *p = &b->plan;
    const int end = r->first + r->n;
    fputc('\n', to);
    for (int s = r->first; s < end; s++) {
        const int fastest = fastest_but(b, s, -1);
        fprintf(to, "# %s: ", POD_SIZE_TEXT(pod_bench_bytes(p, s)));
        put_entry(to, b, "", r->entry, s);
        if (fastest != r->entry) put_entry(to, b, ", fastest ", fastest, s);
        put_entry(to, b, ", next ", fastest_but(b, s, fastest), s);
        put_entry(to, b, ", default ", default_entry(b, defaults, s), s);
        fputc('\n', to);
    }
    const int64_t from = r->first > 0 ? pod_bench_bytes(p, r->first) : 0;
    fprintf(to, "%s:%s-", pod_coll_name(p->coll), POD_SIZE_TEXT(from));
    if (end < p->n_sizes) fputs(POD_SIZE_TEXT(pod_bench_bytes(p, end)), to);
    fprintf(to, ":%s\n", p->entry[r->entry].name);
}

static void put_head(FILE *to, const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    fprintf(to, "# Rules for --algo @FILE, by minipod coll --autotune %s, git %s.\n", POD_VERSION,
            POD_GIT_ID);
    fprintf(to, "# Clock %s, machine %s, host %s (%s), %s.\n", pod_bench_clock(p), p->machine.name,
            b->host.hostname, b->host.cpu_model, pod_comm_version(b->call->comm));
    fprintf(to, "# %s of %s, mesh %s, %d ranks, %d of a node, %d physical core%s, on %s.\n",
            pod_coll_name(p->coll), p->size[0].type->name, POD_MESH_TEXT(&p->mesh), p->n_ranks,
            p->node_size, p->n_cores, p->n_cores == 1 ? "" : "s",
            pod_config_text(b->call->config, POD_OPT_ON));
    fprintf(to, "# %d algorithms at %d sizes", p->n_entries, p->n_sizes);
    if (p->on != POD_ON_SIM) fprintf(to, ", %d rounds of %d iterations", p->n_rounds, p->n_iters);
    if (pod_bench_runs_mpi(p))
        fprintf(to, ", %s buffers%s", pod_config_text(b->call->config, POD_OPT_BUFFERS),
                p->with_hot && p->with_cold ? " (geometric mean of hot and cold)" : "");
    fputs(".\n", to);
    fprintf(to,
            "# A range has the one that stays within %g %% of the fastest for the most sizes.\n",
            100 * SLACK);
}

static void put_rules(FILE *to, const pod_bench *b, const pod_coll_rules *defaults)
{
    put_head(to, b);
    for (int s = 0; s < b->plan.n_sizes;) {
        const range r = best_range(b, s);
        put_range(to, b, defaults, &r);
        s += r.n;
    }
}

pod_status pod_bench_autotune(const pod_bench *b, const char *path)
{
    pod_coll_rules *defaults;
    pod_file *f;
    POD_TRY(pod_coll_rules_parse(b->arena, POD_COLL_RULES_DEFAULT, &defaults));
    POD_TRY(pod_file_open_result(path, &f));
    put_rules(pod_file_stream(f), b, defaults);
    POD_TRY(pod_file_close(f));
    pod_log_say(b->call->log, POD_LOG_RESULT, "# rules written: %s", path);
    return POD_OK;
}
