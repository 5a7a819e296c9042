#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "bench/coll/coll.h"
#include "bench/common/planned.h"
#include "kernels/base/parse.h"
#include "runtime/core/words.h"
#include "runtime/machine/machine_net.h"
#include "runtime/task/setup.h"

enum { MAX_SIZES = 10000 };

/* ---- sizes ---------------------------------------------------------------------------------- */

/* In nccl-tests' order, then ours. */
static const pod_bench_type types[] = {
    {"int8", POD_I8},    {"uint8", POD_U8},      {"int32", POD_I32},    {"uint32", POD_U32},
    {"int64", POD_I64},  {"uint64", POD_U64},    {"half", POD_F16},     {"float", POD_F32},
    {"double", POD_F64}, {"bfloat16", POD_BF16}, {"exact", POD_BINNED},
};
enum { N_TYPES = sizeof types / sizeof types[0] };

/* Other names for the types. */
static const char *known_as(const char *name)
{
    static const char *const same[][2] = {{"f32", "float"},  {"f16", "half"},
                                          {"f64", "double"}, {"bf16", "bfloat16"},
                                          {"fp32", "float"}, {"fp16", "half"}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (strcmp(same[i][0], name) == 0) return same[i][1];
    return name;
}

static const char *type_name(int i) { return types[i].name; }
static const char *op_name(int i) { return pod_redop_name((pod_redop)i); }

/* Reads a list of names, or `all`, into their numbers, each once. */
static pod_status parse_list(const char *what, const char *text, const char *(*name_of)(int), int n,
                             int out[], int *n_out)
{
    char name[32];
    *n_out = 0;
    if (strcmp(text, "all") == 0) {
        while (*n_out < n) out[*n_out] = *n_out, ++*n_out;
        return POD_OK;
    }
    for (const char *at = text; *at;) {
        POD_TRY(pod_word_take(what, &at, name, sizeof name));
        int i = 0;
        while (i < n && strcmp(name_of(i), known_as(name)) != 0) i++;
        char names[256] = "";
        for (int k = 0; i == n && k < n; k++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", k ? ", " : "",
                     name_of(k));
        if (i == n)
            return pod_fail(POD_E_INVALID, "%s: '%s' is none of %s, all", what, name, names);
        for (int k = 0; k < *n_out; k++)
            if (out[k] == i) return pod_fail(POD_E_INVALID, "%s: '%s' is there twice", what, name);
        out[(*n_out)++] = i;
    }
    return POD_OK;
}

/* Whole elements; of an alltoall, equal blocks. */
static int64_t count_of(const pod_bench_plan *p, const pod_bench_type *t, int64_t bytes)
{
    const int64_t count = bytes / (int64_t)pod_dtype_bytes(t->dtype);
    return p->coll == POD_ALLTOALL ? count / p->n_ranks * p->n_ranks : count;
}

static int64_t next_size(const pod_config *c, int64_t bytes)
{
    const int64_t step = pod_config_size(c, POD_OPT_STEPBYTES);
    if (step > 0) return bytes + step;
    return bytes > 0 ? bytes * pod_config_int(c, POD_OPT_STEPFACTOR) : 1;
}

static pod_status add_size(const pod_config *c, pod_bench_plan *p, pod_bench_size *size,
                           pod_bench_size of)
{
    const pod_bench_size *last = p->n_sizes > 0 ? &size[p->n_sizes - 1] : NULL;
    if (last && last->count == of.count && pod_bench_is_alike(last, &of)) return POD_OK;
    if (p->n_sizes == MAX_SIZES)
        return pod_fail(POD_E_INVALID,
                        "minbytes, maxbytes: more than %d rows: there is one for each size from %s "
                        "to %s, type, operation and root; ask for fewer",
                        MAX_SIZES, pod_config_value(c, POD_OPT_MINBYTES),
                        pod_config_value(c, POD_OPT_MAXBYTES));
    size[p->n_sizes++] = of;
    return POD_OK;
}

static pod_status check_range(const pod_config *c)
{
    if (pod_config_size(c, POD_OPT_MINBYTES) > pod_config_size(c, POD_OPT_MAXBYTES))
        return pod_fail(POD_E_INVALID, "minbytes: %s is more than maxbytes, %s",
                        pod_config_value(c, POD_OPT_MINBYTES),
                        pod_config_value(c, POD_OPT_MAXBYTES));
    if (pod_config_is_set(c, POD_OPT_STEPFACTOR) && pod_config_is_set(c, POD_OPT_STEPBYTES))
        return pod_fail(POD_E_INVALID, "stepbytes: stepfactor is given too, one of them must go");
    return POD_OK;
}

/* The roots from *first on: -1 is each. */
static pod_status roots_from(const pod_config *c, const pod_bench_plan *p, int *first, int *n)
{
    const int root = (int)pod_config_int(c, POD_OPT_ROOT);
    *first = root < 0 ? 0 : root;
    *n = root < 0 ? p->n_ranks : 1;
    if (pod_config_is_set(c, POD_OPT_ROOT) && !pod_coll_has_root(p->coll))
        return pod_fail(POD_E_INVALID, "root: %s has none", pod_coll_name(p->coll));
    if (root >= p->n_ranks)
        return pod_fail(POD_E_INVALID, "root: %d is no rank of %d", root, p->n_ranks);
    return POD_OK;
}

/* As nccl-tests' loops: by type, by operation, by root, by size. */
static pod_status sizes_from(const pod_config *c, pod_arena *a, pod_bench_plan *p)
{
    const int64_t min = pod_config_size(c, POD_OPT_MINBYTES);
    const int64_t max = pod_config_size(c, POD_OPT_MAXBYTES);
    const bool adds = pod_coll_adds(p->coll);
    int type[N_TYPES], op[POD_N_OPS], n_types, n_ops, root, n_roots;
    pod_bench_size *size = POD_ARENA_NEW(a, pod_bench_size, MAX_SIZES);
    if (!size) return POD_E_NOMEM;
    POD_TRY(check_range(c));
    POD_TRY(parse_list("datatype", pod_config_text(c, POD_OPT_DATATYPE), type_name, N_TYPES, type,
                       &n_types));
    POD_TRY(parse_list("op", pod_config_text(c, POD_OPT_OP), op_name, POD_N_OPS, op, &n_ops));
    POD_TRY(roots_from(c, p, &root, &n_roots));
    const char *refused = NULL;
    for (int t = 0; t < n_types; t++)
        for (int o = 0; o < (adds ? n_ops : 1); o++) {
            const pod_bench_type *of = &types[type[t]];
            const pod_redop by = adds ? (pod_redop)op[o] : POD_SUM;
            const char *why = pod_redop_why_not(by, of->dtype);
            if (why) refused = why;
            for (int r = root; !why && r < root + n_roots; r++)
                for (int64_t bytes = min; bytes <= max; bytes = next_size(c, bytes))
                    POD_TRY(
                        add_size(c, p, size, (pod_bench_size){count_of(p, of, bytes), of, by, r}));
        }
    if (p->n_sizes == 0)
        return pod_fail(POD_E_INVALID, "op: %s of %s: %s", pod_config_text(c, POD_OPT_OP),
                        pod_config_text(c, POD_OPT_DATATYPE), refused);
    p->size = size;
    return POD_OK;
}

pod_coll_args pod_bench_args(const pod_bench_plan *p, int size)
{
    pod_coll_args args = {.coll = p->coll,
                          .dtype = p->size[size].type->dtype,
                          .op = p->size[size].op,
                          .count = p->size[size].count,
                          .root = p->size[size].root,
                          .group = pod_group_all(&p->mesh),
                          .node_size = p->node_size,
                          .chunk_bytes = p->chunk_bytes};
    if (p->rules) (void)pod_coll_pick(p->rules, &p->mesh, &args);
    return args;
}

int64_t pod_bench_bytes(const pod_bench_plan *p, int size)
{
    return p->size[size].count * (int64_t)pod_dtype_bytes(p->size[size].type->dtype);
}

bool pod_bench_runs_mpi(const pod_bench_plan *p)
{
    return p->on == POD_ON_SHM || p->on == POD_ON_MPI;
}

int pod_bench_n_cold(const pod_bench_plan *p, int size)
{
    enum { MAX_BUFFERS = 96 };
    const int64_t max_node_bytes = (int64_t)1 << 32; /* but for two buffers of each rank */
    const int64_t bytes = pod_bench_bytes(p, size) * p->n_node_ranks;
    if (bytes == 0 || !p->with_cold || !pod_bench_runs_mpi(p)) return 0;
    const int64_t n = (3 * p->cache_bytes / 2 + bytes - 1) / bytes;
    if (n <= 2) return 2;
    return n <= MAX_BUFFERS && n * bytes <= max_node_bytes ? (int)n : 0;
}

/* Some size has a row, and where rules come of them, every one. */
static pod_status check_buffers(const pod_config *c, const pod_bench_plan *p)
{
    const bool tunes = pod_config_is_set(c, POD_OPT_AUTOTUNE);
    int n_cold = 0, other = 0; /* the last size without cold buffers */
    for (int s = 0; s < p->n_sizes; s++) {
        if (pod_bench_n_cold(p, s) > 0)
            n_cold++;
        else
            other = s;
    }
    if (p->with_hot || n_cold == p->n_sizes || (n_cold > 0 && !tunes)) return POD_OK;
    if (!pod_bench_runs_mpi(p))
        return pod_fail(POD_E_INVALID, "buffers: on %s none are cold",
                        pod_config_text(c, POD_OPT_ON));
    return pod_fail(POD_E_INVALID,
                    "buffers: too many of %" PRId64 " bytes would be needed for them to be cold%s",
                    pod_bench_bytes(p, other),
                    tunes ? ", and --autotune wants a time at every size" : "");
}

/* ---- where ---------------------------------------------------------------------------------- */

static pod_bench_on on_of(const char *text)
{
    return strcmp(text, "mpi") == 0     ? POD_ON_MPI
           : strcmp(text, "local") == 0 ? POD_ON_LOCAL
           : strcmp(text, "sim") == 0   ? POD_ON_SIM
                                        : POD_ON_SHM;
}

const char *pod_bench_clock(const pod_bench_plan *p)
{
    return p->on == POD_ON_SIM ? "virtual" : "wall";
}

static int n_on_my_node(pod_comm *comm)
{
    int n = 0;
    for (int r = 0; r < pod_comm_size(comm); r++) n += pod_comm_shares_node(comm, r);
    return n;
}

/* Rank 0's node stands for all. */
static void describe_node(pod_comm *comm, pod_bench_plan *p)
{
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    p->cache_bytes = bytes > 0 ? bytes : 32 << 20;
    p->n_cores = pod_comm_cores(comm).here;
    pod_comm_broadcast(comm, 0, &p->cache_bytes, sizeof p->cache_bytes);
    pod_comm_broadcast(comm, 0, &p->n_cores, sizeof p->n_cores);
    double most = n_on_my_node(comm);
    pod_comm_max(comm, &most, 1);
    p->n_node_ranks = (int)most;
}

/* The machine, and its links under this mesh. */
static pod_status machine_from(const pod_config *c, pod_bench_plan *p)
{
    const char *name = pod_config_text(c, POD_OPT_MACHINE);
    if (p->on != POD_ON_SIM) {
        if (pod_config_is_set(c, POD_OPT_MACHINE))
            return pod_fail(POD_E_INVALID,
                            "machine: %s is for --on sim; on %s the clock is this host's", name,
                            pod_config_text(c, POD_OPT_ON));
        pod_machine_describe_host(&p->machine);
        return POD_OK;
    }
    if (!pod_config_is_set(c, POD_OPT_MACHINE))
        return pod_fail(POD_E_INVALID, "machine: --on sim wants one, like --machine %s",
                        pod_machine_known(0));
    POD_TRY(pod_machine_load(name, &p->machine));
    POD_TRY(pod_machine_wrap_mesh(&p->machine, &p->mesh));
    return pod_machine_net(&p->machine, &p->mesh, &p->net);
}

/* All ranks of the mesh in this process. */
static pod_status place_alone(const pod_config *c, pod_comm *comm, pod_bench_plan *p)
{
    const char *mesh = pod_config_text(c, POD_OPT_MESH);
    if (pod_comm_size(comm) > 1)
        return pod_fail(POD_E_INVALID, "on: %s is one process, found %d ranks (mpirun -n %d)",
                        pod_config_text(c, POD_OPT_ON), pod_comm_size(comm), pod_comm_size(comm));
    POD_TRY(pod_mesh_parse(strcmp(mesh, "auto") == 0 ? "2x2" : mesh, &p->mesh));
    p->n_ranks = pod_mesh_size(&p->mesh);
    return POD_OK;
}

static pod_status place_ranks(const pod_config *c, pod_comm *comm, pod_bench_plan *p)
{
    const int64_t node = pod_config_int(c, POD_OPT_NODE);
    p->n_ranks = pod_comm_size(comm);
    p->node_size = 1;
    POD_TRY(pod_setup_mesh(pod_config_text(c, POD_OPT_MESH), p->n_ranks, &p->mesh));
    if (p->on == POD_ON_MPI) return POD_OK;
    if (node > 0) pod_comm_split_nodes(comm, (int)node);
    p->node_size = pod_comm_node_size(comm);
    if (strcmp(pod_config_text(c, POD_OPT_ON), "shm") == 0 && n_on_my_node(comm) < p->n_ranks)
        return pod_fail(POD_E_INVALID,
                        "on: shm is of one node, found %d ranks on several; auto"
                        " takes shared memory within a node and MPI between",
                        p->n_ranks);
    return POD_OK;
}

static pod_status check_node(const pod_config *c, const pod_bench_plan *p, int n_ranks)
{
    const int64_t node = pod_config_int(c, POD_OPT_NODE);
    if (node > n_ranks || (node > 0 && n_ranks % node != 0))
        return pod_fail(POD_E_INVALID, "node: %" PRId64 " ranks a node do not divide %d ranks",
                        node, n_ranks);
    if (node > 0 && p->on == POD_ON_MPI)
        return pod_fail(POD_E_INVALID, "node: with --on mpi no ranks share memory");
    return POD_OK;
}

/* What would do nothing in a simulation, or make what no pod is. */
static pod_status check_simulation(const pod_config *c, const pod_bench_plan *p)
{
    const bool is_pod = pod_machine_is_virtual(&p->machine);
    const pod_source typed = POD_FROM_COMMAND_LINE;
    if (pod_config_source(c, POD_OPT_CHECK) == typed && pod_config_bool(c, POD_OPT_CHECK))
        return pod_fail(POD_E_INVALID, "check: --on sim moves no data that could be wrong");
    if (pod_config_source(c, POD_OPT_PER_ITER_TIMING) == typed &&
        pod_config_bool(c, POD_OPT_PER_ITER_TIMING))
        return pod_fail(POD_E_INVALID, "per-iter-timing: --on sim has one time for all iterations");
    if (is_pod && pod_config_source(c, POD_OPT_NODE) == typed &&
        pod_config_int(c, POD_OPT_NODE) > 0)
        return pod_fail(POD_E_INVALID, "node: the cores of %s share no memory", p->machine.name);
    return POD_OK;
}

/* Of ranks that are all in this process: those of a host share memory as in a run; the cores of a
 * pod share none, whatever a file says of the nodes of runs. */
static pod_status share_alone(const pod_config *c, pod_bench_plan *p)
{
    p->node_size = 1;
    if (p->on == POD_ON_SIM && pod_machine_is_virtual(&p->machine)) return POD_OK;
    POD_TRY(check_node(c, p, p->n_ranks));
    p->node_size = pod_planned_node_size(c, p->n_ranks);
    return POD_OK;
}

static pod_status place_from(const pod_config *c, pod_comm *comm, pod_bench_plan *p)
{
    const char *on = pod_config_text(c, POD_OPT_ON);
    if (strcmp(on, "host") == 0) return pod_fail(POD_E_INVALID, "on: host is for scale");
    p->on = on_of(on);
    describe_node(comm, p);
    if (pod_bench_runs_mpi(p)) {
        POD_TRY(check_node(c, p, pod_comm_size(comm)));
        return place_ranks(c, comm, p);
    }
    return place_alone(c, comm, p);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Options of nccl-tests for what is not here: the value that says so, and what there is instead. */
static pod_status check_foreign(const pod_config *c)
{
    static const struct {
        pod_opt option;
        int64_t only;
        const char *instead;
    } foreign[] = {
        {POD_OPT_NGPUS, 1, "a rank is one core; start more of them with mpirun -n"},
        {POD_OPT_NTHREADS, 1, "a rank is one thread; start more ranks with mpirun -n"},
        {POD_OPT_AGG_ITERS, 1, "operations are not grouped; they run back to back, -n of them"},
        {POD_OPT_CUDAGRAPH, 0,
         "there are no graphs; each schedule is built once, before the clock"},
        {POD_OPT_TIMEOUT, 0,
         "a rank that does not come is named after 30 s, one that died at once"},
    };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (pod_config_int(c, foreign[i].option) != foreign[i].only)
            return pod_fail(
                POD_E_INVALID, "%s: %s, want %" PRId64 ": %s", pod_options[foreign[i].option].name,
                pod_config_value(c, foreign[i].option), foreign[i].only, foreign[i].instead);
    return POD_OK;
}

/* What is collective in it fails on all ranks alike. */
static pod_status read_plan(pod_call *call, pod_arena *a, pod_bench_plan *out)
{
    const pod_config *c = call->config;
    const char *buffers = pod_config_text(c, POD_OPT_BUFFERS);
    pod_bench_plan p = {
        .chunk_bytes = pod_config_size(c, POD_OPT_CHUNK),
        .n_iters = (int)pod_config_int(c, POD_OPT_ITERS),
        .n_warmup = (int)pod_config_int(c, POD_OPT_WARMUP_ITERS),
        .n_rounds = (int)pod_config_int(c, POD_OPT_ROUNDS),
        .with_hot = strcmp(buffers, "cold") != 0,
        .with_cold = strcmp(buffers, "hot") != 0,
        .n_checks = (int)pod_config_count(c, POD_OPT_CHECK),
        .average = (int)pod_config_int(c, POD_OPT_AVERAGE),
        .is_blocking = pod_config_bool(c, POD_OPT_BLOCKING),
        .counts_cpu_time = pod_config_bool(c, POD_OPT_REPORT_CPUTIME),
    };
    const char *collective = pod_config_text(c, POD_OPT_COLLECTIVE);
    if (!pod_coll_parse(collective, &p.coll))
        return pod_fail(POD_E_INVALID,
                        "collective: '%s' is none of all_reduce, reduce_scatter, all_gather, "
                        "broadcast, alltoall, reduce, sendrecv",
                        collective);
    POD_TRY(check_foreign(c));
    POD_TRY(place_from(c, call->comm, &p));
    POD_TRY(machine_from(c, &p));
    if (p.on == POD_ON_SIM) {
        POD_TRY(check_simulation(c, &p));
        p.n_checks = 0;
    }
    if (!pod_bench_runs_mpi(&p)) POD_TRY(share_alone(c, &p));
    POD_TRY(sizes_from(c, a, &p));
    POD_TRY(check_buffers(c, &p));
    POD_TRY(pod_bench_entries_from(c, a, &p));
    *out = p;
    return POD_OK;
}

/* A file of rules is read on every host, from its own disk. */
static pod_status check_same_rules(pod_comm *comm, pod_arena *a, const pod_bench_plan *p)
{
    const char *text = p->rules ? pod_coll_rules_print(a, p->rules) : "";
    POD_TRY(pod_comm_agree(comm, text ? POD_OK : POD_E_NOMEM));
    return pod_comm_same(comm, "algo: the rules", text, strlen(text));
}

pod_status pod_bench_plan_from(pod_call *call, pod_arena *a, pod_bench_plan *out)
{
    POD_TRY(pod_comm_agree(call->comm, read_plan(call, a, out)));
    return check_same_rules(call->comm, a, out);
}
