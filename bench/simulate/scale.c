#include "bench/simulate/simulate.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/run_json.h"
#include "bench/launch/launch.h"
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

/* Training needs images: where nothing names any they are made, of the size that the model was
 * published for, on both clocks. */
static void find_data(const pod_config *c, pod_scaling *s)
{
    const pod_model *m = pod_model_find(pod_config_text(c, POD_OPT_MODEL));
    if (!m || pod_config_is_set(c, POD_OPT_DATA)) return;
    for (int i = 0; i < s->n; i++)
        snprintf(s->point[i].data, sizeof s->point[i].data,
                 "glyphs:%" PRId64 "x%" PRId64 "x%" PRId64, m->h, m->w, m->c);
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
    if (is_real) find_data(c, s);
    return set_batches(s, pod_config_int(c, POD_OPT_BATCH),
                       strcmp(pod_config_text(c, POD_OPT_SCALING), "weak") == 0);
}

/* ---- simulated ------------------------------------------------------------------------------- */

pod_status pod_scale_config(const pod_config *given, const pod_scale_point *p, pod_arena *a,
                            pod_config **out)
{
    const char *text = pod_arena_text(a, "mesh = %s\nbatch = %" PRId64 "%s%s\n", p->mesh, p->batch,
                                      *p->data ? "\ndata = " : "", p->data);
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
    s->point[i].price = pod_simulated_price(c, &p, 1e6 * r.step_s / (double)p.setup.batch);
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

enum { PATH_BYTES = 512, N_STEPS = 12 };

/* The command with one more word; NULL without memory, also where it was NULL. */
static const char *with_word(pod_arena *a, const char *command, const char *fmt, ...)
    POD_PRINTF(3, 4);

static const char *with_word(pod_arena *a, const char *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *word = pod_arena_vtext(a, fmt, args);
    va_end(args);
    const char *quoted = word ? pod_simulate_quoted(word, a) : NULL;
    return command && quoted ? pod_arena_text(a, "%s %s", command, quoted) : NULL;
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
static const char *hand_on(const pod_config *c, pod_opt which, const pod_option *o, pod_arena *a,
                           const char *command)
{
    char name[64];
    const char *value = pod_config_value(c, which);
    if (pod_config_source(c, which) != POD_FROM_FILE)
        return with_word(a, command, "--%s=%s", o->name, value);
    return setenv(pod_option_environment(o, name, sizeof name), value, 1) == 0 ? command : NULL;
}

/* mpirun of this very program with the settings that were given and that training takes; those of
 * the environment it has. NULL without memory. */
static const char *command_of(const pod_config *c, const pod_scale_point *p, const char *self,
                              const char *folder, pod_arena *a)
{
    const char *command =
        pod_arena_text(a, "mpirun --bind-to none --oversubscribe -n %d", p->cores);
    command = with_word(a, command, "%s", self);
    command = with_word(a, command, "train");
    for (int o = 0; o < POD_N_OPTS; o++)
        if (!is_ours((pod_opt)o) && (pod_options[o].commands & POD_CMD_TRAIN) &&
            !pod_options[o].only_typed && pod_config_is_set(c, (pod_opt)o) &&
            pod_config_source(c, (pod_opt)o) != POD_FROM_ENVIRONMENT)
            command = hand_on(c, (pod_opt)o, &pod_options[o], a, command);
    command = with_word(a, command, "--mesh=%s", p->mesh);
    if (*p->data) command = with_word(a, command, "--data=%s", p->data);
    command = with_word(a, command, "--out=%s", folder);
    if (!command) return NULL;
    return pod_arena_text(a,
                          "%s --batch=%" PRId64 " --steps=%d --eval-every=0 --progress=off --quiet "
                          ">/dev/null",
                          command, p->batch, N_STEPS);
}

static pod_status read_run(const char *folder, pod_arena *a, pod_scale_point *p)
{
    char *text;
    cJSON *run;
    POD_TRY(pod_run_json_read(a, folder, &text));
    POD_TRY(pod_run_json_parse(folder, text, &run));
    const cJSON *share = pod_run_json_item(run, "phase_share");
    const double step_s = pod_run_json_number(run, "step_s");
    pod_scale_time t = {.step_s = step_s,
                        .compute_s = step_s * (pod_run_json_number(share, "forward") +
                                               pod_run_json_number(share, "backward")),
                        .reduce_s = step_s * pod_run_json_number(share, "reduce"),
                        .update_s = step_s * pod_run_json_number(share, "update")};
    t.other_s = step_s - t.compute_s - t.reduce_s - t.update_s;
    p->real = t;
    p->shares_cores = pod_run_json_number(run, "cores_at_work") < p->cores;
    cJSON_Delete(run);
    return POD_OK;
}

static void remove_folder(const char *folder)
{
    char removal[PATH_BYTES + 16];
    snprintf(removal, sizeof removal, "rm -rf '%s'", folder);
    if (system(removal) != 0) return; /* a folder that stays in /tmp harms nobody */
}

pod_status pod_scale_train(const pod_config *c, pod_scaling *s, int i)
{
    const char *self;
    char folder[] = "/tmp/minipod-scale-XXXXXX";
    pod_scale_point *p = &s->point[i];
    s->has_real = true;
    POD_TRY(pod_mpirun_as_root());
    POD_TRY(pod_launch_self(s->arena, &self));
    if (!mkdtemp(folder)) return pod_fail(POD_E_IO, "scale: cannot make a folder in /tmp");
    const char *command = command_of(c, p, self, folder, s->arena);
    const int code = command ? system(command) : 0;
    pod_status status = POD_E_NOMEM;
    if (code != 0)
        status = pod_fail(POD_E_IO, "mesh %s: training under mpirun ended with exit code %d",
                          p->mesh, WIFEXITED(code) ? WEXITSTATUS(code) : -1);
    else if (command)
        status = read_run(folder, s->arena, p);
    remove_folder(folder);
    return status;
}
