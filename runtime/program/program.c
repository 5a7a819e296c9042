#include "runtime/program/program.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "kernels/base/hash.h"

static const char *const space_name[] = {"input", "store", "step", "window"};

static void print_slots(const pod_program *p, const char *sign, const int32_t *slot, int n,
                        FILE *to)
{
    for (int i = 0; i < n; i++) {
        const pod_slot *s = &p->slot[slot[i]];
        fprintf(to, " %s%s", sign, space_name[s->space]);
        if (s->space == POD_SPACE_INPUT || s->space == POD_SPACE_STORE)
            fprintf(to, "[%d]", (int)s->index);
        else
            fprintf(to, "+%zu", s->offset);
        fprintf(to, ":%zu%s", s->bytes, s->type.shard.per_core ? ":part" : "");
    }
}

int64_t pod_program_n_turns(const pod_program *p)
{
    const pod_repeat *r = &p->repeat;
    return p->n_instrs + (int64_t)(r->end - r->first) * (r->count - 1);
}

pod_turn pod_program_turn(const pod_program *p, int64_t n)
{
    const pod_repeat *r = &p->repeat;
    const int64_t length = r->end - r->first, within = n - r->first;
    if (within < 0) return (pod_turn){(int32_t)n, 0};
    if (within < length * r->count)
        return (pod_turn){r->first + (int32_t)(within % length), (int32_t)(within / length)};
    return (pod_turn){(int32_t)(n - length * (r->count - 1)), r->count - 1};
}

int pod_program_find_input(const pod_program *p, const char *name)
{
    for (int i = 0; i < p->n_inputs; i++)
        if (strcmp(p->input[i].name, name) == 0) return i;
    return -1;
}

int pod_program_times(const pod_program *p, int32_t instr)
{
    return instr >= p->repeat.first && instr < p->repeat.end ? p->repeat.count : 1;
}

double pod_program_moved_bytes(const pod_program *p)
{
    double bytes = 0;
    for (int32_t i = 0; i < p->n_instrs; i++)
        bytes += pod_program_times(p, i) *
                 (p->instr[i].cost.bytes_read + p->instr[i].cost.bytes_written);
    return bytes;
}

pod_slot_part pod_program_part(const pod_program *p, int32_t slot, int core)
{
    const pod_slot *s = &p->slot[slot];
    const size_t element = pod_dtype_bytes(s->type.dtype);
    if (s->type.shard.per_core == 0) return (pod_slot_part){0, (int64_t)(s->bytes / element)};
    const pod_part part = pod_type_part(&s->type, core);
    const bool is_alone =
        s->space == POD_SPACE_STORE && p->variable[s->index].type.shard.per_core > 0;
    return (pod_slot_part){is_alone ? 0 : (size_t)part.first * element, part.count};
}

const void *pod_program_attr(const pod_program *p, int32_t instr, int core, pod_arena *a)
{
    const pod_instr *in = &p->instr[instr];
    if (in->part_of < 0) return in->attr;
    void *attr = pod_arena_copy(a, in->attr, _Alignof(max_align_t), in->attr_bytes);
    if (!attr) return NULL;
    const int64_t count = pod_program_part(p, in->part_of, core).count;
    memcpy(attr, &count, sizeof count);
    return attr;
}

static void print_fusions(const pod_program *p, FILE *to)
{
    fprintf(to, "# fused:");
    for (int32_t i = 0; i < p->n_fusions; i++)
        if (!p->fusion[i].refused) fprintf(to, " %s %d", p->fusion[i].name, p->fusion[i].n);
    fprintf(to, p->n_fusions ? "\n" : " nothing\n");
}

void pod_program_print(const pod_program *p, FILE *to)
{
    static const char *const kind_name[] = {"run", "start", "wait", "fetch"};
    char mesh[64];
    pod_mesh_print(&p->mesh, mesh, sizeof mesh);
    fprintf(to, "# program for mesh %s, target %s, fingerprint %016" PRIx64 "\n", mesh, p->target,
            p->fingerprint);
    fprintf(to,
            "# %d instructions, %d collectives of %" PRId64
            " bytes a step, slab %zu + %zu bytes, store %zu bytes\n",
            (int)p->n_instrs, (int)p->n_colls, p->reduce_bytes, p->step_bytes, p->window_bytes,
            p->store_bytes);
    if (p->repeat.count > 1)
        fprintf(to, "# instructions %d to %d run %d times, once a micro-step\n",
                (int)p->repeat.first, (int)p->repeat.end - 1, (int)p->repeat.count);
    print_fusions(p, to);
    fprintf(to, "# index kind phase op kernel label  <reads  >writes (space+offset:bytes, "
                ":part where a core holds a part)\n");
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr *in = &p->instr[i];
        fprintf(to, "%5d %-5s %-8s %-14s %-11s %-32s", (int)i, kind_name[in->kind],
                pod_phase_name(in->phase), in->op, in->impl, in->label);
        print_slots(p, "<", in->in, in->n_in, to);
        print_slots(p, ">", in->out, in->n_out, to);
        if (in->scratch >= 0) print_slots(p, "~", &in->scratch, 1, to);
        fputc('\n', to);
    }
}

