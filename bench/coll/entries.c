/* What --algo names, and what it is then that runs. */
#include <string.h>

#include "bench/coll/coll.h"
#include "bench/common/planned.h"
#include "collectives/exec/mpi/peer_mpi.h"
#include "kernels/base/parse.h"

enum { MAX_ENTRIES = 128, MAX_NAME_BYTES = 64 };

const char *pod_bench_why_not(const pod_bench_plan *p, const pod_bench_entry *e, int size)
{
    const pod_coll_args args = pod_bench_args(p, size);
    if (e->is_peer && !pod_bench_runs_mpi(p)) return "it runs on the ranks of a job only";
    if (e->is_peer) return pod_peer_mpi_why_not(&args, p->n_ranks);
    return e->algo ? e->algo->why_not(&p->mesh, &args) : NULL;
}

const pod_coll_algo *pod_bench_pick(const pod_bench_plan *p, const pod_bench_entry *e, int size,
                                    pod_coll_args *args)
{
    *args = pod_bench_args(p, size);
    if (e->is_peer) return NULL;
    if (!e->algo) return pod_coll_pick(p->rules, &p->mesh, args);
    if (e->chunk_bytes > 0) args->chunk_bytes = e->chunk_bytes;
    return e->algo;
}

/* ---- names ---------------------------------------------------------------------------------- */

static pod_status add(pod_bench_plan *p, pod_bench_entry e)
{
    if (p->n_entries == MAX_ENTRIES)
        return pod_fail(POD_E_INVALID, "algo: more than %d of them", MAX_ENTRIES);
    p->entry[p->n_entries++] = e;
    return POD_OK;
}

/* "ring", "ring@64K", "mpi"; false when it is none of them. */
static bool find(const pod_bench_plan *p, const char *name, pod_bench_entry *out)
{
    char text[MAX_NAME_BYTES];
    if (strlen(name) >= sizeof text) return false;
    memcpy(text, name, strlen(name) + 1);
    char *chunk = strchr(text, '@');
    if (chunk) *chunk++ = '\0';
    *out = (pod_bench_entry){.name = name,
                             .algo = pod_coll_find(p->coll, text),
                             .is_peer = !chunk && strcmp(text, "mpi") == 0};
    if (chunk && pod_parse_size("chunk", chunk, &out->chunk_bytes) != POD_OK) return false;
    /* The rules say what is wrong with it. */
    if (chunk && (out->chunk_bytes == 0 || (out->algo && !out->algo->takes_chunk))) return false;
    return out->algo || out->is_peer;
}

/* Names joined by commas; *is_named is false when the only word is none. */
static pod_status add_named(pod_arena *a, const char *text, pod_bench_plan *p, bool *is_named)
{
    char *rest = pod_arena_text(a, "%s", text);
    if (!rest) return POD_E_NOMEM;
    *is_named = true;
    while (rest && *is_named) {
        char *name = rest, *comma = strchr(rest, ',');
        if (comma) *comma = '\0';
        rest = comma ? comma + 1 : NULL;
        pod_bench_entry e;
        *is_named = find(p, name, &e);
        if (strcmp(name, "all") == 0)
            return pod_fail(POD_E_INVALID, "algo: all has no others beside it, found '%s'", text);
        for (int i = 0; i < p->n_entries && *is_named; i++)
            if (strcmp(p->entry[i].name, name) == 0)
                return pod_fail(POD_E_INVALID, "algo: '%s' is there twice", name);
        if (*is_named) POD_TRY(add(p, e));
        if (!*is_named && strchr(text, ','))
            return pod_fail(POD_E_INVALID,
                            "algo: '%s' is no algorithm of %s (explain algorithms lists them)",
                            name, pod_coll_name(p->coll));
    }
    if (!*is_named) p->n_entries = 0;
    return POD_OK;
}

static pod_status add_all(pod_bench_plan *p)
{
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++)
        if (algos[i].coll == p->coll)
            POD_TRY(add(p, (pod_bench_entry){.name = algos[i].name, .algo = &algos[i]}));
    return POD_OK;
}

/* ---- chunks --------------------------------------------------------------------------------- */

/* Whether a schedule for the largest size is another with this chunk. */
static pod_status is_cut(pod_arena *a, const pod_bench_plan *p, const pod_bench_entry *e,
                         int64_t chunk_bytes, bool *out)
{
    int32_t n_steps[2];
    for (int k = 0; k < 2; k++) {
        pod_coll_args args = pod_bench_args(p, p->n_sizes - 1);
        const pod_sched *s;
        if (k == 1) args.chunk_bytes = chunk_bytes;
        POD_TRY(pod_coll_build(a, e->algo, &p->mesh, 0, &args, &s));
        (void)pod_sched_steps(s, &n_steps[k]);
    }
    *out = n_steps[0] != n_steps[1];
    return POD_OK;
}

