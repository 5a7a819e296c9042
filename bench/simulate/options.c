#include "bench/simulate/simulate.h"

#include <inttypes.h>
#include <string.h>

#include "bench/common/json_option.h"
#include "kernels/base/parse.h"

/* ---- options that would have no effect ------------------------------------------------------- */

typedef struct refusal {
    pod_opt option;
    bool if_typed; /* else wherever it is set */
    const char *why;
} refusal;

static bool is_typed(const pod_config *c, pod_opt o)
{
    return pod_config_source(c, o) == POD_FROM_COMMAND_LINE;
}

static pod_status check(const pod_config *c, const refusal r[], int n)
{
    for (int i = 0; i < n; i++)
        if (r[i].if_typed ? is_typed(c, r[i].option) : pod_config_is_set(c, r[i].option))
            return pod_fail(POD_E_INVALID, "%s: %s", pod_options[r[i].option].name, r[i].why);
    return POD_OK;
}

#define CHECK(config, refusals) check(config, refusals, (int)(sizeof refusals / sizeof refusals[0]))

#define COURSE "of a training's course: a step takes as long whatever it is"

pod_status pod_simulate_options_of_step(const pod_config *c)
{
    static const refusal of_course[] = {
        {POD_OPT_LR, true, COURSE},
        {POD_OPT_LR_PER, true, COURSE},
        {POD_OPT_LR_SCHEDULE, true, COURSE},
        {POD_OPT_WARMUP, true, COURSE},
        {POD_OPT_END_LR, true, COURSE},
        {POD_OPT_POLY_POWER, true, COURSE},
        {POD_OPT_DECAY_RATE, true, COURSE},
        {POD_OPT_DECAY_EPOCHS, true, COURSE},
        {POD_OPT_EPOCHS, true, COURSE},
        {POD_OPT_STEPS, true, COURSE "; --repeat simulates several"}};
    return CHECK(c, of_course);
}

#define LONG    "of a long job: with --job days=30, say"
#define AS_MANY "--to-target takes as many epochs as the batch is known to need"

pod_status pod_simulate_options_check(const pod_config *c)
{
    static const refusal of_jobs[] = {
        {POD_OPT_MTBF, false, LONG},     {POD_OPT_FAULTS_FROM, false, LONG},
        {POD_OPT_INTERVAL, false, LONG}, {POD_OPT_NODES, false, LONG},
        {POD_OPT_MESHES, false, LONG},   {POD_OPT_SCALING, true, LONG},
        {POD_OPT_WATCHDOG, true, LONG},  {POD_OPT_CHECKPOINT, true, LONG}};
    static const refusal of_target[] = {{POD_OPT_EPOCHS, true, AS_MANY},
                                        {POD_OPT_STEPS, true, AS_MANY}};
    static const refusal of_training[] = {
        {POD_OPT_START_UP, false, "of a training: with --to-target or --job"}};
    POD_TRY(CHECK(c, of_jobs));
    POD_TRY(pod_config_bool(c, POD_OPT_TO_TARGET) ? CHECK(c, of_target) : CHECK(c, of_training));
    return pod_simulate_options_of_step(c);
}

pod_status pod_simulate_options_suit(const pod_config *c, const pod_planned *p)
{
    static const refusal of_host[] = {
        {POD_OPT_FUSION, true, "of the kernels of --machine host; a pod has a compiler's"},
        {POD_OPT_TILE, true, "of the kernels of --machine host; a pod has a compiler's"},
        {POD_OPT_IMPL, true, "of the kernels of --machine host; a pod has a compiler's"}};
    return pod_machine_is_virtual(&p->machine) ? CHECK(c, of_host) : POD_OK;
}

pod_status pod_simulate_options_used(const pod_planned *p, const pod_simulated *s)
{
    const char *found = pod_simulate_has_fault(p, POD_FAULT_LINK) ? "fault: link" : NULL;
    if (p->link_latency != 1) found = "link-latency";
    if (p->link_bandwidth != 1) found = "link-bandwidth";
    if (!found || s->use.n_messages > 0) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: nothing goes over a link: %s", found,
                    s->cores == 1 ? "there is one core"
                                  : "the ranks of a host share its memory, but with --algo ring, "
                                    "say, they send messages");
}

