#include "runtime/exec/store.h"

#include <math.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/hash.h"
#include "kernels/base/rng.h"

enum { STORE_ALIGN = 64 };

struct pod_store {
    pod_arena *arena;
    pod_program_variable *variable;
    int64_t *count; /* elements, by variable */
    float **data;
    int n, core;
    size_t bytes;
};

static float init_scale(const pod_init *init, const pod_shape *shape)
{
    if (init->kind != POD_INIT_HE) return init->scale;
    int64_t fan_in = shape->n_dims == 2 ? shape->dim[0] : pod_shape_count(shape) / shape->dim[0];
    return sqrtf(2.0f * init->scale / (float)fan_in);
}

static float draw_truncated(pod_rng *rng)
{
    float x;
    do x = pod_rng_normal(rng);
    while (fabsf(x) > 2);
    return x;
}

static void init_variable(const pod_program_variable *v, uint64_t seed, int64_t count, float *data)
{
    const float scale = init_scale(&v->init, &v->type.shape);
    uint64_t place = pod_hash_bytes(POD_HASH_START, v->name, strlen(v->name)) & 0xffffffffffu;
    pod_rng rng = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_WEIGHTS, .sample = place});
    for (int64_t i = 0; i < count; i++) {
        switch (v->init.kind) {
        case POD_INIT_ZERO: data[i] = 0.0f; break;
        case POD_INIT_ONE: data[i] = 1.0f; break;
        case POD_INIT_HE:
        case POD_INIT_NORMAL: data[i] = scale * pod_rng_normal(&rng); break;
        case POD_INIT_TRUNCATED: data[i] = scale * draw_truncated(&rng); break;
        case POD_INIT_UNIFORM: data[i] = scale * (2.0f * pod_rng_uniform(&rng) - 1.0f); break;
        }
    }
}

static pod_status fill(pod_store *s, const pod_program *p, uint64_t seed)
{
    s->variable = POD_ARENA_NEW(s->arena, pod_program_variable, p->n_variables);
    s->count = POD_ARENA_NEW(s->arena, int64_t, p->n_variables);
    s->data = POD_ARENA_NEW(s->arena, float *, p->n_variables);
    if (!s->variable || !s->count || !s->data) return POD_E_NOMEM;
    for (int i = 0; i < p->n_variables; i++) {
        pod_program_variable v = p->variable[i];
        POD_ASSERT(v.type.dtype == POD_F32, "'%s' is %s", v.name, pod_dtype_name(v.type.dtype));
        v.name = pod_arena_text(s->arena, "%s", v.name);
        POD_ASSERT(v.type.shard.per_core == 0 || v.init.kind <= POD_INIT_ONE,
                   "'%s' is dealt out and starts with random numbers", v.name);
        s->count[i] = pod_type_part(&v.type, s->core).count;
        size_t bytes = (size_t)s->count[i] * sizeof(float);
        s->data[i] = pod_arena_get(s->arena, STORE_ALIGN, bytes);
        if (!v.name || !s->data[i]) return POD_E_NOMEM;
        init_variable(&v, seed, s->count[i], s->data[i]);
        s->variable[i] = v;
        s->bytes += bytes;
    }
    s->n = p->n_variables;
    return POD_OK;
}

pod_status pod_store_create(const pod_program *p, int core, uint64_t seed, pod_store **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_store *s = POD_ARENA_NEW(arena, pod_store, 1);
    pod_status status = POD_E_NOMEM;
    if (s) {
        s->arena = arena;
        s->core = core;
        status = fill(s, p, seed);
    }
    if (status != POD_OK)
        pod_arena_destroy(arena);
    else
        *out = s;
    return status;
}

void pod_store_destroy(pod_store *s)
{
    if (s) pod_arena_destroy(s->arena);
}

int pod_store_n(const pod_store *s) { return s->n; }

const pod_program_variable *pod_store_variable(const pod_store *s, int i)
{
    POD_ASSERT(i >= 0 && i < s->n, "variable %d of %d", i, s->n);
    return &s->variable[i];
}

bool pod_store_is_dealt(const pod_store *s, int i)
{
    return pod_store_variable(s, i)->type.shard.per_core > 0;
}

int pod_store_find(const pod_store *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->variable[i].name, name) == 0) return i;
    return -1;
}

float *pod_store_data(pod_store *s, int i)
{
    POD_ASSERT(i >= 0 && i < s->n, "variable %d of %d", i, s->n);
    return s->data[i];
}

int64_t pod_store_count(const pod_store *s, int i)
{
    POD_ASSERT(i >= 0 && i < s->n, "variable %d of %d", i, s->n);
    return s->count[i];
}

int pod_store_core(const pod_store *s) { return s->core; }

size_t pod_store_bytes(const pod_store *s) { return s->bytes; }

uint64_t pod_store_hash(const pod_store *s)
{
    uint64_t h = POD_HASH_START;
    for (int i = 0; i < s->n; i++) {
        if (s->variable[i].role == POD_ROLE_STATE) continue;
        h = pod_hash_text(h, s->variable[i].name);
        h = pod_hash_bytes(h, s->data[i], (size_t)s->count[i] * sizeof(float));
    }
    return h;
}
