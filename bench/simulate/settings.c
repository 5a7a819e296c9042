#include "bench/simulate/settings.h"
#include "bench/common/json_option.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/parse.h"

/* ---- options --------------------------------------------------------------------------------- */

/* What only says where results go. */
static bool is_of_output(pod_opt o)
{
    switch (o) {
    case POD_OPT_CONF:
    case POD_OPT_CSV:
    case POD_OPT_JSON:
    case POD_OPT_OUT:
    case POD_OPT_TRACE:
    case POD_OPT_EXPLAIN:
    case POD_OPT_PROGRESS:
    case POD_OPT_QUIET: return true;
    default: return false;
    }
}

static bool is_row_of_a_step(pod_opt o)
{
    switch (o) {
    case POD_OPT_MODEL:
    case POD_OPT_MACHINE:
    case POD_OPT_MESH:
    case POD_OPT_BATCH:
    case POD_OPT_PRECISION:
    case POD_OPT_OPTIMIZER:
    case POD_OPT_BUCKET:
    case POD_OPT_NOISE:
    case POD_OPT_REPEAT: return true;
    default: return false;
    }
}

/* MESH: of who trains, found in a file or the environment; --meshes are compared. */
static bool is_shown_of_meshes(pod_opt o)
{
    switch (o) {
    case POD_OPT_MODEL:
    case POD_OPT_DATA:
    case POD_OPT_MACHINE:
    case POD_OPT_MESH:
    case POD_OPT_MESHES:
    case POD_OPT_SCALING:
    case POD_OPT_BATCH:
    case POD_OPT_ON: return true;
    default: return false;
    }
}

static const char *source_note(const pod_config *c, pod_opt o)
{
    switch (pod_config_source(c, o)) {
    case POD_FROM_FILE: return "from a --conf file";
    case POD_FROM_ENVIRONMENT: return "from the environment";
    default: return "";
    }
}

void pod_simulate_add_options(pod_table *t, const pod_config *c)
{
    int n;
    const pod_option *options = pod_options(&n);
    for (int o = 0; o < n; o++) {
        char name[64];
        if (!pod_config_is_set(c, (pod_opt)o) || is_of_output((pod_opt)o) ||
            is_row_of_a_step((pod_opt)o))
            continue;
        snprintf(name, sizeof name, "--%s", options[o].name);
        pod_table_quantity(t, name, options[o].unit, source_note(c, (pod_opt)o), "%s",
                           pod_config_value(c, (pod_opt)o));
    }
}

void pod_simulate_note_options(pod_table *t, const pod_config *c)
{
    int n;
    const pod_option *options = pod_options(&n);
    for (int o = 0; o < n; o++) {
        const char *source = source_note(c, (pod_opt)o);
        if (!pod_config_is_set(c, (pod_opt)o) || is_of_output((pod_opt)o) ||
            is_shown_of_meshes((pod_opt)o))
            continue;
        pod_table_note(t, "--%s %s%s%s", options[o].name, pod_config_value(c, (pod_opt)o),
                       *source ? ", " : "", source);
    }
}

void pod_simulate_put_options(const pod_config *c, pod_json *j)
{
    int n;
    const pod_option *options = pod_options(&n);
    pod_json_open_object(j, "options");
    for (int o = 0; o < n; o++)
        if (pod_config_is_set(c, (pod_opt)o))
            pod_json_option(j, &options[o], pod_config_value(c, (pod_opt)o));
    pod_json_close(j);
}

/* What a command line of the same simulation does without. */
static bool is_of_this_run(pod_opt o)
{
    switch (o) {
    case POD_OPT_VALIDATE:
    case POD_OPT_CONF:
    case POD_OPT_CSV:
    case POD_OPT_JSON:
    case POD_OPT_OUT:
    case POD_OPT_PROGRESS:
    case POD_OPT_QUIET: return true;
    default: return false;
    }
}

/* As a shell takes it: in single quotes where that needs them, in the arena. */
static const char *quoted(const char *value, pod_arena *arena)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:,/+-@%=";
    if (value[strspn(value, plain)] == '\0') return value;
    const char *text = "'";
    while (*value && text) {
        const size_t n = strcspn(value, "'");
        text = pod_arena_text(arena, "%s%.*s%s", text, (int)n, value, value[n] ? "'\\''" : "");
        value += n + (value[n] != '\0');
    }
    return text ? pod_arena_text(arena, "%s'", text) : NULL;
}

