#include "bench/simulate/scale.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/launch/mpirun.h"
#include "bench/simulate/simulate.h"
#include "bench/simulate/simulated.h"
#include "runtime/core/file.h"
#include "runtime/core/words.h"
#include "runtime/machine/machine_net.h"

/* ---- the list -------------------------------------------------------------------------------- */

static pod_status add_point(pod_scaling *s, const pod_machine *m, const char **text)
{
    pod_scale_point *p = &s->point[s->n];
    pod_mesh parsed;
    if (s->n == POD_SCALE_MAX_POINTS)
        return pod_fail(POD_E_INVALID, "meshes: more than %d", POD_SCALE_MAX_POINTS);
    *p = (pod_scale_point){0};
    POD_TRY(pod_word_take("meshes", text, p->mesh, sizeof p->mesh));
    POD_TRY(pod_mesh_parse(p->mesh, &parsed));
    if (pod_machine_is_virtual(m)) POD_TRY(pod_machine_wrap_mesh(m, &parsed));
    p->cores = pod_mesh_size(&parsed);
    s->n++;
    return POD_OK;
}

/* Of weak scaling the batch is the first mesh's and grows with the cores. */
static pod_status set_batches(pod_scaling *s, int64_t batch, bool is_weak)
{
    if (batch % s->point[0].cores != 0)
        return pod_fail(POD_E_INVALID,
                        "batch: %" PRId64 " is not divisible by the %d cores of mesh %s", batch,
                        s->point[0].cores, s->point[0].mesh);
    for (int i = 0; i < s->n; i++)
        s->point[i].batch = is_weak ? batch / s->point[0].cores * s->point[i].cores : batch;
    return POD_OK;
}

pod_status pod_scale_list(const pod_config *c, bool is_real, pod_scaling *s)
{
    const char *const name = pod_config_text(c, POD_OPT_MACHINE);
    const char *const meshes = pod_config_text(c, POD_OPT_MESHES), *text = meshes;
    pod_machine machine;
    if (!*text)
        return pod_fail(POD_E_INVALID,
                        "meshes: which ones? --meshes 2x2x2,2x4x4,2x8x8 or --cores 8,32,128");
    if (pod_config_source(c, POD_OPT_MESH) == POD_FROM_COMMAND_LINE)
        return pod_fail(POD_E_INVALID, "mesh: --meshes is given too, one of them must go");
    POD_TRY(pod_machine_load(name, &machine));
    if (is_real && pod_machine_is_virtual(&machine))
        return pod_fail(POD_E_INVALID,
                        "machine: %s is not this host, which --on host measures: "
                        "--on sim",
                        name);
    if (*text == ',' || strstr(text, ",,") || text[strlen(text) - 1] == ',')
        return pod_fail(POD_E_INVALID, "meshes: an empty one in '%.80s'", meshes);
    while (*text) POD_TRY(add_point(s, &machine, &text));
    return set_batches(s, pod_config_int(c, POD_OPT_BATCH),
                       strcmp(pod_config_text(c, POD_OPT_SCALING), "weak") == 0);
}

/* ---- simulated ------------------------------------------------------------------------------- */

pod_status pod_scale_settings(const pod_config *given, bool is_real, pod_arena *a, pod_config **out)
{
    const pod_model *m = pod_model_find(pod_config_text(given, POD_OPT_MODEL));
    const char *text = pod_config_print(given);
    if (is_real && m && !pod_config_is_set(given, POD_OPT_DATA))
        text = pod_arena_text(
            a, "%s[command line]\ndata = glyphs:%" PRId64 "x%" PRId64 "x%" PRId64 "\n", text, m->h,
            m->w, m->c);
    return text ? pod_config_parse(text, out) : POD_E_NOMEM;
}

pod_status pod_scale_config(const pod_config *given, const pod_scale_point *p, pod_arena *a,
                            pod_config **out)
{
    const char *text = pod_arena_text(a, "mesh = %s\nbatch = %" PRId64 "\n", p->mesh, p->batch);
    return text ? pod_config_override(given, text, out) : POD_E_NOMEM;
}

/* The first mesh's on which --algo is not what runs stands for the others'. */
static void keep_warning(const pod_planned *p, const pod_program *program, pod_arena *arena,
                         pod_scaling *s, int i)
{
    const char *text = pod_network_algo_missed(&p->setup, program, arena);
    if (text && !*s->warning)
        snprintf(s->warning, sizeof s->warning, "mesh %.64s: %.180s", s->point[i].mesh, text);
}

