/* minipod COMMAND [options]: finds the command, reads its settings, runs it, says how it ended.
 * Exit 0: done; 1: the run failed or missed its target; 2: usage, or input that cannot be used. */
#include <stdlib.h>
#include <string.h>

#include "bench/command.h"
#include "kernels/base/cpu.h"

typedef struct command {
    pod_command_form form;
    pod_command_fn *run;
} command;

static const command commands[] = {
#define POD_COMMAND(name, bit, args, max_args, summary) \
    {{#name, (bit), (args), (max_args), (summary)}, pod_cmd_##name},
#include "bench/commands.def"
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(void)
{
    printf("usage: minipod COMMAND [options]\n"
           "A miniature TPU pod on ordinary CPUs.\n\n");
    for (int i = 0; i < N_COMMANDS; i++)
        printf("  %-12s%s\n", commands[i].form.name, commands[i].form.summary);
    printf("\n`minipod COMMAND --help` lists a command's options, `minipod --version` says which"
           " minipod this is.\n");
}

static int print_version(void)
{
    printf("minipod %s\n", POD_VERSION);
    return POD_EXIT_OK;
}

static int fail_usage(const char *given)
{
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++) names[i] = commands[i].form.name;
    const char *near = given ? pod_nearest_name(given, names, N_COMMANDS) : NULL;
    if (!given)
        fprintf(stderr, "minipod: a command is missing; minipod --help lists them\n");
    else if (near)
        fprintf(stderr, "minipod: '%s' is no command; did you mean %s?\n", given, near);
    else
        fprintf(stderr, "minipod: '%s' is no command; minipod --help lists them\n", given);
    return POD_EXIT_USAGE;
}

static int exit_code_of(pod_status s)
{
    static const pod_status runs_fail_with[] = {POD_E_NOMEM, POD_E_COMM, POD_E_NUMERIC};
    for (size_t i = 0; i < sizeof runs_fail_with / sizeof runs_fail_with[0]; i++)
        if (s == runs_fail_with[i]) return POD_EXIT_FAILED;
    return POD_EXIT_USAGE;
}

/* One line, whatever the level of printing. */
static int report(const command *c, pod_status s)
{
    fflush(stdout);
    fprintf(stderr, "minipod %s: %s\n", c->form.name, pod_error_text());
    return exit_code_of(s);
}

static pod_status run_with(const command *c, const pod_config *config, int *exit_code)
{
    if (pod_config_bool(config, POD_OPT_VERSION)) {
        *exit_code = print_version();
        return POD_OK;
    }
    if (pod_config_bool(config, POD_OPT_HELP)) {
        pod_config_help(&c->form, stdout);
        return POD_OK;
    }
    pod_log log = pod_log_start(0, stdout, stderr, pod_config_text(config, POD_OPT_PROGRESS),
                                pod_config_bool(config, POD_OPT_QUIET));
    for (int i = 0; i < pod_config_n_warnings(config); i++)
        pod_log_say(&log, POD_LOG_WARNING, "%s", pod_config_warning(config, i));
    pod_call call = {.config = config, .log = &log};
    pod_status s = c->run(&call, exit_code);
    pod_progress_end(&log);
    return s;
}

static int run_command(const command *c, int argc, char *argv[])
{
    extern char **environ;
    pod_config *config = NULL;
    int exit_code = POD_EXIT_OK;
    pod_status s = pod_config_from_args(&c->form, argc, argv, environ, &config);
    if (s == POD_OK) s = run_with(c, config, &exit_code);
    if (s != POD_OK) exit_code = report(c, s);
    pod_config_destroy(config);
    return exit_code;
}

int main(int argc, char *argv[])
{
    const char *max_isa = getenv("MINIPOD_MAX_ISA");
    if (max_isa && pod_cpu_cap(max_isa) != POD_OK) {
        fprintf(stderr, "minipod: %s\n", pod_error_text());
        return POD_EXIT_USAGE;
    }
    if (argc < 2) return fail_usage(NULL);
    if (strcmp(argv[1], "--version") == 0) return print_version();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return POD_EXIT_OK;
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].form.name) == 0)
            return run_command(&commands[i], argc - 2, argv + 2);
    return fail_usage(argv[1]);
}
