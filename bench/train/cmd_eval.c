/* minipod eval: the metrics of a checkpoint on the test split, on all ranks. What its network is,
 * and what of it is evaluated, is as it was trained unless the settings say otherwise. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/as_trained.h"
#include "bench/common/record.h"
#include "bench/common/target.h"
#include "runtime/data/classes.h"
#include "runtime/data/import/dataset_images.h"
#include "runtime/search/translator.h"
#include "runtime/train/eval.h"
#include "runtime/train/snapshot.h"

typedef struct job {
    pod_call *call;
    pod_config *config; /* the call's, filled from the checkpoint */
    pod_arena *arena;
    pod_setup setup;
    pod_network network;
    pod_network_choice choice;
    pod_machine machine;
    pod_dataset *data;
    uint64_t data_fingerprint, trained_fingerprint;
    pod_dataset_info trained; /* what the checkpoint was trained on */
    const pod_program *program;
    pod_store *store;
    pod_exec *exec;
    pod_translator *translator; /* NULL: the task has no search */
    pod_exec *search_exec[POD_SEARCH_N_PROGRAMS];
    pod_samples samples;
    pod_loader *loader;
    pod_predictions *predictions; /* NULL: nobody asked for them */
    pod_snapshot from;
    pod_eval_result result;
    double seconds;
} job;

static pod_status read_settings(job *j)
{
    const char *path = pod_config_text(j->call->config, POD_OPT_RESUME);
    if (!*path)
        return pod_fail(POD_E_INVALID,
                        "resume: which checkpoint? --resume FOLDER, a run's or a checkpoint's");
    return pod_as_trained(j->call, POD_CMD_EVAL, path, j->arena, &j->config);
}

static pod_status open_data(job *j)
{
    const pod_setup *s = &j->setup;
    const pod_dataset_options options = {.cache_bytes = s->data_cache_bytes,
                                         .n_readers = s->input_threads};
    if (pod_dataset_images_is(s->data)) {
        POD_TRY(pod_dataset_images_open(s->data, &j->trained, j->call->log, &j->data));
        if (pod_comm_rank(j->call->comm) == 0) POD_TRY(pod_dataset_images_check(j->data));
    } else {
        POD_TRY(pod_dataset_open_with(s->data, s->seed, &options, &j->data));
    }
    if (j->data->is_unlabelled && !*pod_config_text(j->config, POD_OPT_PREDICTIONS))
        return pod_fail(POD_E_INVALID,
                        "%s: its images stand in no folders of classes, so nothing can be scored: "
                        "--predictions FILE writes what the network answers",
                        s->data);
    POD_TRY(pod_dataset_fingerprint(j->data, &j->data_fingerprint));
    return pod_dataset_as_trained(j->data, s->data, j->data_fingerprint == j->trained_fingerprint,
                                  &j->trained, j->call->log);
}

static pod_status prepare_search(job *j, const pod_target *host)
{
    const pod_translator_args args = {.network = &j->network,
                                      .setup = &j->setup,
                                      .data = j->data,
                                      .samples = &j->samples,
                                      .target = host,
                                      .log = j->call->log,
                                      .rank = pod_comm_rank(j->call->comm),
                                      .size = pod_comm_size(j->call->comm)};
    if (!j->network.task->is_searched) return POD_OK;
    return pod_translator_create(&args, j->arena, &j->translator);
}

static pod_status open_own(job *j)
{
    pod_setup *s = &j->setup;
    POD_TRY(pod_setup_to_evaluate(j->config, pod_comm_size(j->call->comm),
                                  pod_comm_node_size(j->call->comm), j->arena, &j->setup));
    POD_TRY(pod_network_choose(s, &j->choice, &j->network));
    pod_target host;
    POD_TRY(pod_target_from(j->config, &j->machine, &host));
    POD_TRY(open_data(j));
    const int rank = pod_comm_rank(j->call->comm), size = pod_comm_size(j->call->comm);
    const pod_dataset_info seen = pod_setup_seen(s, &j->data->info);
    POD_TRY(j->network.task->samples(s, j->data, false, j->arena, &j->samples));
    const pod_setup eval = pod_setup_evaluation(s, j->samples.n);
    POD_TRY(pod_network_compile(&j->network, &eval, &seen, false, &host, j->arena, &j->program));
    POD_TRY(prepare_search(j, &host));
    POD_TRY(pod_store_create(j->program, rank, s->seed, &j->store));
    const pod_loader_options batches = pod_setup_loader(&eval, false, rank, size);
    return pod_loader_open(&j->samples, &batches, &j->loader);
}

static pod_status open_predictions(job *j)
{
    const char *path = pod_config_text(j->config, POD_OPT_PREDICTIONS);
    if (!*path || j->translator) return POD_OK; /* translations are written at once */
    return pod_predictions_open(path, j->data, pod_loader_local_batch(j->loader), j->call->comm,
                                &j->predictions);
}

static pod_status open_executors(job *j)
{
    const pod_program *program[1 + POD_SEARCH_N_PROGRAMS] = {j->program};
    pod_exec *exec[1 + POD_SEARCH_N_PROGRAMS];
    const int n = j->translator ? 1 + POD_SEARCH_N_PROGRAMS : 1;
    for (int i = 1; i < n; i++) program[i] = pod_translator_programs(j->translator)[i - 1];
    POD_TRY(pod_exec_open_all(program, n, j->store, j->call->comm, j->call->clock, exec));
    j->exec = exec[0];
    for (int i = 1; i < n; i++) j->search_exec[i - 1] = exec[i];
    return POD_OK;
}

