/* A command of the program has a file cmd_<name>.c and a line in commands.def. */
#ifndef MINIPOD_BENCH_COMMAND_H
#define MINIPOD_BENCH_COMMAND_H

#include "collectives/exec/comm.h"
#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/config/config.h"
#include "runtime/core/clock.h"
#include "runtime/core/log.h"

enum { POD_EXIT_OK = 0, POD_EXIT_FAILED = 1, POD_EXIT_USAGE = 2 };

typedef struct pod_call { /* what a command is called with; borrowed */
    const pod_config *config;
    pod_log *log;     /* prints on rank 0 only */
    pod_comm *comm;   /* NULL for a command that runs as one process */
    pod_clock clock;  /* counts from the program's start */
    pod_arena *arena; /* lives until the command has returned */
} pod_call;

/* Runs the command. `exit_code` is POD_EXIT_OK at the call; a command that succeeds but misses its
 * target sets POD_EXIT_FAILED. If the command fails, the caller prints the error record and derives
 * the exit code from the status, unless the command has set one: POD_EXIT_USAGE for input that
 * cannot be used, POD_EXIT_FAILED for a run that failed. Collective for commands with ranks: all
 * return the same. */
typedef pod_status pod_command_fn(pod_call *call, int *exit_code);

typedef struct pod_command {
    pod_command_form form;
    const char *everyday; /* options, joined by spaces */
    const char *examples; /* lines */
    enum { POD_ALONE, POD_WITH_RANKS } ranks;
    pod_command_fn *run;
} pod_command;

const pod_command *pod_command_find(const char *name); /* NULL if there is none */
/* Returns the most similar name of a command, or of a command with ranks; NULL if none is
 * similar. */
const char *pod_command_nearest(const char *name, bool with_ranks);

#define POD_COMMAND(name, ...) pod_command_fn pod_cmd_##name;
#include "bench/commands.def"

#endif
