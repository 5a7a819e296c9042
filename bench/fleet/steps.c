/* The steps of jobs that name a model and a batch: simulated as `minipod simulate` does it, once for
 * each model, batch, machine and slice. */
#include "bench/fleet/steps.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "bench/simulate/simulate.h"
#include "kernels/base/arith.h"

typedef struct entry {
    pod_fleet_step_key key;
    pod_fleet_step step;
    struct entry *next;
} entry;

struct pod_fleet_steps {
    const pod_config *config;
    pod_arena *arena;
    pthread_mutex_t lock; /* held while a step is simulated */
    entry *first, **last;
};

pod_status pod_fleet_steps_create(const pod_config *c, pod_arena *a, pod_fleet_steps **out)
{
    pod_fleet_steps *s = POD_ARENA_NEW(a, pod_fleet_steps, 1);
    if (!s) return POD_E_NOMEM;
    *s = (pod_fleet_steps){.config = c, .arena = a};
    s->last = &s->first;
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return POD_OK;
}

void pod_fleet_steps_destroy(pod_fleet_steps *s)
{
    if (s) pthread_mutex_destroy(&s->lock);
}

/* ---- the mesh of a slice --------------------------------------------------------------------- */

static void swap(int *a, int *b)
{
    const int of_a = *a;
    *a = *b;
    *b = of_a;
}

/* As slices are written: the largest extent of chips first; of chips with two cores, these before the
 * chips, the smallest extent first. */
