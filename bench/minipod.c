/* minipod COMMAND [options]: finds the command, reads its settings, runs it, says how it ended.
 * Under mpirun rank 0 reads the settings and sends them to the others, and rank 0 speaks.
 * Exit 0: done; 1: the run failed or missed its target, or a result was not written in full; 2:
 * usage, input that cannot be used, or a file that cannot be opened. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/command.h"
#include "bench/config_share.h"
#include "bench/fleet/fleet.h"
#include "bench/goodput/goodput.h"
#include "bench/job/keys.h"
#include "bench/kernels/problem.h"
#include "bench/no_effect.h"
#include "bench/result_files.h"
#include "bench/start.h"
#include "collectives/algo/algo.h"
#include "collectives/exec/watch/stop.h"
#include "kernels/base/cpu.h"
#include "kernels/gemm/blas.h"
#include "models/language.h"
#include "models/model.h"
#include "runtime/config/fault.h"
#include "runtime/core/words.h"
#include "runtime/optim/optim.h"

#define ALONE POD_ALONE
#define RANKS POD_WITH_RANKS
static const pod_command commands[] = {
#define POD_COMMAND(name, bit, ranks, args, max_args, summary, everyday, examples) \
    {{#name, (bit), (args), (max_args), (summary)},                                \
     (everyday),                                                                   \
     (examples),                                                                   \
     (ranks),                                                                      \
     pod_cmd_##name},
#include "bench/commands.def"
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

const pod_command *pod_command_find(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].form.name, name) == 0) return &commands[i];
    return NULL;
}

const char *pod_command_nearest(const char *name, bool with_ranks)
{
    const char *known[N_COMMANDS];
    int n = 0;
    for (int i = 0; i < N_COMMANDS; i++)
        if (!with_ranks || commands[i].ranks == POD_WITH_RANKS) known[n++] = commands[i].form.name;
    return pod_nearest_name(name, known, n);
}

/* What mpirun tells a process of its place; MPI itself is not open yet, or never. */
static int place(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && text[0] != '\0' ? atoi(text) : otherwise;
}

/* Before MPI is open, or without it, rank 0 alone speaks and the others leave with POD_EXIT_OK:
 * mpirun ends a job with the first process that fails, which could be before rank 0 has spoken. */
static bool speaks_first(void) { return place("OMPI_COMM_WORLD_RANK", 0) == 0; }

static void print_help(void)
{
    printf("usage: minipod COMMAND [options]\n"
           "A miniature TPU pod on ordinary CPUs.\n\n");
    for (int i = 0; i < N_COMMANDS; i++)
        printf("  %-12s%s\n", commands[i].form.name, commands[i].form.summary);
    printf("\n`minipod COMMAND --help` shows how to use a command, and --help-all lists all of its"
           " options.\n");
}

static void print_version(void) { printf("minipod %s\n", POD_VERSION); }

static int fail_usage(const char *given)
{
    const char *near = given ? pod_command_nearest(given, false) : NULL;
    if (!speaks_first()) return POD_EXIT_OK;
    if (!given)
        fprintf(stderr, "minipod: a command is missing; minipod --help lists them\n");
    else if (near)
        fprintf(stderr, "minipod: '%s' is no command; did you mean %s?\n", given, near);
    else
        fprintf(stderr, "minipod: '%.80s' is no command; minipod --help lists them\n", given);
    return POD_EXIT_USAGE;
}

static int exit_code_of(pod_status s)
{
    static const pod_status runs_fail_with[] = {POD_E_NOMEM, POD_E_COMM, POD_E_NUMERIC,
                                                POD_E_WRITE};
    for (size_t i = 0; i < sizeof runs_fail_with / sizeof runs_fail_with[0]; i++)
        if (s == runs_fail_with[i]) return POD_EXIT_FAILED;
    return POD_EXIT_USAGE;
}

static void print_algorithms(void)
{
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    printf("\nalgorithms (--algo takes names separated by commas, mpi for the MPI library's own, "
           "all,\n"
           "rules such as 0-64K:tree;64K-:ring@256K, or @FILE with one rule per line)\n");
    for (int i = 0; i < n; i++)
        printf("  %-16s%-20s%s\n", pod_coll_name(algos[i].coll), algos[i].name, algos[i].good_for);
}