static pod_status translate(job *j)
{
    const char *path = pod_config_text(j->config, POD_OPT_PREDICTIONS);
    if (!j->translator) return POD_OK;
    POD_TRY(pod_translator_run(j->translator, j->search_exec, j->call->comm, &j->result.metric[0]));
    return *path ? pod_translator_write(j->translator, path, j->call->comm) : POD_OK;
}

static pod_status close_predictions(job *j)
{
    pod_predictions *p = j->predictions;
    j->predictions = NULL;
    return p ? pod_predictions_close(p) : POD_OK;
}

static pod_status evaluate(job *j)
{
    pod_comm *comm = j->call->comm;
    POD_TRY(read_settings(j));
    const char *path = pod_config_text(j->config, POD_OPT_RESUME);
    POD_TRY(pod_snapshot_origin(path, comm, j->arena, &j->trained, &j->trained_fingerprint));
    POD_TRY(pod_target_machine(comm, j->config, &j->machine));
    POD_TRY(pod_comm_agree(comm, open_own(j)));
    const pod_checkpoint_info want = {.model = j->setup.model,
                                      .data = j->data->info.name,
                                      .data_fingerprint = j->data_fingerprint,
                                      .set = pod_setup_seen(&j->setup, &j->data->info)};
    POD_TRY(pod_snapshot_restore(path, &want, false, j->store, comm, j->call->log, NULL, &j->from));
    POD_TRY(open_executors(j));
    POD_TRY(open_predictions(j));
    pod_time begin = pod_clock_now(&j->call->clock);
    const pod_feed feed = pod_feed_of(j->exec, j->program, j->loader, &j->samples.form);
    POD_TRY(pod_evaluate(j->network.task, &feed, j->samples.n, comm, j->from.step, j->predictions,
                         &j->result));
    POD_TRY(translate(j));
    if (j->data->is_unlabelled) j->result.loss = j->result.metric[0] = (double)NAN;
    j->seconds = pod_time_seconds(pod_clock_now(&j->call->clock) - begin);
    return close_predictions(j);
}

enum { N_COLUMNS = 7 }; /* beside the metrics */

/* In the order in which print_results fills them. */
static int columns_of(const pod_task *task, pod_column column[N_COLUMNS + POD_MAX_METRICS])
{
    static const pod_column before[] = {{"model", "", true},    {"data", "", true},
                                        {"ranks", "", false},   {"step", "", false},
                                        {"samples", "", false}, {"loss", "", false}};
    int n = sizeof before / sizeof before[0];
    memcpy(column, before, sizeof before);
    for (int i = 0; i < task->n_metrics; i++)
        column[n++] = (pod_column){task->metric[i].name, "", false};
    column[n++] = (pod_column){"time", "s", false};
    return n;
}

static pod_status print_results(job *j)
{
    const pod_config *c = j->config;
    pod_record r;
    const pod_task *task = j->network.task;
    pod_column column[N_COLUMNS + POD_MAX_METRICS];
    const int n_columns = columns_of(task, column);
    const char *about = j->translator ? pod_search_about(&j->setup, j->arena) : "";
    if (!about) return POD_E_NOMEM;
    POD_TRY(pod_record_open("minipod.eval", 2, column, n_columns, &r));
    pod_table_note(r.table, "minipod %s eval, clock wall, checkpoint %s", POD_VERSION,
                   pod_config_text(c, POD_OPT_RESUME));
    const char *filled = pod_as_trained_print(c, j->arena);
    if (*filled) pod_table_note(r.table, "as it was trained:%s", filled);
    if (j->translator) {
        pod_table_note(r.table, "%s: %s", task->metric[0].name, about);
        pod_json_text(&r.json, "signature", about);
    }
    pod_json_text(&r.json, "clock", "wall");
    pod_json_text(&r.json, "checkpoint", j->from.folder);
    pod_json_int(&r.json, "step", j->from.step);
    pod_json_open_array(&r.json, "results");
    pod_json_open_object(&r.json, NULL);
    pod_cell_text(&r, "model", j->setup.model);
    pod_cell_text(&r, "data", j->setup.data);
    pod_cell_int(&r, "ranks", pod_comm_size(j->call->comm));
    pod_cell_int(&r, "step", j->from.step);
    pod_cell_int(&r, "samples", j->result.n_samples);
    pod_cell_real(&r, "loss", 6, j->result.loss);
    for (int i = 0; i < task->n_metrics; i++)
        pod_cell_real(&r, task->metric[i].name, 4, j->result.metric[i]);
    pod_cell_real(&r, "time", 3, j->seconds);
    return pod_record_finish(&r, c, j->call->log->out);
}

pod_status pod_cmd_eval(pod_call *call, int *exit_code)
{
    (void)exit_code;
    job j = {.call = call, .arena = call->arena};
    pod_status status = evaluate(&j);
    if (status == POD_OK)
        status =
            pod_comm_agree(call->comm, pod_comm_rank(call->comm) == 0 ? print_results(&j) : POD_OK);
    pod_predictions_abandon(j.predictions);
    pod_exec_close(j.exec);
    for (int i = 0; i < POD_SEARCH_N_PROGRAMS; i++) pod_exec_close(j.search_exec[i]);
    pod_loader_close(j.loader);
    pod_store_destroy(j.store);
    pod_dataset_close(j.data);
    pod_config_destroy(j.config);
    return status;
}
