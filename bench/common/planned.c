#include "bench/common/planned.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectives/algo/rules.h"
#include "collectives/exec/sim/sim.h"
#include "kernels/base/cpu.h"
#include "kernels/base/parse.h"
#include "runtime/core/words.h"
#include "runtime/exec/cost.h"
#include "runtime/machine/machine_net.h"

static pod_status published(const pod_network_choice *choice, pod_arena *arena,
                            pod_dataset_info *out)
{
    const pod_model *m = choice->model;
    if (!m) {
        *out = (pod_dataset_info){.name = "", .n_tokens = choice->language->n_tokens};
        return POD_OK;
    }
    double *mean = POD_ARENA_NEW(arena, double, m->c), *std = POD_ARENA_NEW(arena, double, m->c);
    if (!mean || !std) return POD_E_NOMEM;
    for (int64_t c = 0; c < m->c; c++) std[c] = 1;
    *out = (pod_dataset_info){.name = "",
                              .height = m->h,
                              .width = m->w,
                              .channels = m->c,
                              .n_classes = (int)m->n_classes,
                              .mean = mean,
                              .std = std};
    return POD_OK;
}

/* Of a text, whose samples have plans that grow with it. */
static pod_status find_samples(pod_planned *p)
{
    pod_arena *a;
    pod_status s = POD_OK;
    POD_TRY(pod_arena_create(NULL, &a));
    for (int i = 0; i < POD_N_SPLITS && s == POD_OK; i++) {
        pod_samples samples = {0};
        s = p->net.task->samples(&p->setup, p->dataset, i == POD_SPLIT_TRAIN, a, &samples);
        p->samples_bytes += samples.kept_bytes;
    }
    pod_arena_destroy(a);
    return s;
}

static pod_status find_data(const pod_config *c, pod_arena *arena, pod_planned *p)
{
    if (!pod_config_is_set(c, POD_OPT_DATA)) return published(&p->choice, arena, &p->data);
    const pod_dataset_options only_the_labels = {.cache_bytes = 0};
    POD_TRY(pod_dataset_open_with(p->setup.data, p->setup.seed, &only_the_labels, &p->dataset));
    p->data = p->dataset->info;
    return p->choice.language ? find_samples(p) : POD_OK;
}

/* Unless the settings say otherwise: gradients are joined as far as a pod's compiler does it, and
 * reduced along the dimensions of the mesh whatever their size, which all cores do alike; scattered
 * and gathered likewise, but on a mesh of few cores by what takes least time on the virtual clock. */
enum { BUCKET_OF_A_POD = 32 << 20, BUCKETS_OF_A_POD = 8, FEW_CORES = 64 };
#define RULES_OF_A_POD  "allreduce:0-128M:torus2d;128M-:torus2d@4M;0-:bucket;0-:ring2;0-:ring"
#define RULES_OF_HALVES ";reduce_scatter:torus2d;ring2;ring;allgather:torus2d;ring2;ring"

/* A rule for the smallest sizes, and one from where on that of the largest ones takes less. Sizes
 * are tried in steps of 4. */
static pod_status cheapest_rules(const pod_net *net, const pod_mesh *mesh, pod_coll coll,
                                 pod_arena *arena, const char **out)
{
    enum { FIRST_BYTES = 1 << 10, LAST_BYTES = 256 << 20 };
    pod_coll_args args = {.coll = coll, .dtype = POD_BF16, .group = pod_group_all(mesh)};
    const pod_coll_algo *small, *large, *algo;
    args.count = FIRST_BYTES / 2;
    POD_TRY(pod_sim_cheapest(net, mesh, &args, &small));
    args.count = LAST_BYTES / 2;
    POD_TRY(pod_sim_cheapest(net, mesh, &args, &large));
    int64_t from = LAST_BYTES;
    for (algo = large; large != small && from > FIRST_BYTES; from /= 4) {
        args.count = from / 4 / 2;
        POD_TRY(pod_sim_cheapest(net, mesh, &args, &algo));
        if (algo != large) break;
    }
    const char *name = pod_coll_name(coll);
    *out = small == large ? pod_arena_text(arena, "%s:%s", name, small->name)
                          : pod_arena_text(arena, "%s:0-%" PRId64 ":%s;%s", name, from, small->name,
                                           large->name);
    return *out ? POD_OK : POD_E_NOMEM;
}