/* Behind the entries, those of them that hand blocks on in parts, with several sizes of these. */
static pod_status add_chunks(pod_arena *a, pod_bench_plan *p)
{
    static const int64_t chunks[] = {32 << 10, 128 << 10, 512 << 10};
    const int n_whole = p->n_entries;
    for (int i = 0; i < n_whole; i++)
        for (size_t k = 0; k < sizeof chunks / sizeof chunks[0]; k++) {
            pod_bench_entry e = p->entry[i];
            bool cut = false;
            if (e.is_peer || e.chunk_bytes > 0 || pod_bench_why_not(p, &e, p->n_sizes - 1))
                continue;
            POD_TRY(is_cut(a, p, &e, chunks[k], &cut));
            if (!cut) continue;
            e.chunk_bytes = chunks[k];
            e.name = pod_arena_text(a, "%s@%s", e.algo->name, POD_SIZE_TEXT(chunks[k]));
            if (!e.name) return POD_E_NOMEM;
            POD_TRY(add(p, e));
        }
    return POD_OK;
}

/* ---- refusals ------------------------------------------------------------------------------- */

pod_status pod_bench_refuse(pod_arena *a, pod_bench_plan *p, const char *name, int n_sizes,
                            const char *why)
{
    const char *line = n_sizes == p->n_sizes ? pod_arena_text(a, "%s refuses: %s", name, why)
                                             : pod_arena_text(a, "%s refuses %d of %d sizes: %s",
                                                              name, n_sizes, p->n_sizes, why);
    if (!line) return POD_E_NOMEM;
    p->refusal[p->n_refusals++] = line;
    return POD_OK;
}

/* Takes away what refuses every size, and says what refuses any. */
static pod_status leave_out(pod_arena *a, pod_bench_plan *p)
{
    int n_kept = 0;
    p->refusal = POD_ARENA_NEW(a, const char *, 2 * p->n_entries); /* and for want of room */
    if (!p->refusal) return POD_E_NOMEM;
    for (int i = 0; i < p->n_entries; i++) {
        const pod_bench_entry e = p->entry[i];
        const char *reason = NULL;
        int n_refused = 0;
        for (int s = 0; s < p->n_sizes; s++) {
            const char *why = pod_bench_why_not(p, &e, s);
            if (why) reason = why;
            n_refused += why != NULL;
        }
        if (n_refused < p->n_sizes) p->entry[n_kept++] = e;
        if (n_refused == 0) continue;
        POD_TRY(pod_bench_refuse(a, p, e.name, n_refused, reason));
    }
    p->n_entries = n_kept;
    return POD_OK;
}

static pod_status check_none_refuses(const pod_bench_plan *p)
{
    for (int i = 0; i < p->n_entries; i++)
        for (int s = 0; s < p->n_sizes; s++) {
            const char *why = pod_bench_why_not(p, &p->entry[i], s);
            if (why)
                return pod_fail(POD_E_INVALID, "algo: %s refuses %s of %s: %s", p->entry[i].name,
                                pod_coll_name(p->coll), POD_SIZE_TEXT(pod_bench_bytes(p, s)), why);
        }
    return POD_OK;
}

/* ---- the option ----------------------------------------------------------------------------- */

/* On a pod those by which its training goes. */
static pod_status default_rules(pod_arena *a, const pod_bench_plan *p, pod_coll_rules **out)
{
    if (p->on == POD_ON_SIM && pod_machine_is_virtual(&p->machine))
        return pod_planned_pod_rules(&p->machine, &p->mesh, true, a, out);
    return pod_coll_rules_parse(a, POD_COLL_RULES_DEFAULT, out);
}

static pod_status add_rules(pod_arena *a, const char *text, pod_bench_plan *p)
{
    pod_coll_rules *rules;
    p->has_own_rules = text[0] != '\0' && strcmp(text, "rules") != 0;
    const pod_status s =
        p->has_own_rules ? pod_coll_rules_load(a, text, &rules) : default_rules(a, p, &rules);
    if (s != POD_OK) return pod_fail(s, "algo: %s", pod_error_text());
    p->rules = rules;
    return add(p, (pod_bench_entry){.name = "rules"});
}

pod_status pod_bench_entries_from(const pod_config *c, pod_arena *a, pod_bench_plan *p)
{
    const char *text = pod_config_text(c, POD_OPT_ALGO);
    const bool tunes = pod_config_is_set(c, POD_OPT_AUTOTUNE);
    bool is_named = false;
    for (int s = 1; tunes && s < p->n_sizes; s++)
        if (!pod_bench_is_alike(&p->size[s], &p->size[0]))
            return pod_fail(POD_E_INVALID,
                            "autotune: rules go by size alone; want one type, operation and root");
    if (tunes && p->chunk_bytes > 0)
        return pod_fail(POD_E_INVALID, "chunk: --autotune tries several, one of them must go");
    p->entry = POD_ARENA_NEW(a, pod_bench_entry, MAX_ENTRIES);
    if (!p->entry) return POD_E_NOMEM;
    if (strcmp(text, "all") == 0 || (tunes && text[0] == '\0')) {
        POD_TRY(add_all(p));
        if (tunes)
            POD_TRY(add_chunks(a, p));
        else
            POD_TRY(add(p, (pod_bench_entry){.name = "mpi", .is_peer = true}));
        return leave_out(a, p);
    }
    POD_TRY(add_named(a, text, p, &is_named));
    if (is_named && tunes && p->n_entries == 1 && p->entry[0].is_peer) is_named = false;
    if (is_named) return check_none_refuses(p);
    if (tunes)
        return pod_fail(POD_E_INVALID,
                        "autotune: --algo %s is not a list of algorithms to choose from", text);
    return add_rules(a, text, p);
}
