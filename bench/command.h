/* A command of the program: one file cmd_<name>.c, one line in commands.def. */
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
    pod_log *log;     /* silent on ranks other than 0 */
    pod_comm *comm;   /* NULL for a command that takes no ranks */
    pod_clock clock;  /* since the program began */
    pod_arena *arena; /* the command's, until it has returned */
} pod_call;

/* Does the work. `exit_code` is POD_EXIT_OK; a command that ended well and missed its target sets
 * POD_EXIT_FAILED. On failure the error record is printed by the caller, which works the exit code
 * out of the status unless the command has set one: input that cannot be used is POD_EXIT_USAGE, a
 * run that failed POD_EXIT_FAILED. Collective where there are ranks: all answer alike. */
typedef pod_status pod_command_fn(pod_call *call, int *exit_code);

typedef struct pod_command {
    pod_command_form form;
    const char *everyday; /* options, joined by spaces */
    const char *examples; /* lines */
    enum { POD_ALONE, POD_WITH_RANKS } ranks;
    pod_command_fn *run;
} pod_command;

const pod_command *pod_command_find(const char *name); /* NULL: there is none */
/* The name that is most like it of all commands, or of those with ranks; NULL: none is. */
const char *pod_command_nearest(const char *name, bool with_ranks);

#define POD_COMMAND(name, ...) pod_command_fn pod_cmd_##name;
#include "bench/commands.def"

#endif