const char *pod_simulate_command(const pod_config *c, pod_arena *arena)
{
    int n;
    const pod_option *options = pod_options(&n);
    const char *text = "minipod simulate";
    for (int o = 0; o < n && text; o++) {
        if (!pod_config_is_set(c, (pod_opt)o) || is_of_this_run((pod_opt)o)) continue;
        const char *value = quoted(pod_config_value(c, (pod_opt)o), arena);
        text = value ? pod_arena_text(arena, "%s --%s %s", text, options[o].name, value) : NULL;
    }
    return text;
}

/* ---- algorithms ------------------------------------------------------------------------------ */

typedef struct use { /* of an algorithm with a chunk in a step */
    const pod_coll_algo *algo;
    int64_t chunk_bytes; /* 0: its own choice */
    int64_t n, bytes;
} use;

/* NULL where the instruction starts no collective. */
static const pod_program_coll *coll_at(const pod_program *p, int32_t i)
{
    return p->instr[i].kind == POD_I_COLL_START ? &p->coll[p->instr[i].ticket] : NULL;
}

static bool is_alike(const pod_program_coll *a, const pod_program_coll *b)
{
    return a->algo == b->algo && a->args.chunk_bytes == b->args.chunk_bytes;
}

/* From the first instruction at *next or behind it that starts such a collective as none before it;
 * *next is behind that then. False: there is none. */
static bool find_use(const pod_program *p, int32_t *next, use *out)
{
    const pod_program_coll *first = NULL;
    int32_t i = *next;
    for (; i < p->n_instrs && !first; i++) {
        first = coll_at(p, i);
        for (int32_t k = 0; first && k < i; k++)
            if (coll_at(p, k) && is_alike(coll_at(p, k), first)) first = NULL;
    }
    if (!first) return false;
    *next = i;
    *out = (use){.algo = first->algo, .chunk_bytes = first->args.chunk_bytes};
    for (i--; i < p->n_instrs; i++) {
        const pod_program_coll *coll = coll_at(p, i);
        if (!coll || !is_alike(coll, first)) continue;
        const int times = pod_program_times(p, i);
        out->n += times;
        out->bytes += times * coll->args.count * (int64_t)pod_dtype_bytes(coll->args.dtype);
    }
    return true;
}

/* As --algo takes it. */
static const char *print_use(const use *u, char text[64])
{
    char chunk[32];
    snprintf(text, 64, "%s%s%s", u->algo->name, u->chunk_bytes ? "@" : "",
             u->chunk_bytes ? pod_print_size(u->chunk_bytes, chunk, sizeof chunk) : "");
    return text;
}

void pod_simulate_add_algorithms(pod_table *t, const pod_program *p)
{
    for (int coll = 0; coll < POD_N_COLLS; coll++) {
        char name[32], algos[128] = "", note[256] = "", text[64];
        use u;
        for (int32_t next = 0; find_use(p, &next, &u);) {
            if ((int)u.algo->coll != coll) continue;
            const size_t a = strlen(algos), b = strlen(note);
            print_use(&u, text);
            snprintf(algos + a, sizeof algos - a, "%s%s", a ? "," : "", text);
            snprintf(note + b, sizeof note - b, "%s%s: %" PRId64 " a step, %.3f MB", b ? "; " : "",
                     text, u.n, (double)u.bytes * 1e-6);
        }
        snprintf(name, sizeof name, "%s by", pod_coll_name((pod_coll)coll));
        if (*algos) pod_table_quantity(t, name, "", note, "%s", algos);
    }
}

void pod_simulate_put_algorithms(const pod_program *p, pod_json *j)
{
    use u;
    pod_json_open_array(j, "algorithms");
    for (int32_t next = 0; find_use(p, &next, &u);) {
        pod_json_open_object(j, NULL);
        pod_json_text(j, "collective", pod_coll_name(u.algo->coll));
        pod_json_text(j, "algorithm", u.algo->name);
        pod_json_int(j, "chunk_bytes", u.chunk_bytes);
        pod_json_int(j, "per_step", u.n);
        pod_json_int(j, "bytes_per_step", u.bytes);
        pod_json_close(j);
    }
    pod_json_close(j);
}