pod_status pod_planned_pod_rules(const pod_machine *machine, const pod_mesh *mesh, bool is_sharded,
                                 pod_arena *arena, pod_coll_rules **out)
{
    pod_net net;
    if (!is_sharded) return pod_coll_rules_parse(arena, RULES_OF_A_POD, out);
    if (pod_mesh_size(mesh) > FEW_CORES)
        return pod_coll_rules_parse(arena, RULES_OF_A_POD RULES_OF_HALVES, out);
    POD_TRY(pod_machine_net(machine, mesh, &net));
    const char *scatter, *gather;
    POD_TRY(cheapest_rules(&net, mesh, POD_REDUCE_SCATTER, arena, &scatter));
    POD_TRY(cheapest_rules(&net, mesh, POD_ALLGATHER, arena, &gather));
    const char *text = pod_arena_text(arena, RULES_OF_A_POD ";%s;%s", scatter, gather);
    return text ? pod_coll_rules_parse(arena, text, out) : POD_E_NOMEM;
}

int pod_planned_node_size(const pod_config *c, int n_ranks)
{
    const int64_t given = pod_config_int(c, POD_OPT_NODE);
    return given == 0 || given > n_ranks ? n_ranks : (int)given;
}

/* A machine that is not this host has none of its kernels, caches and fusions: what is joined there
 * is known when it is costed. */
static pod_status take_machine(const pod_config *c, pod_arena *arena, pod_planned *p)
{
    if (!pod_machine_is_virtual(&p->machine)) return pod_target_from(c, &p->machine, &p->target);
    POD_TRY(pod_machine_wrap_mesh(&p->machine, &p->setup.compile.mesh));
    p->target = (pod_target){.name = p->machine.name, .cpu = POD_CPU_REFERENCE_ONLY};
    p->setup.compile.tile_bytes = 0;
    p->setup.compile.fusion = false;
    p->setup.plain_attention = false;
    if (*pod_config_text(c, POD_OPT_ALGO)) return POD_OK;
    pod_coll_rules *rules;
    POD_TRY(pod_planned_pod_rules(&p->machine, &p->setup.compile.mesh,
                                  p->setup.compile.shard_update, arena, &rules));
    p->setup.compile.rules = rules;
    return POD_OK;
}

static pod_status choose_bucket(const pod_config *c, pod_planned *p)
{
    pod_arena *arena;
    pod_graph *g;
    int64_t bytes = 0;
    if (!pod_machine_is_virtual(&p->machine) || pod_config_is_set(c, POD_OPT_BUCKET)) return POD_OK;
    POD_TRY(pod_arena_create(NULL, &arena));
    const pod_status s = pod_network_graph(&p->net, &p->setup, &p->data, false, arena, &g);
    for (int i = 0; s == POD_OK && i < pod_graph_n_variables(g); i++) {
        const pod_variable_info *v = pod_graph_variable(g, i);
        if (v->role != POD_ROLE_MOVING)
            bytes += (int64_t)sizeof(float) * pod_shape_count(&pod_graph_type(g, v->value)->shape);
    }
    pod_arena_destroy(arena);
    const int64_t mib = 1 << 20, share = (bytes / BUCKETS_OF_A_POD + mib - 1) / mib * mib;
    p->setup.compile.bucket_bytes = share > BUCKET_OF_A_POD ? share : BUCKET_OF_A_POD;
    return s;
}