static void print_faults(void)
{
    printf("\nfaults (--fault KIND:KEY=VALUE,...;...; simulations take link, and slow without from "
           "and "
           "until)\n");
    pod_fault_help(stdout);
}

static void print_job_keys(void)
{
    printf("\njobs (--job KEY=VALUE,...)\n");
    pod_job_keys_help(stdout);
}

/* Names joined by |, in lines that fit. */
static void print_functions(const char *names)
{
    enum { INDENT = 13, WIDTH = 100 };
    for (const char *line = names; *line != '\0';) {
        size_t n = 0;
        for (size_t word; line[n] != '\0'; n += word) {
            word = strcspn(line + n, "|");
            word += line[n + word] == '|';
            if (n > 0 && INDENT + n + word > WIDTH) break;
        }
        printf("%*s%.*s\n", INDENT, "", (int)n, line);
        line += n;
    }
}

static void print_problems(void)
{
    printf("\nproblems: FAMILY[.FUNCTION] SHAPE [WORD...], one per line of a file; # starts a "
           "comment;\n"
           "a family alone stands for all of its functions\n");
    for (int f = 0; f < POD_N_FAMILIES; f++) {
        const pod_family *family = &pod_families()[f];
        printf("  %-10s %-40s %s\n", family->name, pod_problem_form_text(family->form),
               family->about);
        print_functions(family->functions);
    }
    printf("words: bf16 or f32 (default: bf16 if the function has it); matmuls: c=bf16, nt, tn, "
           "tt, bias,\n"
           "relu; conv.fwd: bias, relu, affine, relu_x, sums; conv.dw: affine, relu_x; "
           "depthwise.fwd: sums\n"
           "sets:");
    for (int i = 0; pod_problems_known(i); i++) printf(" %s", pod_problems_known(i));
    putchar('\n');
}

static void print_usage(const pod_command *c)
{
    printf("usage: minipod %s [options]%s%s\n%c%s\n", c->form.name, *c->form.args ? " " : "",
           c->form.args, toupper((unsigned char)c->form.summary[0]), c->form.summary + 1);
}

static void print_short_help(const pod_command *c)
{
    int n_taken = 0;
    for (int i = 0; i < POD_N_OPTS; i++) n_taken += (pod_options[i].commands & c->form.bit) != 0;
    const char *end = strchr(c->examples, '\n');
    if (strchr(end + 1, '\n')) end = strchr(end + 1, '\n');
    print_usage(c);
    printf("\nexamples\n%.*s\n\neveryday options\n", (int)(end - c->examples), c->examples);
    pod_config_help(&c->form, c->everyday, stdout);
    printf("\n`minipod %s --help-all` lists all %d options, with ranges and environment names.\n",
           c->form.name, n_taken);
}

static void print_full_help(const pod_command *c)
{
    int n;
    print_usage(c);
    printf("\nAn option may also stand in a --conf file, as `name = value`, or in the environment "
           "under\n"
           "the name shown. The command line overrides the environment, and the environment "
           "overrides the file.\n"
           "Sizes take the suffixes K, M and G (binary).\n");
    pod_config_help_all(&c->form, stdout);
    if (c->form.bit == POD_CMD_COLL) print_algorithms();
    if (c->form.bit == POD_CMD_KERNELS) print_problems();
    if (c->form.bit == POD_CMD_GOODPUT) pod_goodput_help(stdout);
    if (c->form.bit == POD_CMD_FLEET) pod_fleet_help(stdout);
    if (pod_options[POD_OPT_FAULT].commands & c->form.bit) print_faults();
    if (pod_options[POD_OPT_JOB].commands & c->form.bit) print_job_keys();
    if (pod_options[POD_OPT_OPTIMIZER].commands & c->form.bit) pod_optim_help(stdout);
    if (pod_options[POD_OPT_MODEL].commands & c->form.bit) {
        const pod_model *models = pod_models(&n);
        printf("\nmodels\n");
        for (int i = 0; i < n; i++) printf("  %-20s%s\n", models[i].name, models[i].about);
        const pod_language *languages = pod_languages(&n);
        for (int i = 0; i < n; i++) printf("  %-20s%s\n", languages[i].name, languages[i].about);
    }
    printf("\nexamples\n%s", c->examples);
}

