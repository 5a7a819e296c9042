/* What a simulation was of: the options that were given, and the algorithms that ran. */
#ifndef MINIPOD_BENCH_SIMULATE_SETTINGS_H
#define MINIPOD_BENCH_SIMULATE_SETTINGS_H

#include "bench/common/record.h"
#include "kernels/base/arena.h"
#include "runtime/config/config.h"
#include "runtime/program/program.h"

/* A row for each option that was given and has no row of its own, and that is not about output; in
 * JSON all that were given. */
void pod_simulate_add_options(pod_record *r, const pod_config *c);
/* A note of each that was given and that a table of meshes does not show. */
void pod_simulate_note_options(pod_table *t, const pod_config *c);
/* An object "options" of all that were given, as they were written. */
void pod_simulate_put_options(const pod_config *c, pod_json *j);

/* The command line that simulates the same, whoever gave its options, in the arena: `minipod
 * simulate --mesh 2x8x8 ...`. NULL without memory. */
const char *pod_simulate_command(const pod_config *c, pod_arena *arena);

/* A row for each kind of collective with the algorithms that ran, and an array "algorithms". */
void pod_simulate_add_algorithms(pod_record *r, const pod_program *p);

#endif
