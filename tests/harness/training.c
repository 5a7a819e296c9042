#include "tests/harness/training.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "runtime/core/file.h"
#include "tests/harness/harness.h"

const char *const pod_test_run_defaults[] = {"--data=glyphs:12x12x1:210+77",
                                             "--batch=40",
                                             "--precision=f32",
                                             "--seed=5",
                                             "--augment=crop",
                                             "--crop-pad=2",
                                             "--bucket=1K",
                                             "--optimizer=lars",
                                             "--lr=0.5",
                                             "--trust=0.02",
                                             "--momentum=0.9",
                                             "--lr-schedule=constant",
                                             "--eval-every=1",
                                             "--label-smoothing=0.1",
                                             NULL};

static pod_status configure(pod_test_run *r, pod_comm *comm, const pod_test_net *net,
                            const char *const options[])
{
    static const pod_command_form train = {.name = "train", .bit = POD_CMD_TRAIN, .args = ""};
    char *no_environment[] = {NULL}, *argv[POD_TEST_MAX_OPTIONS];
    int argc = 0;
    POD_TRY(pod_arena_create(NULL, &r->arena));
    argv[argc++] = pod_arena_text(r->arena, "--model=%s", net->name);
    argv[argc++] = pod_arena_text(r->arena, "--out=%s", r->folder);
    for (int i = 0; pod_test_run_defaults[i]; i++)
        argv[argc++] = pod_arena_text(r->arena, "%s", pod_test_run_defaults[i]);
    for (int i = 0; options[i]; i++) argv[argc++] = pod_arena_text(r->arena, "%s", options[i]);
    POD_TRY(pod_config_from_args(&train, argc, argv, no_environment, &r->config));
    return pod_setup_from(r->config, pod_comm_size(comm), pod_comm_node_size(comm), r->arena,
                          &r->setup);
}

static pod_status open_files(pod_test_run *r, pod_comm *comm, const pod_clock *clock,
                             pod_mllog **mllog, FILE **said)
{
    char checkpoints[640];
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoint", r->folder);
    if (pod_comm_rank(comm) == 0) {
        POD_TRY(pod_dir_make(checkpoints));
        *said = fopen(r->said_path, "w");
        if (!*said) return pod_fail(POD_E_IO, "%s: cannot be made", r->said_path);
    }
    return pod_mllog_open(r->mllog_path, pod_comm_rank(comm), clock, mllog);
}

static void put_header(const pod_test_run *r, pod_mllog *l)
{
    pod_mllog_submission(
        l, &(pod_mllog_run){"resnet", "unverified", "host", r->setup.model, r->setup.data});
    pod_mllog_put(l, "init_start", pod_mllog_null());
    pod_mllog_put(l, "seed", pod_mllog_int((int64_t)r->setup.seed));
    pod_mllog_put(l, "global_batch_size", pod_mllog_int(r->setup.batch));
    pod_mllog_put(l, "init_stop", pod_mllog_null());
}

static pod_status train(pod_test_run *r, pod_comm *comm, const pod_test_net *net)
{
    const pod_clock clock = pod_clock_start();
    const pod_target host = {.name = "host", .cpu = pod_cpu_features()};
    const pod_network network = pod_test_network(net);
    pod_guard_plan guard;
    pod_mllog *mllog = NULL;
    FILE *said = NULL;
    POD_TRY(pod_guard_plan_from(r->config, pod_comm_size(comm), &guard));
    POD_TRY(pod_comm_agree(comm, open_files(r, comm, &clock, &mllog, &said)));
    pod_log log = pod_log_start(pod_comm_rank(comm), said, said, "on", false);
    r->job = pod_job_start(pod_clock_stamp(&clock));
    put_header(r, mllog);
    const pod_train_args args = {.setup = &r->setup,
                                 .network = &network,
                                 .target = &host,
                                 .comm = comm,
                                 .clock = clock,
                                 .log = &log,
                                 .job = &r->job,
                                 .mllog = mllog,
                                 .guard = &guard,
                                 .machine = "host",
                                 .kept_steps = 2};
    const pod_time begin = pod_clock_now(&clock);
    const pod_status status = pod_train(&args, &r->result);
    r->wall_s = pod_time_seconds(pod_clock_now(&clock) - begin);
    snprintf(r->error, sizeof r->error, "%s", status == POD_OK ? "" : pod_error_text());
    pod_job_finish(&r->job, pod_clock_stamp(&clock));
    POD_CHECK_OK(pod_mllog_close(mllog));
    if (said) fclose(said);
    pod_comm_barrier(comm); /* files are there for all ranks */
    return status;
}

void pod_test_run_start(pod_test_run *r, pod_comm *comm, const pod_test_net *net, const char *name,
                        const char *const options[])
{
    *r = (pod_test_run){0};
    snprintf(r->folder, sizeof r->folder, "%s/%s", pod_test_dir(), name);
    snprintf(r->mllog_path, sizeof r->mllog_path, "%s/mllog.txt", r->folder);
    snprintf(r->said_path, sizeof r->said_path, "%s/said.txt", r->folder);
    r->status = configure(r, comm, net, options);
    if (r->status == POD_OK) r->status = train(r, comm, net);
    if (r->status != POD_OK && !*r->error)
        snprintf(r->error, sizeof r->error, "%s", pod_error_text());
}

void pod_test_run_well(pod_test_run *r, pod_comm *comm, const pod_test_net *net, const char *name,
                       const char *const options[])
{
    pod_test_run_start(r, comm, net, name, options);
    POD_CHECK(r->status == POD_OK, "%s, run '%s': %s", net->name, name, r->error);
}

void pod_test_run_end(pod_test_run *r)
{
    pod_timeline_destroy(r->result.timeline);
    pod_arena_destroy(r->result.arena);
    pod_config_destroy(r->config);
    pod_arena_destroy(r->arena);
}

const char *pod_test_run_text(const pod_test_run *r, const char *name)
{
    enum { MAX_BYTES = 1 << 20 };
    char *text = NULL;
    const char *path = pod_test_text("%s/%s", r->folder, name);
    POD_CHECK_OK(pod_file_read_text(pod_test_arena(), path, MAX_BYTES, &text));
    return text ? text : "";
}

pod_status pod_test_run_compile(const pod_setup *setup, const pod_test_net *net,
                                const pod_dataset *data, bool train, const pod_program **out)
{
    const pod_target host = {.name = "host", .cpu = pod_cpu_features()};
    const pod_network network = pod_test_network(net);
    return pod_network_compile(&network, setup, &data->info, train, &host, pod_test_arena(), out);
}

pod_status pod_test_run_restore(const pod_test_run *r, pod_store *store, pod_comm *comm,
                                pod_snapshot *found)
{
    const pod_checkpoint_info want = {.model = r->setup.model};
    return pod_snapshot_restore(r->folder, &want, false, store, comm, NULL, NULL, found);
}