/* ---- as they are shown ----------------------------------------------------------------------- */

/* What tells of an option elsewhere: it says where results go; a row or a note of the table shows
 * it; the same simulation does without it. MESH stands in files and the environment for who trains:
 * of --meshes each is a row. */
enum { OUTPUT = 1, ROW_OF_STEP = 2, SHOWN_OF_MESHES = 4, THIS_RUN = 8 };
static const unsigned char said[POD_N_OPTS] = {
    [POD_OPT_CONF] = OUTPUT | THIS_RUN,
    [POD_OPT_CSV] = OUTPUT | THIS_RUN,
    [POD_OPT_JSON] = OUTPUT | THIS_RUN,
    [POD_OPT_OUT] = OUTPUT | THIS_RUN,
    [POD_OPT_PROGRESS] = OUTPUT | THIS_RUN,
    [POD_OPT_QUIET] = OUTPUT | THIS_RUN,
    [POD_OPT_TRACE] = OUTPUT,
    [POD_OPT_EXPLAIN] = OUTPUT,
    [POD_OPT_VALIDATE] = THIS_RUN,
    [POD_OPT_MODEL] = ROW_OF_STEP | SHOWN_OF_MESHES,
    [POD_OPT_MACHINE] = ROW_OF_STEP | SHOWN_OF_MESHES,
    [POD_OPT_MESH] = ROW_OF_STEP | SHOWN_OF_MESHES,
    [POD_OPT_BATCH] = ROW_OF_STEP | SHOWN_OF_MESHES,
    [POD_OPT_PRECISION] = ROW_OF_STEP,
    [POD_OPT_OPTIMIZER] = ROW_OF_STEP,
    [POD_OPT_BUCKET] = ROW_OF_STEP,
    [POD_OPT_NOISE] = ROW_OF_STEP,
    [POD_OPT_REPEAT] = ROW_OF_STEP,
    [POD_OPT_DATA] = SHOWN_OF_MESHES,
    [POD_OPT_MESHES] = SHOWN_OF_MESHES,
    [POD_OPT_SCALING] = SHOWN_OF_MESHES,
    [POD_OPT_ON] = SHOWN_OF_MESHES,
};

/* The first option from *o on that is set and that none of `but` tells of; NULL: there is no more. */
static const pod_option *next_set(const pod_config *c, int but, int *o)
{
    while (*o < POD_N_OPTS && (!pod_config_is_set(c, (pod_opt)*o) || (said[*o] & but) != 0)) ++*o;
    return *o < POD_N_OPTS ? &pod_options[*o] : NULL;
}

static const char *source_note(const pod_config *c, int o)
{
    switch (pod_config_source(c, (pod_opt)o)) {
    case POD_FROM_FILE: return "from a --conf file";
    case POD_FROM_ENVIRONMENT: return "from the environment";
    default: return "";
    }
}

void pod_simulate_add_options(pod_record *r, const pod_config *c)
{
    const pod_option *option;
    for (int o = 0; (option = next_set(c, OUTPUT | ROW_OF_STEP, &o)); o++) {
        char name[64];
        snprintf(name, sizeof name, "--%s", option->name);
        pod_table_quantity(r->table, name, option->unit, source_note(c, o), "%s",
                           pod_config_value(c, (pod_opt)o));
    }
    pod_simulate_put_options(c, &r->json);
}

void pod_simulate_note_options(pod_table *t, const pod_config *c)
{
    const pod_option *option;
    for (int o = 0; (option = next_set(c, OUTPUT | SHOWN_OF_MESHES, &o)); o++) {
        const char *source = source_note(c, o);
        pod_table_note(t, "--%s %s%s%s", option->name, pod_config_value(c, (pod_opt)o),
                       *source ? ", " : "", source);
    }
}