static pod_status print_mesh(const pod_fleet_step_key *k, const pod_machine *m, char text[],
                             size_t n)
{
    pod_slice_shape s = k->shape;
    const int cores = (int)m->cores_per_chip;
    if (!pod_slice_shape_is_known(&s) && !pod_topology_shape_for(k->topology, k->n_cells, &s))
        return pod_fail(POD_E_INVALID, "%s has no mesh for a slice of %" PRId64 " chips", m->name,
                        (int64_t)k->n_cells * k->topology->chips_per_cell);
    int *x = s.extent;
    if (x[0] < x[1]) swap(&x[0], &x[1]);
    if (x[1] < x[2]) swap(&x[1], &x[2]);
    if (x[0] < x[1]) swap(&x[0], &x[1]);
    if (cores > 1)
        snprintf(text, n, "%dx%dx%d", cores, x[1], x[0]);
    else
        snprintf(text, n, "%dx%dx%d", x[0], x[1], x[2]);
    return POD_OK;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void keep(const pod_planned *p, const pod_simulated *r, pod_fleet_step *out)
{
    const int64_t of_host = p->machine.chips_per_host * p->machine.cores_per_chip;
    const int64_t node = of_host == 0 || of_host > r->cores ? r->cores : of_host;
    pod_mesh_print(&p->setup.compile.mesh, out->mesh, sizeof out->mesh);
    out->step_s = r->steps.mean;
    out->ideal_s = pod_ideal_step_s(&r->ideal);
    out->bytes =
        (double)(r->program->store_bytes - r->program->state_bytes + r->program->whole_state_bytes);
    out->start_up_s = p->start_up_s >= 0 ? p->start_up_s : p->machine.start_up_s;
    out->n_nodes = (int)pod_div_up(r->cores, node);
}

static pod_status simulate(const pod_config *c, pod_arena *a, pod_fleet_step *out)
{
    pod_planned p = {0};
    pod_simulated r;
    pod_status status = pod_planned_of(c, a, &p);
    if (status == POD_OK) status = pod_simulate(&p, a, NULL, &r);
    if (status == POD_OK) keep(&p, &r, out);
    pod_planned_end(&p);
    return status;
}

static pod_status simulate_key(const pod_fleet_steps *s, const pod_fleet_step_key *k, pod_arena *a,
                               pod_fleet_step *out)
{
    char mesh[POD_MESH_TEXT_BYTES];
    pod_machine machine;
    pod_config *c;
    if (strncmp(k->topology->name, "tpu-", 4) != 0)
        return pod_fail(POD_E_INVALID,
                        "a batch wants pods of a machine, such as tpu-v4, found %s; "
                        "step_s says what a step takes elsewhere",
                        k->topology->name);
    if (!pod_model_find(k->model) && !pod_language_find(k->model)) {
        pod_setup setup = {.model = k->model, .data = ""};
        pod_network_choice choice;
        pod_network net;
        return pod_network_choose(&setup, &choice, &net); /* which names the nearest */
    }
    POD_TRY(pod_machine_load(k->topology->name, &machine));
    POD_TRY(print_mesh(k, &machine, mesh, sizeof mesh));
    const char *text = pod_arena_text(
        a, "machine = %s\nmodel = %s\nmesh = %s\nbatch = %" PRId64 "\noverlap = %s\n",
        k->topology->name, k->model, mesh, k->batch, k->overlaps ? "on" : "off");
    if (!text) return POD_E_NOMEM;
    POD_TRY(pod_config_override(s->config, text, &c));
    const pod_status status = simulate(c, a, out);
    pod_config_destroy(c);
    return status;
}

/* ---- the cache ------------------------------------------------------------------------------- */

static bool is_same(const pod_fleet_step_key *a, const pod_fleet_step_key *b)
{
    return a->n_cells == b->n_cells && a->batch == b->batch && a->overlaps == b->overlaps &&
           memcmp(&a->shape, &b->shape, sizeof a->shape) == 0 && strcmp(a->model, b->model) == 0 &&
           strcmp(a->topology->name, b->topology->name) == 0;
}

/* Its key must outlive the study that asks. */
static pod_status copy_key(pod_fleet_steps *s, const pod_fleet_step_key *k, entry *to)
{
    pod_topology *t = POD_ARENA_NEW(s->arena, pod_topology, 1);
    const char *model = pod_arena_text(s->arena, "%s", k->model);
    if (!t || !model) return POD_E_NOMEM;
    *t = *k->topology;
    to->key = *k;
    to->key.topology = t;
    to->key.model = model;
    return POD_OK;
}

static pod_status add(pod_fleet_steps *s, const pod_fleet_step_key *k, pod_fleet_step *out)
{
    pod_arena *a;
    entry *e = POD_ARENA_NEW(s->arena, entry, 1);
    if (!e) return POD_E_NOMEM;
    POD_TRY(copy_key(s, k, e));
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status status = simulate_key(s, k, a, &e->step);
    pod_arena_destroy(a);
    if (status != POD_OK) return status;
    *s->last = e;
    s->last = &e->next;
    *out = e->step;
    return POD_OK;
}

pod_status pod_fleet_step_find(pod_fleet_steps *s, const pod_fleet_step_key *k, pod_fleet_step *out)
{
    pod_status status = POD_OK;
    pthread_mutex_lock(&s->lock);
    const entry *e = s->first;
    while (e && !is_same(&e->key, k)) e = e->next;
    if (e)
        *out = e->step;
    else
        status = add(s, k, out);
    pthread_mutex_unlock(&s->lock);
    return status;
}

void pod_fleet_steps_note(const pod_fleet_steps *s, pod_table *t)
{
    for (const entry *e = s->first; e; e = e->next)
        pod_table_note(t, "%s, batch %" PRId64 ", on %s of %s%s: step %.4g ms, ideal %.4g",
                       e->key.model, e->key.batch, e->step.mesh, e->key.topology->name,
                       e->key.overlaps ? "" : ", no overlap", 1e3 * e->step.step_s,
                       1e3 * e->step.ideal_s);
}

void pod_fleet_steps_json(const pod_fleet_steps *s, pod_json *j)
{
    pod_json_open_array(j, "steps");
    for (const entry *e = s->first; e; e = e->next) {
        pod_json_open_object(j, NULL);
        pod_json_text(j, "model", e->key.model);
        pod_json_int(j, "batch", e->key.batch);
        pod_json_text(j, "machine", e->key.topology->name);
        pod_json_text(j, "mesh", e->step.mesh);
        pod_json_bool(j, "overlap", e->key.overlaps);
        pod_json_double(j, "step_s", e->step.step_s);
        pod_json_double(j, "ideal_s", e->step.ideal_s);
        pod_json_close(j);
    }
    pod_json_close(j);
}