static uint64_t hash_i64(uint64_t h, int64_t value)
{
    return pod_hash_bytes(h, &value, sizeof value);
}

static uint64_t hash_type(uint64_t h, const pod_type *t)
{
    h = hash_i64(h, t->dtype);
    h = hash_i64(h, t->shape.n_dims);
    for (int i = 0; i < t->shape.n_dims; i++)
        h = hash_i64(hash_i64(h, t->shape.dim[i]), t->split[i]);
    h = hash_i64(hash_i64(h, t->shard.first), t->shard.per_core);
    return hash_i64(h, t->shard.over << 16 | t->sum << 8 | t->vary);
}

static uint64_t hash_instr(uint64_t h, const pod_instr *in)
{
    h = hash_i64(h, in->kind);
    h = hash_i64(h, in->phase);
    h = pod_hash_text(pod_hash_text(pod_hash_text(h, in->label), in->op), in->impl);
    h = pod_hash_bytes(h, in->attr, in->attr_bytes);
    h = hash_i64(hash_i64(h, in->n_in), in->n_out);
    for (int i = 0; i < in->n_in; i++) h = hash_i64(h, in->in[i]);
    for (int i = 0; i < in->n_out; i++) h = hash_i64(h, in->out[i]);
    return hash_i64(hash_i64(hash_i64(h, in->scratch), in->ticket), in->part_of);
}

static uint64_t hash_coll(uint64_t h, const pod_program_coll *c)
{
    const pod_coll_args *a = &c->args;
    h = hash_i64(hash_i64(hash_i64(h, a->coll), a->count), a->root);
    h = hash_i64(hash_i64(hash_i64(h, a->dtype), a->node_size), a->group.dims);
    for (int d = 0; d < POD_MESH_MAX_DIMS; d++)
        h = hash_i64(hash_i64(h, a->group.step[d]), a->group.tile[d]);
    h = hash_i64(hash_i64(h, a->chunk_bytes), c->slot);
    return pod_hash_text(h, c->algo->name);
}

static uint64_t hash_variable(uint64_t h, const pod_program_variable *v)
{
    h = hash_type(pod_hash_text(h, v->name), &v->type);
    h = hash_i64(hash_i64(h, v->role), v->init.kind);
    return pod_hash_bytes(h, &v->init.scale, sizeof v->init.scale);
}

static uint64_t hash_slot(uint64_t h, const pod_slot *s)
{
    h = hash_i64(hash_i64(h, s->space), s->index);
    h = hash_i64(hash_i64(h, (int64_t)s->offset), (int64_t)s->bytes);
    return hash_type(hash_i64(h, (int64_t)s->advance), &s->type);
}

/* Each list with its length, so that nothing can pass from one to the next. */
uint64_t pod_program_fingerprint(const pod_program *p)
{
    const pod_repeat *r = &p->repeat;
    uint64_t h = hash_i64(POD_HASH_START, p->mesh.n_dims);
    for (int d = 0; d < p->mesh.n_dims; d++)
        h = hash_i64(hash_i64(h, p->mesh.extent[d]), p->mesh.wraps[d]);
    h = hash_i64(hash_i64(hash_i64(h, r->first), r->end), r->count);
    h = hash_i64(h, p->n_instrs);
    for (int32_t i = 0; i < p->n_instrs; i++) h = hash_instr(h, &p->instr[i]);
    h = hash_i64(h, p->n_slots);
    for (int32_t i = 0; i < p->n_slots; i++) h = hash_slot(h, &p->slot[i]);
    h = hash_i64(h, p->n_colls);
    for (int32_t i = 0; i < p->n_colls; i++) h = hash_coll(h, &p->coll[i]);
    h = hash_i64(h, p->n_variables);
    for (int32_t i = 0; i < p->n_variables; i++) h = hash_variable(h, &p->variable[i]);
    h = hash_i64(h, p->n_inputs);
    for (int32_t i = 0; i < p->n_inputs; i++)
        h = hash_i64(pod_hash_text(h, p->input[i].name), p->input[i].value.id);
    h = hash_i64(h, p->n_outputs);
    for (int32_t i = 0; i < p->n_outputs; i++) h = pod_hash_text(h, p->output[i]);
    return h;
}