/* Answers --help, --help-all and --version; returns false if none of them was given. */
static bool answers_itself(const pod_command *c, const pod_config *config, bool speaks)
{
    const bool version = pod_config_bool(config, POD_OPT_VERSION);
    const bool help = pod_config_bool(config, POD_OPT_HELP);
    if (speaks && version)
        print_version();
    else if (speaks && pod_config_bool(config, POD_OPT_HELP_ALL))
        print_full_help(c);
    else if (speaks && help)
        print_short_help(c);
    return version || help;
}

/* OpenBLAS takes a CPU that is newer than itself for an old one, and says nothing. */
static void warn_of_blas(uint32_t bit, pod_log *log)
{
    const uint32_t runs_kernels =
        POD_CMD_TRAIN | POD_CMD_EVAL | POD_CMD_PREDICT | POD_CMD_KERNELS | POD_CMD_CALIBRATE;
    const uint32_t vectors = POD_CPU_AVX2 | POD_CPU_AVX512;
    const uint32_t lacks = pod_cpu_features() & vectors & ~pod_blas_features();
    if (!(bit & runs_kernels) || !lacks || getenv("OPENBLAS_CORETYPE")) return;
    char names[64];
    pod_log_say(log, POD_LOG_WARNING,
                "OpenBLAS runs its kernels for %s, which do not use this CPU's %s: minipod's own "
                "matrix products replace them where they are faster; OPENBLAS_CORETYPE=%s selects "
                "others",
                pod_blas_core(), pod_cpu_print(lacks, names, sizeof names),
                lacks & POD_CPU_AVX512 ? "SkylakeX" : "Haswell");
}

static void warn_of_launcher(const pod_comm *comm, pod_log *log)
{
    char text[128];
    if (comm && pod_comm_size(comm) == 1 && pod_other_launcher(getenv, text, sizeof text))
        pod_log_say(log, POD_LOG_WARNING, "%s", text);
}

static void warn_of_slow_start(double seconds, pod_log *log)
{
    char host[256] = "", text[POD_SLOW_START_BYTES];
    if (gethostname(host, sizeof host - 1) == 0 &&
        pod_slow_start(seconds, host, "/etc/hosts", text))
        pod_log_say(log, POD_LOG_WARNING, "%s", text);
}

/* Of ranks all answer alike: one rank's failure is not to pass in silence. */
static pod_status run_checked(const pod_command *c, pod_call *call, int *exit_code)
{
    const bool speaks = !call->comm || pod_comm_rank(call->comm) == 0;
    pod_status s = pod_arena_create(NULL, &call->arena);
    if (s == POD_OK && speaks) s = pod_result_files_check(call->config, c->form.bit);
    if (call->comm) s = pod_comm_agree(call->comm, s);
    POD_TRY(s);
    const char *folder = pod_config_text(call->config, POD_OPT_OUT);
    const bool is_new = speaks && *folder && access(folder, F_OK) != 0;
    s = c->run(call, exit_code);
    if (call->comm) s = pod_comm_agree(call->comm, s);
    pod_progress_end(call->log);
    if (s != POD_OK && is_new) (void)rmdir(folder); /* where nothing is in it: it only misleads */
    return s;
}

/* start_s: until MPI was there. */
static pod_status run_with(const pod_command *c, const pod_config *config, pod_comm *comm,
                           double start_s, const pod_clock *clock, int *exit_code)
{
    const int rank = comm ? pod_comm_rank(comm) : 0;
    if (answers_itself(c, config, rank == 0)) return POD_OK;
    FILE *const out = pod_result_files_take_stdout(config) ? stderr : stdout;
    pod_log log = pod_log_start(rank, out, stderr, pod_config_text(config, POD_OPT_PROGRESS),
                                pod_config_bool(config, POD_OPT_QUIET));
    log.command = c->form.name;
    warn_of_slow_start(start_s, &log);
    for (int i = 0; i < pod_config_n_warnings(config); i++)
        pod_log_say(&log, POD_LOG_WARNING, "%s", pod_config_warning(config, i));
    warn_of_launcher(comm, &log);
    warn_of_blas(c->form.bit, &log);
    if (!*pod_config_text(config, POD_OPT_RESUME)) /* else settings of a checkpoint are missing */
        pod_no_effect_warn(config, c->form.bit, comm ? pod_comm_size(comm) : 1, &log);
    pod_call call = {.config = config, .log = &log, .comm = comm, .clock = *clock};
    const pod_status s = run_checked(c, &call, exit_code);
    pod_arena_destroy(call.arena);
    return s;
}