void pod_simulate_put_options(const pod_config *c, pod_json *j)
{
    const pod_option *option;
    pod_json_open_object(j, "options");
    for (int o = 0; (option = next_set(c, 0, &o)); o++)
        pod_json_option(j, option, pod_config_value(c, (pod_opt)o));
    pod_json_close(j);
}

const char *pod_simulate_quoted(const char *value, pod_arena *arena)
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
    const char *text = "minipod simulate";
    const pod_option *option;
    for (int o = 0; text && (option = next_set(c, THIS_RUN, &o)); o++) {
        const char *value = pod_simulate_quoted(pod_config_value(c, (pod_opt)o), arena);
        text = value ? pod_arena_text(arena, "%s --%s %s", text, option->name, value) : NULL;
    }
    return text;
}

/* ---- algorithms ------------------------------------------------------------------------------ */

enum { MAX_USES = 64 };

typedef struct use { /* of an algorithm with a chunk in a step */
    const pod_coll_algo *algo;
    int64_t chunk_bytes; /* 0: its own choice */
    int64_t n, bytes;
} use;

/* In the order in which a step comes to them; answers how many. */
static int find_uses(const pod_program *p, use uses[MAX_USES])
{
    int n = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (p->instr[i].kind != POD_I_COLL_START) continue;
        const pod_program_coll *coll = &p->coll[p->instr[i].ticket];
        const int times = pod_program_times(p, i);
        int u = 0;
        while (u < n &&
               (uses[u].algo != coll->algo || uses[u].chunk_bytes != coll->args.chunk_bytes))
            u++;
        if (u == MAX_USES) continue;
        if (u == n) uses[n++] = (use){coll->algo, coll->args.chunk_bytes, 0, 0};
        uses[u].n += times;
        uses[u].bytes += times * coll->args.count * (int64_t)pod_dtype_bytes(coll->args.dtype);
    }
    return n;
}

/* As --algo takes it. */
static const char *print_use(const use *u, char text[64])
{
    snprintf(text, 64, "%s%s%s", u->algo->name, u->chunk_bytes ? "@" : "",
             u->chunk_bytes ? POD_SIZE_TEXT(u->chunk_bytes) : "");
    return text;
}

static void add_row_of(pod_record *r, const use uses[], int n, pod_coll coll)
{
    char name[32], text[64], algos[128] = "", note[256] = "";
    for (const use *u = uses; u < uses + n; u++) {
        if (u->algo->coll != coll) continue;
        const size_t a = strlen(algos), b = strlen(note);
        print_use(u, text);
        snprintf(algos + a, sizeof algos - a, "%s%s", a ? "," : "", text);
        snprintf(note + b, sizeof note - b, "%s%s: %" PRId64 " a step, %.3f MB", b ? "; " : "",
                 text, u->n, (double)u->bytes * 1e-6);
    }
    snprintf(name, sizeof name, "%s by", pod_coll_name(coll));
    if (*algos) pod_table_quantity(r->table, name, "", note, "%s", algos);
}

void pod_simulate_add_algorithms(pod_record *r, const pod_program *p)
{
    use uses[MAX_USES];
    const int n = find_uses(p, uses);
    pod_json *j = &r->json;
    for (int coll = 0; coll < POD_N_COLLS; coll++) add_row_of(r, uses, n, (pod_coll)coll);
    pod_json_open_array(j, "algorithms");
    for (const use *u = uses; u < uses + n; u++) {
        pod_json_open_object(j, NULL);
        pod_json_text(j, "collective", pod_coll_name(u->algo->coll));
        pod_json_text(j, "algorithm", u->algo->name);
        pod_json_int(j, "chunk_bytes", u->chunk_bytes);
        pod_json_int(j, "per_step", u->n);
        pod_json_int(j, "bytes_per_step", u->bytes);
        pod_json_close(j);
    }
    pod_json_close(j);
}