/* "0,17" */
static pod_status parse_watched(const char *text, int n_cores, pod_planned *p)
{
    while (*text) {
        char word[16];
        int64_t core;
        POD_TRY(pod_word_take("trace-cores", &text, word, sizeof word));
        if (p->n_watched == POD_MAX_WATCHED)
            return pod_fail(POD_E_INVALID, "trace-cores: more than %d", POD_MAX_WATCHED);
        POD_TRY(pod_parse_int("trace-cores", word, 0, n_cores - 1, &core));
        for (int i = 0; i < p->n_watched; i++)
            if (p->watched[i] == core)
                return pod_fail(POD_E_INVALID, "trace-cores: '%s' is there twice", word);
        p->watched[p->n_watched++] = (int)core;
    }
    if (p->n_watched > 0) return POD_OK;
    return pod_fail(POD_E_INVALID, "trace-cores: is empty, want numbers of cores like 0,17");
}

/* One step is simulated: what strikes at some step has its place in a job, not here. */
static pod_status take_fault(const pod_fault *f, bool is_job, pod_planned *p)
{
    const bool is_always = f->kind == POD_FAULT_SLOW && f->from == 0 && f->until == 0;
    if (is_always || f->kind == POD_FAULT_LINK)
        p->fault[p->n_faults++] = *f;
    else if (!is_job)
        return pod_fail(POD_E_INVALID,
                        "fault: one step is simulated: slow:rank=R,factor=F or link:rank=R,dim=D, "
                        "found %s%s; simulate --job takes all",
                        pod_fault_name(f->kind), f->kind == POD_FAULT_SLOW ? " with steps" : "");
    return POD_OK;
}

static pod_status take_what_ifs(const pod_config *c, pod_planned *p)
{
    p->link_bandwidth = pod_config_double(c, POD_OPT_LINK_BANDWIDTH);
    p->link_latency = pod_config_double(c, POD_OPT_LINK_LATENCY);
    p->every_core = pod_config_bool(c, POD_OPT_EVERY_CORE);
    p->noise = pod_config_double(c, POD_OPT_NOISE);
    p->n_steps = pod_config_int(c, POD_OPT_REPEAT);
    p->input_rate = pod_config_double(c, POD_OPT_INPUT_RATE);
    p->start_up_s = pod_config_double(c, POD_OPT_START_UP);
    pod_fault fault[POD_MAX_FAULTS];
    int n;
    POD_TRY(pod_faults_parse(pod_config_text(c, POD_OPT_FAULT), fault, &n));
    for (int i = 0; i < n; i++)
        POD_TRY(take_fault(&fault[i], *pod_config_text(c, POD_OPT_JOB) != '\0', p));
    return parse_watched(pod_config_text(c, POD_OPT_TRACE_CORES),
                         pod_mesh_size(&p->setup.compile.mesh), p);
}

static pod_status compile_search(pod_arena *arena, pod_planned *p)
{
    if (pod_machine_is_virtual(&p->machine) || !p->net.task->is_searched) return POD_OK;
    const pod_dataset text = {.info = p->data};
    const pod_translator_args args = {.network = &p->net,
                                      .setup = &p->setup,
                                      .data = &text,
                                      .target = &p->target,
                                      .size = pod_mesh_size(&p->setup.compile.mesh)};
    return pod_search_compile(&args, p->data.n_samples[POD_SPLIT_TEST], arena, p->search);
}

pod_status pod_planned_of(const pod_config *c, pod_arena *arena, pod_planned *out)
{
    const char *text = pod_config_text(c, POD_OPT_MESH);
    int n_ranks = 1;
    *out = (pod_planned){0};
    POD_TRY(pod_machine_load(pod_config_text(c, POD_OPT_MACHINE), &out->machine));
    if (strcmp(text, "auto") != 0) {
        pod_mesh mesh;
        POD_TRY(pod_mesh_parse(text, &mesh));
        if (pod_machine_is_virtual(&out->machine))
            POD_TRY(pod_machine_wrap_mesh(&out->machine, &mesh));
        n_ranks = pod_mesh_size(&mesh);
    }
    const int node = pod_machine_is_virtual(&out->machine) ? 1 : pod_planned_node_size(c, n_ranks);
    POD_TRY(pod_setup_from(c, n_ranks, node, arena, &out->setup));
    POD_TRY(pod_network_choose(&out->setup, &out->choice, &out->net));
    POD_TRY(take_machine(c, arena, out));
    POD_TRY(take_what_ifs(c, out));
    POD_TRY(find_data(c, arena, out));
    out->data = pod_setup_seen(&out->setup, &out->data);
    POD_TRY(choose_bucket(c, out));
    return compile_search(arena, out);
}