static pod_status keep_images(const pod_config *c, const pod_planned *p, pod_scaling *s)
{
    s->has_data = p->dataset != NULL;
    s->images = pod_arena_text(
        s->arena, "%s", s->has_data ? pod_config_text(c, POD_OPT_DATA) : pod_planned_source(p));
    return s->images ? POD_OK : POD_E_NOMEM;
}

/* What is shown is the progress of the meshes, not that within one. */
static pod_status explain(pod_planned *p, const pod_simulated *r, pod_scaling *s, int i)
{
    pod_log silent = {0};
    pod_scale_point *at = &s->point[i];
    POD_TRY(pod_simulate_explain(p, r, s->arena, &silent, &at->explanation));
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (!to) return POD_E_NOMEM;
    const pod_status status = pod_explanation_print(at->explanation, p, r, to);
    fclose(to);
    at->explained = pod_arena_text(s->arena, "%s", text);
    free(text);
    return at->explained ? status : POD_E_NOMEM;
}

static pod_status simulate(const pod_config *c, pod_arena *arena, pod_scaling *s, int i)
{
    pod_planned p = {0};
    pod_simulated r;
    pod_status status;
    POD_TRY_GOTO(status, pod_planned_of(c, arena, &p), done);
    POD_TRY_GOTO(status, pod_simulate(&p, arena, NULL, &r), done);
    if (i == 0) POD_TRY_GOTO(status, keep_images(c, &p, s), done);
    const pod_spread *phase = r.stats.phase;
    pod_scale_time t = {.step_s = r.step_s,
                        .compute_s = phase[POD_PHASE_FORWARD].mean + phase[POD_PHASE_BACKWARD].mean,
                        .reduce_s = phase[POD_PHASE_REDUCE].mean,
                        .update_s = phase[POD_PHASE_UPDATE].mean};
    t.other_s = t.step_s - t.compute_s - t.reduce_s - t.update_s;
    s->point[i].simulated = t;
    keep_warning(&p, r.program, arena, s, i);
    memcpy(s->machine, p.machine.name, sizeof s->machine);
    POD_TRY_GOTO(status, pod_published_nearest(c, &p, s->arena, &s->point[i].nearest), done);
    if (pod_config_bool(c, POD_OPT_EXPLAIN)) status = explain(&p, &r, s, i);
done:
    pod_planned_end(&p);
    return status;
}

pod_status pod_scale_simulate(const pod_config *c, pod_scaling *s, int i)
{
    pod_arena *arena;
    pod_config *own = NULL;
    pod_status status;
    POD_TRY(pod_arena_create(NULL, &arena));
    POD_TRY_GOTO(status, pod_scale_config(c, &s->point[i], arena, &own), done);
    status = simulate(own, arena, s, i);
done:
    pod_config_destroy(own);
    pod_arena_destroy(arena);
    return status == POD_OK ? POD_OK
                            : pod_fail(status, "mesh %s: %s", s->point[i].mesh, pod_error_text());
}

/* ---- for real -------------------------------------------------------------------------------- */

enum { COMMAND_BYTES = 16384, PATH_BYTES = 512, N_STEPS = 12 };

typedef struct command {
    char text[COMMAND_BYTES];
    size_t n;
    bool is_too_long;
} command;

/* One more word, as a shell takes it, in single quotes. */
static void add_word(command *c, const char *fmt, ...) POD_PRINTF(2, 3);

static void add_word(command *c, const char *fmt, ...)
{
    char word[PATH_BYTES];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(word, sizeof word, fmt, args);
    va_end(args);
    c->is_too_long |= n < 0 || n >= PATH_BYTES || c->n + 4 * (size_t)n + 8 > sizeof c->text;
    if (c->is_too_long) return;
    c->n += (size_t)sprintf(c->text + c->n, " '");
    for (const char *at = word; *at; at++)
        c->n += (size_t)sprintf(c->text + c->n, *at == '\'' ? "'\\%c'" : "%c", *at);
    c->n += (size_t)sprintf(c->text + c->n, "'");
}

/* What the comparison decides itself, or what has no meaning within it. */
static bool is_ours(pod_opt o)
{
    switch (o) {
    case POD_OPT_MESH:
    case POD_OPT_BATCH:
    case POD_OPT_OUT:
    case POD_OPT_STEPS:
    case POD_OPT_EVAL_EVERY:
    case POD_OPT_TARGET:
    case POD_OPT_CONF:
    case POD_OPT_CSV:
    case POD_OPT_JSON:
    case POD_OPT_TRACE:
    case POD_OPT_PROGRESS:
    case POD_OPT_QUIET:
    case POD_OPT_MACHINE: return true;
    default: return false;
    }
}

