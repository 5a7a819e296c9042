#include "bench/scale.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/simulated.h"
#include "runtime/core/file.h"

/* The settings with another mesh and batch. */
static pod_status config_of(const pod_config *given, const pod_scale_point *p, pod_arena *a,
                            pod_config **out)
{
    const char *text = pod_arena_text(a, "%s[command line]\nmesh = %s\nbatch = %" PRId64 "\n",
                                      pod_config_print(given), p->mesh, p->batch);
    if (!text) return POD_E_NOMEM;
    return pod_config_parse(text, out);
}

static pod_status simulate(const pod_config *c, pod_arena *arena, pod_scaling *s, int i)
{
    pod_planned p = {0};
    pod_simulated r;
    pod_status status;
    POD_TRY_GOTO(status, pod_planned_of(c, arena, &p), done);
    POD_TRY_GOTO(status, pod_simulate(&p, arena, &r), done);
    const pod_spread *phase = r.stats.phase;
    pod_scale_time t = {.step_s = r.step_s,
                        .compute_s = phase[POD_PHASE_FORWARD].mean + phase[POD_PHASE_BACKWARD].mean,
                        .reduce_s = phase[POD_PHASE_REDUCE].mean,
                        .update_s = phase[POD_PHASE_UPDATE].mean};
    t.other_s = t.step_s - t.compute_s - t.reduce_s - t.update_s;
    s->point[i].simulated = t;
    memcpy(s->machine, p.machine.name, sizeof s->machine);
    s->clock = "virtual";
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
    POD_TRY_GOTO(status, config_of(c, &s->point[i], arena, &own), done);
    status = simulate(own, arena, s, i);
done:
    pod_config_destroy(own);
    pod_arena_destroy(arena);
    return status == POD_OK ? POD_OK
                            : pod_fail(status, "mesh %s: %s", s->point[i].mesh, pod_error_text());
}

/* ---- for real -------------------------------------------------------------------------------- */

enum { COMMAND_BYTES = 16384, PATH_BYTES = 512, N_STEPS = 12 };

/* As a shell takes it, in single quotes. */
static void add_quoted(char *command, const char *text)
{
    size_t n = strlen(command);
    if (n + 4 * strlen(text) + 4 > COMMAND_BYTES) return; /* found by its missing end */
    command[n++] = ' ';
    command[n++] = '\'';
    for (; *text; text++) {
        if (*text == '\'') {
            memcpy(command + n, "'\\''", 4);
            n += 4;
        } else {
            command[n++] = *text;
        }
    }
    command[n++] = '\'';
    command[n] = '\0';
}

/* mpirun of this very program with the settings that were given and that training takes. */
static void write_command(const pod_config *c, const pod_scale_point *p, const char *self,
                          const char *folder, char *command)
{
    char word[PATH_BYTES];
    int n;
    const pod_option *options = pod_options(&n);
    snprintf(command, COMMAND_BYTES, "mpirun -n %d --bind-to none --oversubscribe", p->cores);
    add_quoted(command, self);
    add_quoted(command, "train");
    for (int o = 0; o < n; o++) {
        const bool is_ours = o == POD_OPT_MESH || o == POD_OPT_BATCH || o == POD_OPT_OUT ||
                             o == POD_OPT_STEPS || o == POD_OPT_EVAL_EVERY || o == POD_OPT_CONF ||
                             o == POD_OPT_CSV || o == POD_OPT_JSON || o == POD_OPT_MACHINE;
        if (is_ours || !(options[o].commands & POD_CMD_TRAIN) || options[o].only_typed ||
            !pod_config_is_set(c, (pod_opt)o))
            continue;
        snprintf(word, sizeof word, "--%s=%s", options[o].name, pod_config_value(c, (pod_opt)o));
        add_quoted(command, word);
    }
    snprintf(word, sizeof word, "--mesh=%s", p->mesh);
    add_quoted(command, word);
    snprintf(word, sizeof word, "--batch=%" PRId64, p->batch);
    add_quoted(command, word);
    snprintf(word, sizeof word, "--steps=%d", N_STEPS);
    add_quoted(command, word);
    add_quoted(command, "--eval-every=0");
    add_quoted(command, "--progress=off");
    add_quoted(command, "--quiet");
    snprintf(word, sizeof word, "--out=%s", folder);
    add_quoted(command, word);
    strncat(command, " >/dev/null", COMMAND_BYTES - strlen(command) - 1);
}

static double number(const cJSON *at, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(at, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static pod_status read_run(const char *folder, pod_scale_time *out)
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
        *out = (pod_scale_time){.step_s = step_s,
                                .compute_s =
                                    step_s * (number(share, "forward") + number(share, "backward")),
                                .reduce_s = step_s * number(share, "reduce"),
                                .update_s = step_s * number(share, "update")};
        out->other_s = step_s - out->compute_s - out->reduce_s - out->update_s;
    }
    cJSON_Delete(run);
    pod_arena_destroy(a);
    return status;
}

static void remove_folder(const char *folder)
{
    char command[PATH_BYTES + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) return; /* a folder that stays in /tmp harms nobody */
}

pod_status pod_scale_train(const pod_config *c, pod_scaling *s, int i)
{
    char self[PATH_BYTES] = "", folder[] = "/tmp/minipod-scale-XXXXXX", command[COMMAND_BYTES];
    const pod_scale_point *p = &s->point[i];
    pod_machine here;
    pod_machine_describe_host(&here);
    s->physical_cores = (int)here.physical_cores;
    s->has_real = true;
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || !mkdtemp(folder))
        return pod_fail(POD_E_IO, "scale: cannot find this program, or make a folder in /tmp");
    write_command(c, p, self, folder, command);
    const int code = system(command);
    pod_status status = POD_OK;
    if (code != 0)
        status = pod_fail(POD_E_IO, "mesh %s: training under mpirun ended with %d", p->mesh, code);
    else
        status = read_run(folder, &s->point[i].real);
    remove_folder(folder);
    return status;
}