void pod_planned_end(pod_planned *p) { pod_dataset_close(p->dataset); }

double pod_planned_fed_bytes(const pod_planned *p)
{
    const pod_form form = p->net.task->form(&p->setup, &p->data);
    const double local = (double)p->setup.batch / pod_mesh_size(&p->setup.compile.mesh);
    return (p->setup.prefetch + 1) * local * (double)pod_form_row_bytes(&form);
}

pod_rank_memory pod_planned_rank_memory(const pod_planned *p, const pod_program *program,
                                        int64_t batch)
{
    pod_setup setup = p->setup;
    setup.batch = batch;
    const pod_dataset_info *stored = p->dataset ? &p->dataset->info : &p->data;
    const pod_program *all[1 + POD_SEARCH_N_PROGRAMS] = {program};
    int n = 1;
    for (int i = 0; i < POD_SEARCH_N_PROGRAMS; i++)
        if (p->search[i]) all[n++] = p->search[i];
    pod_rank_memory m =
        pod_rank_memory_of(&setup, &p->net, stored, stored->n_samples[POD_SPLIT_TEST], all, n);
    m.samples = p->samples_bytes;
    return m;
}

const char *pod_planned_source(const pod_planned *p)
{
    if (p->dataset) return p->data.name;
    if (p->choice.language) return "the vocabulary it was published for; --data gives others";
    return p->setup.image_height ? "the size of --image-size"
                                 : "the size it was published for; --data gives others";
}

/* ---- the largest batch ---- */

static pod_status bytes_of(const pod_planned *p, const pod_program *program, int64_t batch,
                           double *bytes)
{
    if (pod_machine_is_virtual(&p->machine)) {
        size_t held;
        POD_TRY(pod_cost_memory(&p->machine, program, &held));
        *bytes = (double)held;
    } else {
        const pod_rank_memory m = pod_planned_rank_memory(p, program, batch);
        *bytes = (double)pod_rank_memory_total(&m);
    }
    return POD_OK;
}

pod_status pod_fit_bytes(const pod_planned *p, const pod_program *program, double *bytes)
{
    return bytes_of(p, program, p->setup.batch, bytes);
}

static pod_status needs(const pod_planned *p, int64_t batch, double *bytes)
{
    pod_arena *a;
    const pod_program *program;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_setup setup = p->setup;
    setup.batch = batch;
    pod_status s = pod_network_compile(&p->net, &setup, &p->data, true, &p->target, a, &program);
    if (s == POD_OK) s = bytes_of(p, program, batch, bytes);
    pod_arena_destroy(a);
    return s;
}

/* Doubled until it does not fit, then halved between; memory grows with the batch. */
pod_status pod_fit_largest(const pod_planned *p, double limit_bytes, pod_fit *out)
{
    enum { MAX_BATCH = 1 << 24 };
    pod_fit f = {.unit =
                     (int64_t)pod_mesh_size(&p->setup.compile.mesh) * p->setup.compile.accumulate};
    int64_t yes = 0, no = 1;
    double bytes;
    while (no * f.unit <= MAX_BATCH) {
        POD_TRY(needs(p, no * f.unit, &bytes));
        if (bytes > limit_bytes) break;
        f.bytes = bytes;
        yes = no;
        no *= 2;
    }
    while (no - yes > 1) {
        const int64_t middle = yes + (no - yes) / 2;
        POD_TRY(needs(p, middle * f.unit, &bytes));
        if (bytes <= limit_bytes) {
            f.bytes = bytes;
            yes = middle;
        } else {
            no = middle;
        }
    }
    f.batch = yes * f.unit;
    *out = f;
    return POD_OK;
}
