/* The settings of one command: command line > environment > file.
 *
 * An option has one name in three spellings made by rule: --lr-schedule, MINIPOD_LR_SCHEDULE, and
 * the file key lr-schedule. The first and last may also have _ for -, as in nccl-tests. All options
 * are in options.def. A value follows as `--lr 0.1` or `--lr=0.1`; a bool may also be alone
 * (`--trace`, `--trace on`, `--trace 1`, `--trace=off`). `--` ends the options. Files given with
 * --conf are read in order, and the last value wins; MINIPOD_CONF names a file that is read if
 * there is no --conf. A key that occurs twice in one file is an error, and so is a key that no
 * command knows. A key of another command is checked and not used, so that train and eval can share
 * a file.
 *
 * Errors are E_INVALID, or the status of reading a file: one line that names the option as it was
 * spelled (or FILE:LINE, or the environment name), what was wanted and what was found. */
#ifndef MINIPOD_RUNTIME_CONFIG_CONFIG_H
#define MINIPOD_RUNTIME_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/status.h"

enum { /* the commands that take an option */
       POD_CMD_TRAIN = 1u << 0,
       POD_CMD_EVAL = 1u << 1,
       POD_CMD_DATA = 1u << 2,
       POD_CMD_CALIBRATE = 1u << 3,
       POD_CMD_EXPLAIN = 1u << 4,
       POD_CMD_COLL = 1u << 5,
       POD_CMD_KERNELS = 1u << 6,
       POD_CMD_SIMULATE = 1u << 7,
       POD_CMD_PREDICT = 1u << 8,
       POD_CMD_SCALE = 1u << 9,
       POD_CMD_LAUNCH = 1u << 10,
       POD_CMD_GOODPUT = 1u << 11,
       POD_CMD_MLPERF = 1u << 12,
       POD_CMD_REPORT = 1u << 13,
       POD_CMD_FLEET = 1u << 14,
       POD_CMD_ALL = 0xffff
};

typedef enum pod_opt {
#define POD_OPTION(id, ...) POD_OPT_##id,
#include "runtime/config/options.def"
    POD_N_OPTS
} pod_opt;

typedef enum pod_option_type {
    POD_OPTION_INT,
    POD_OPTION_DOUBLE,
    POD_OPTION_SIZE,
    POD_OPTION_TEXT,
    POD_OPTION_BOOL,
    POD_OPTION_CHOICE
} pod_option_type;

typedef struct pod_option {
    const char *name;
    char letter; /* 0: none */
    pod_option_type type;
    const char *unit;
    const char *fallback; /* "": none, or the optimizer's */
    double min, max;      /* INT, DOUBLE, SIZE */
    const char *choices;  /* "a|b|c": CHOICE */
    const char *group;
    bool only_typed; /* neither environment nor file */
    bool writes_file;
    bool shapes, records; /* options.def */
    uint32_t commands;
    const char *help;
} pod_option;

extern const pod_option pod_options[POD_N_OPTS]; /* by pod_opt */
/* Writes "MINIPOD_LR_SCHEDULE" to `text`, and returns it. */
const char *pod_option_environment(const pod_option *o, char *text, size_t bytes);

typedef enum pod_source { /* a later one overrides an earlier one */
                          POD_FROM_DEFAULT,
                          POD_FROM_CHECKPOINT, /* pod_config_fill */
                          POD_FROM_FILE,
                          POD_FROM_ENVIRONMENT,
                          POD_FROM_COMMAND_LINE,
                          POD_N_SOURCES
} pod_source;

/* The form of a command's words, for the parser; bench/commands.def has them. */
typedef struct pod_command_form {
    const char *name;
    uint32_t bit;     /* POD_CMD_ */
    const char *args; /* "ACTION [FILE]", or "" */
    int max_args;     /* how many words other than options it takes */
    const char *summary;
} pod_command_form;

typedef struct pod_config pod_config;

/* `argv` is the words after the command's name; `environment` ends with NULL as environ does. With
 * --help, --help-all (which sets --help as well) or --version on the command line, nothing else is
 * read. */
POD_MUST pod_status pod_config_from_args(const pod_command_form *command, int argc,
                                         char *const argv[], char *const environment[],
                                         pod_config **out);
void pod_config_destroy(pod_config *c); /* NULL is allowed */

/* Returns all options and arguments with their sources as text, `name = value` under a [source]
 * each, which lives as long as c. pod_config_parse makes an equal configuration from it, so rank 0
 * can read the settings and send the text to the others. */
const char *pod_config_print(const pod_config *c);
POD_MUST pod_status pod_config_parse(const char *printed, pod_config **out);

/* Copies `c` and fills in those of the n options `which` that nobody has set, from `settings`:
 * lines of `option = value`, as checkpoints keep them. An option without a line, or with an empty
 * value, stays as it is. E_INVALID if a value does not fit its option. The caller destroys
 * `out`. */
POD_MUST pod_status pod_config_fill(const pod_config *c, const char *settings,
                                    const pod_opt which[], int n, pod_config **out);

/* Copies `c` with these lines of `option = value`, as if they had been typed. The caller destroys
 * `out`. */
POD_MUST pod_status pod_config_override(const pod_config *c, const char *settings,
                                        pod_config **out);

/* Return the value of an option. They assert that it has this type in options.def, and that a
 * number is set if its default depends on the optimizer (pod_optim_number finds such a default; the
 * text is then empty). Texts live as long as c. */
int64_t pod_config_int(const pod_config *c, pod_opt o);
double pod_config_double(const pod_config *c, pod_opt o);
int64_t pod_config_size(const pod_config *c, pod_opt o); /* bytes */
bool pod_config_bool(const pod_config *c, pod_opt o);
int64_t pod_config_count(const pod_config *c, pod_opt o);     /* for a BOOL with a range */
const char *pod_config_text(const pod_config *c, pod_opt o);  /* TEXT and CHOICE; "" if absent */
const char *pod_config_value(const pod_config *c, pod_opt o); /* the text of any type, as the user
                                                                 wrote it */

/* Returns the normal form of `text`, a value of the option: "1e-4" and "0.0001" become "0.0001",
 * "1024K" becomes "1M", "yes" "on". Returns `text` itself if it is no such value. */
enum { POD_OPTION_NORMAL_BYTES = 32 };
const char *pod_option_normal(const pod_option *o, const char *text,
                              char room[POD_OPTION_NORMAL_BYTES]);

pod_source pod_config_source(const pod_config *c, pod_opt o);
bool pod_config_is_set(const pod_config *c, pod_opt o); /* not the default */
/* Returns whether both values mean the same, in any spelling: 0.1 and 1e-1. */
bool pod_config_is_same(const pod_config *a, const pod_config *b, pod_opt o);

int pod_config_n_args(const pod_config *c);
const char *pod_config_arg(const pod_config *c, int i);

/* The files given with --conf, of the configuration that pod_config_from_args made. */
int pod_config_n_files(const pod_config *c);
const char *pod_config_file(const pod_config *c, int i);

/* Warnings to print: MINIPOD_ names in the environment that mean nothing. */
int pod_config_n_warnings(const pod_config *c);
const char *pod_config_warning(const pod_config *c, int i);

/* Prints the options `names` (joined by spaces, options of `command`), with their defaults. */
void pod_config_help(const pod_command_form *command, const char *names, FILE *to);

/* Prints all options of `command` by group, each with unit, range, default and environment name. */
void pod_config_help_all(const pod_command_form *command, FILE *to);

#endif
