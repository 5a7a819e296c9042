/* Shared by the files of this folder. */
#ifndef MINIPOD_RUNTIME_CONFIG_CONFIG_PARTS_H
#define MINIPOD_RUNTIME_CONFIG_CONFIG_PARTS_H

#include "kernels/base/arena.h"
#include "runtime/config/config.h"

typedef struct pod__setting {
    const char *text; /* as the user wrote it */
    pod_source source;
    int64_t whole; /* INT, SIZE, BOOL */
    double real;
} pod__setting;

struct pod_config {
    pod_arena *arena;
    uint32_t command; /* POD_CMD_ bit; POD_CMD_ALL after pod_config_parse */
    pod__setting set[POD_N_OPTS];
    const char **args;
    int n_args;
    const char **files; /* of --conf; only from pod_config_from_args */
    int n_files;
    const char **warnings;
    int n_warnings;
};

int pod__config_find(const char *name, size_t length);      /* -1: there is none */
int pod__config_find_letter(char letter, uint32_t command); /* likewise */
/* Returns the command's option for a name that other programs use, or NULL. */
const char *pod__config_hint(const char *name, uint32_t command);
pod_status pod__config_fail_unknown(const char *spelled, const char *name, uint32_t command);

bool pod__is_digits(const char *text);
bool pod__option_takes_count(const pod_option *o); /* a BOOL with a range also takes a count */
/* `what` is the option as the user spelled it. */
pod_status pod__option_check_text(const char *what, const char *text);
pod_status pod__option_parse(const pod_option *o, const char *what, const char *text,
                             pod__setting *out);
pod_status pod__option_want_text(const pod_option *o, const char *what, const char *text);
pod_status pod__config_set(pod_config *c, int option, pod_source source, const char *what,
                           const char *text);

/* Creates a configuration with the defaults of all options, and room for max_args arguments and
 * max_warnings warnings. */
POD_MUST pod_status pod__config_create(int max_args, int max_warnings, pod_config **out);

#endif