/* Several of a command without ranks would all write the same file. */
static pod_status check_alone(void)
{
    const int n = place("OMPI_COMM_WORLD_SIZE", 1);
    if (n > 1) return pod_fail(POD_E_INVALID, "runs alone, found %d ranks (mpirun -n %d)", n, n);
    return POD_OK;
}

/* Libraries take signals as they are loaded, before main: UCX, which Open MPI 5 brings along, takes
 * SIGHUP, also where nohup has switched it off. They get it back as this process was given it. */
static const int taken[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
static struct sigaction as_given[sizeof taken / sizeof taken[0]];

static void note_signals(void)
{
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        sigaction(taken[i], NULL, &as_given[i]);
}

/* What stands there is called before any library is initialized. */
__attribute__((section(".preinit_array"),
               used)) static void (*const note_first)(void) = note_signals;

static void give_back_signals(void)
{
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        sigaction(taken[i], &as_given[i], NULL);
}

/* Who reads what is printed may go, as `| head` does. Training then saves and stops; what runs in
 * one go comes to its end without him, so that it leaves no half file. */
static void hear_signals(const pod_command *c)
{
    if (c->form.bit == POD_CMD_TRAIN)
        pod_stop_hear();
    else if (c->form.bit != POD_CMD_LAUNCH) /* it tells mpirun from itself */
        signal(SIGPIPE, SIG_IGN);
}

static int run_command(const pod_command *c, int argc, char *argv[])
{
    extern char **environ;
    const pod_clock clock = pod_clock_start();
    pod_comm *comm = NULL;
    pod_config *config = NULL;
    int exit_code = POD_EXIT_OK;
    hear_signals(c);
    pod_status s = c->ranks == POD_WITH_RANKS ? pod_comm_open(&comm) : check_alone();
    const double start_s = comm ? pod_time_seconds(pod_clock_now(&clock)) : 0;
    const bool speaks = comm ? pod_comm_rank(comm) == 0 : speaks_first();
    if (s == POD_OK && (speaks || !comm))
        s = pod_config_from_args(&c->form, argc, argv, environ, &config);
    if (comm) s = pod_config_share(comm, s, &config);
    if (s == POD_OK) s = run_with(c, config, comm, start_s, &clock, &exit_code);
    if (s != POD_OK && exit_code == POD_EXIT_OK) exit_code = exit_code_of(s);
    if (s != POD_OK && speaks) {
        fflush(stdout);
        fprintf(stderr, "minipod %s: %s\n", c->form.name, pod_error_text());
    }
    const bool is_unheard = !comm && !speaks;
    pod_config_destroy(config);
    pod_comm_close(comm);
    return is_unheard ? POD_EXIT_OK : exit_code;
}

/* A reader that has gone has what it wanted. */
static bool has_reader_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

/* What is printed is written when the program ends; a disk may be full. */
static int end_output(int exit_code)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || has_reader_gone()) return exit_code;
    fprintf(stderr, "minipod: standard output: cannot write: %s\n",
            errno ? strerror(errno) : "an earlier write failed");
    return exit_code == POD_EXIT_OK ? POD_EXIT_FAILED : exit_code;
}

static int run(int argc, char *argv[])
{
    const char *max_isa = getenv("MINIPOD_MAX_ISA");
    if (max_isa && pod_cpu_cap(max_isa) != POD_OK) {
        if (!speaks_first()) return POD_EXIT_OK;
        fprintf(stderr, "minipod: %s\n", pod_error_text());
        return POD_EXIT_USAGE;
    }
    if (argc < 2) return fail_usage(NULL);
    if (strcmp(argv[1], "--version") == 0) {
        if (speaks_first()) print_version();
        return POD_EXIT_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        if (speaks_first()) print_help();
        return POD_EXIT_OK;
    }
    const pod_command *c = pod_command_find(argv[1]);
    return c ? run_command(c, argc - 2, argv + 2) : fail_usage(argv[1]);
}

int main(int argc, char *argv[])
{
    give_back_signals();
    return end_output(run(argc, argv));
}
