/* The keys of a simulated job: --job KEY=VALUE,... */
#ifndef MINIPOD_BENCH_JOB_KEYS_H
#define MINIPOD_BENCH_JOB_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/status.h"

typedef enum pod_job_key {
#define POD_JOB_KEY(type, field, ...) POD_JOB_KEY_##field,
#include "bench/job/keys.def"
    POD_N_JOB_KEYS
} pod_job_key;

typedef struct pod_job_keys {
#define POD_JOB_FIELD_COUNT           int64_t
#define POD_JOB_FIELD_NUMBER          double
#define POD_JOB_FIELD_SIZE            int64_t
#define POD_JOB_KEY(type, field, ...) POD_JOB_FIELD_##type field;
#include "bench/job/keys.def"
    uint32_t given; /* one bit per key */
} pod_job_keys;

/* Fails with E_INVALID for an unknown key, a key without a value, a key that occurs twice, or a
 * value out of range. */
POD_MUST pod_status pod_job_keys_parse(const char *text, pod_job_keys *out);
bool pod_job_keys_has(const pod_job_keys *k, pod_job_key key); /* whether it was given */
void pod_job_keys_help(FILE *to);                              /* prints a line per key */

#endif
