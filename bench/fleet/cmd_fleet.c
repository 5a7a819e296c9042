/* minipod fleet: many jobs on pods, on a virtual clock: who waits and why, who fails, is evicted or
 * moved, and where all chip-time goes. */
#include <string.h>

#include "bench/fleet/fleet.h"
#include "runtime/core/file.h"

static pod_status run(const pod_call *call, pod_fleet_steps *steps, pod_arena *a)
{
    const pod_config *c = call->config;
    const char *folder = pod_config_text(c, POD_OPT_OUT), *plot = pod_config_text(c, POD_OPT_PLOT);
    pod_fleet_study s;
    const pod_fleet_case x = {
        .config = c, .steps = steps, .seed = (uint64_t)pod_config_int(c, POD_OPT_SEED)};
    POD_TRY(pod_fleet_study_of(&x, a, &s));
    if (*folder) POD_TRY(pod_dir_make(folder));
    const bool has_shapes = strcmp(pod_config_text(c, POD_OPT_SEGMENTS), "shape") == 0;
    POD_TRY(pod_fleet_study_run(&s, a, *folder || *plot || has_shapes, call->log));
    POD_TRY(pod_fleet_report(&s, a, call->log));
    if (*plot) POD_TRY(pod_fleet_plot(&s, a, plot, call->log));
    if (!*folder) return POD_OK;
    if (pod_config_bool(c, POD_OPT_TRACE)) POD_TRY(pod_fleet_write_timeline(&s, a, folder));
    return pod_fleet_write_files(&s, folder);
}

static pod_status run_with_steps(const pod_call *call, pod_arena *a)
{
    pod_fleet_steps *steps;
    POD_TRY(pod_fleet_steps_create(call->config, a, &steps));
    const pod_status status = run(call, steps, a);
    pod_fleet_steps_destroy(steps);
    return status;
}

pod_status pod_cmd_fleet(pod_call *call, int *exit_code)
{
    if (pod_config_bool(call->config, POD_OPT_VALIDATE)) {
        bool held = false;
        POD_TRY(pod_fleet_validate(call, &held));
        *exit_code = held ? POD_EXIT_OK : POD_EXIT_FAILED;
        return POD_OK;
    }
    if (*pod_config_text(call->config, POD_OPT_LEVERS)) return pod_fleet_levers(call);
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    const bool asks = *pod_config_text(call->config, POD_OPT_ASK) != '\0';
    const pod_status status = asks ? pod_fleet_ask(call, a) : run_with_steps(call, a);
    pod_arena_destroy(a);
    return status;
}

void pod_fleet_help(FILE *to)
{
    fputs("\n"
          "--jobs: formats\n",
          to);
#define POD_JOBS_FORMAT(name, about) fprintf(to, "  %-10s%s\n", #name, (about));
#include "runtime/fleet/jobs/jobs.def"
    fputs(
        "\n"
        "--jobs FILE: one row per job, by time of submission; the first line names the columns\n"
        "  job               name, unique\n"
        "  submit_s          time of submission, in seconds from the beginning\n"
        "  chips             number of chips; a slice is rounded up to the next possible size; or\n"
        "  shape             shape of its slice, such as 4x4x8 or 16x8, in any orientation\n"
        "  steps, step_s     number of steps, and time of one step; or\n"
        "  duration_s        its training time, in steps of a second; or\n"
        "  model, batch      and steps or duration_s: a step is simulated on its slice of a TPU "
        "pod\n"
        "  ideal_s           time of a step at the peak, for program goodput (optional, as those "
        "below)\n"
        "  machine           the pods that it goes to; default: the first of --pods large enough\n"
        "  priority          a whole number, 0; higher is first\n"
        "  estimate_s        estimate of its training time by its owner; default: exact\n"
        "  checkpoint_bytes  default: that of the simulated model, or --job bytes=\n"
        "  min_chips         least chips with --elastic: it may run on a half, a quarter, ...\n"
        "  model, phase      for --segments and jobs.csv\n"
        "  outcome           completed, failed, ...; for the same\n"
        "\n"
        "--mix FILE: one row per class of jobs, which arrive at random\n"
        "  share             share of the jobs of its machine; the shares of a machine sum to 1\n"
        "  chips             number of chips of each job\n"
        "  hours             mean training time\n"
        "  spread            standard deviation of their logarithm, 0 (optional, as those below)\n"
        "  step_s (1), ideal_s, machine, priority, checkpoint_bytes, min_chips, model, batch, "
        "phase: as "
        "above\n"
        "\n"
        "--ask CHIPS,KEY=VALUE,...: one more job\n"
        "  hours             training time, 1\n"
        "  day               day of submission; default: the end of --warm-up\n"
        "  machine, priority, model, batch: as above\n"
        "\n"
        "--levers: changes to the fleet; a+b: both at once\n",
        to);
    pod_fleet_levers_help(to);
    fputs("\n"
          "figures\n"
          "  scheduling  chip-time in which jobs held all their chips / capacity; of a class of "
          "jobs,\n"
          "              / what they asked for from submission to end\n"
          "  runtime     of that, the share of steps whose progress was kept, or may be still\n"
          "  program     ideal time of these steps / the time they took\n"
          "  goodput     the product of the three\n"
          "\n"
          "classes: small below 1/64 of a pod (of TPU v4, a cube), medium below 1/8, large below "
          "1/2\n",
          to);
}