/* Training warns of what is typed and has no effect on it: what a file has is not typed for it. */
static pod_status hand_on(const pod_config *c, pod_opt which, const pod_option *o, command *out)
{
    char name[64];
    const char *value = pod_config_value(c, which);
    if (pod_config_source(c, which) != POD_FROM_FILE)
        add_word(out, "--%s=%s", o->name, value);
    else if (setenv(pod_option_environment(o, name, sizeof name), value, 1) != 0)
        return pod_fail(POD_E_NOMEM, "scale: no memory for the environment");
    return POD_OK;
}

/* mpirun of this very program with the settings that were given and that training takes; those of
 * the environment it has. */
static pod_status write_command(const pod_config *c, const pod_scale_point *p, const char *self,
                                const char *folder, command *out)
{
    int n;
    const pod_option *options = pod_options(&n);
    *out = (command){.text = "mpirun --bind-to none --oversubscribe"};
    out->n = strlen(out->text);
    add_word(out, "-n");
    add_word(out, "%d", p->cores);
    add_word(out, "%s", self);
    add_word(out, "train");
    for (int o = 0; o < n; o++)
        if (!is_ours((pod_opt)o) && (options[o].commands & POD_CMD_TRAIN) &&
            !options[o].only_typed && pod_config_is_set(c, (pod_opt)o) &&
            pod_config_source(c, (pod_opt)o) != POD_FROM_ENVIRONMENT)
            POD_TRY(hand_on(c, (pod_opt)o, &options[o], out));
    add_word(out, "--mesh=%s", p->mesh);
    add_word(out, "--batch=%" PRId64, p->batch);
    add_word(out, "--steps=%d", N_STEPS);
    add_word(out, "--eval-every=0");
    add_word(out, "--progress=off");
    add_word(out, "--quiet");
    add_word(out, "--out=%s", folder);
    if (out->is_too_long)
        return pod_fail(POD_E_INVALID, "scale: the settings are too long for a command of %d bytes",
                        COMMAND_BYTES);
    (void)snprintf(out->text + out->n, sizeof out->text - out->n, " >/dev/null");
    return POD_OK;
}

static double number(const cJSON *at, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(at, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static pod_status read_run(const char *folder, pod_scale_point *p)
{
    enum { MAX_BYTES = 1 << 24 };
    char path[PATH_BYTES], *text;
    pod_arena *a;
    snprintf(path, sizeof path, "%s/run.json", folder);
    POD_TRY(pod_arena_create(NULL, &a));
    pod_status status = pod_file_read_text(a, path, MAX_BYTES, &text);
    cJSON *run = status == POD_OK ? cJSON_Parse(text) : NULL;
    if (status == POD_OK && !run) status = pod_fail(POD_E_FORMAT, "%s: is no JSON", path);
    if (run) {
        const cJSON *share = cJSON_GetObjectItemCaseSensitive(run, "phase_share");
        const double step_s = number(run, "step_s");
        pod_scale_time t = {.step_s = step_s,
                            .compute_s =
                                step_s * (number(share, "forward") + number(share, "backward")),
                            .reduce_s = step_s * number(share, "reduce"),
                            .update_s = step_s * number(share, "update")};
        t.other_s = step_s - t.compute_s - t.reduce_s - t.update_s;
        p->real = t;
        p->shares_cores = number(run, "cores_at_work") < p->cores;
    }
    cJSON_Delete(run);
    pod_arena_destroy(a);
    return status;
}

static void remove_folder(const char *folder)
{
    char removal[PATH_BYTES + 16];
    snprintf(removal, sizeof removal, "rm -rf '%s'", folder);
    if (system(removal) != 0) return; /* a folder that stays in /tmp harms nobody */
}

pod_status pod_scale_train(const pod_config *c, pod_scaling *s, int i)
{
    char self[PATH_BYTES] = "", folder[] = "/tmp/minipod-scale-XXXXXX";
    command run;
    const pod_scale_point *p = &s->point[i];
    s->has_real = true;
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || !mkdtemp(folder))
        return pod_fail(POD_E_IO, "scale: cannot find this program, or make a folder in /tmp");
    pod_status status = pod_mpirun_as_root();
    if (status == POD_OK) status = write_command(c, p, self, folder, &run);
    const int code = status == POD_OK ? system(run.text) : 0;
    if (code != 0)
        status = pod_fail(POD_E_IO, "mesh %s: training under mpirun ended with exit code %d",
                          p->mesh, WIFEXITED(code) ? WEXITSTATUS(code) : -1);
    else if (status == POD_OK)
        status = read_run(folder, &s->point[i]);
    remove_folder(folder);
    return status;
}
