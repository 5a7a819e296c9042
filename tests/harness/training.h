/* A whole training run of a small network, as the command makes one: settings from options, logs
 * and a checkpoint in a folder of the test's own. */
#ifndef MINIPOD_TESTS_HARNESS_TRAINING_H
#define MINIPOD_TESTS_HARNESS_TRAINING_H

#include "runtime/train/snapshot.h"
#include "runtime/train/train.h"
#include "tests/harness/nets.h"

enum { POD_TEST_MAX_OPTIONS = 32 };

typedef struct pod_test_run {
    char folder[600], mllog_path[640], said_path[640];
    pod_status status; /* of the settings, or of pod_train */
    char error[512];   /* its text, "" when all went well */
    pod_arena *arena;
    pod_config *config;
    pod_setup setup;
    pod_job_log job; /* finished */
    double wall_s;   /* from before pod_train until after it */
    pod_train_result result;
} pod_test_run;

/* The options every run begins with: 12x12x1 glyphs, 210 to train with (5 steps an epoch, a tail of
 * 10) and 77 to test with (no multiple of the batch), batch 40, augmented, LARS. */
extern const char *const pod_test_run_defaults[];

/* Trains `net` with more options, a list that ends with NULL; a later word wins, so "--model" may
 * name it otherwise. What it leaves is in pod_test_dir()/name. Collective. */
void pod_test_run_start(pod_test_run *r, pod_comm *comm, const pod_test_net *net, const char *name,
                        const char *const options[]);
/* The same with a check of success. */
void pod_test_run_well(pod_test_run *r, pod_comm *comm, const pod_test_net *net, const char *name,
                       const char *const options[]);
void pod_test_run_end(pod_test_run *r);

/* A file of the run's folder, "" when it cannot be read, which fails the running test. */
const char *pod_test_run_text(const pod_test_run *r, const char *name);

/* What such a run trains or evaluates, on the mesh and with the batch of this setup, in
 * pod_test_arena(). */
POD_MUST pod_status pod_test_run_compile(const pod_setup *setup, const pod_test_net *net,
                                         const pod_dataset *data, bool train,
                                         const pod_program **out);
/* Fills the store with the run's last checkpoint. Collective. */
POD_MUST pod_status pod_test_run_restore(const pod_test_run *r, pod_store *store, pod_comm *comm,
                                         pod_snapshot *found);

#endif
