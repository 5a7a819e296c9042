/* Options that do nothing without another: who is told of which. */
#include "bench/no_effect.h"

#include <stdlib.h>

#include "tests/harness/harness.h"

enum { MAX_WORDS = 16 };

static const pod_command_form train = {"train", POD_CMD_TRAIN, "", 0, ""},
                              eval = {"eval", POD_CMD_EVAL, "", 0, ""},
                              simulate = {"simulate", POD_CMD_SIMULATE, "", 0, ""},
                              coll = {"coll", POD_CMD_COLL, "", 0, ""};

/* What is warned of when `line` is typed and `environment` is one variable; to be freed. */
static char *warnings_of(const pod_command_form *command, const char *line, char *environment)
{
    char words[256], *argv[MAX_WORDS], *text = NULL, *at = NULL;
    char *const environ_of[] = {environment, NULL};
    size_t bytes;
    int argc = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok_r(words, " ", &at); w; w = strtok_r(NULL, " ", &at)) argv[argc++] = w;
    FILE *to = open_memstream(&text, &bytes);
    pod_config *c = NULL;
    POD_CHECK_OK(pod_config_from_args(command, argc, argv, environ_of, &c));
    pod_log log = pod_log_start(0, to, to, "off", true);
    if (c) pod_no_effect_warn(c, command->bit, 1, &log);
    pod_config_destroy(c);
    fclose(to);
    return text;
}

#define WARN "minipod: warning: --"

static void typed(void)
{
    static const struct {
        const pod_command_form *command;
        const char *line, *want;
    } cases[] = {
        {&train, "--keep 3 --checkpoint sync",
         WARN "checkpoint sync has no effect without --out\n" WARN
              "keep 3 has no effect without --out\n"},
        {&train, "--keep 3 --checkpoint sync --out run", ""},
        {&train, "--keep-every 0 --steps 0 --epochs 3", ""},
        {&train, "--trace-steps 9 --trace=off --out run",
         WARN "trace-steps 9 has no effect without --trace\n"},
        {&train, "--trace-steps 9 --trace --out run", ""},
        {&train, "--epochs 3 --steps 20", WARN "epochs 3 has no effect with --steps 20\n"},
        {&train, "--trust 0.02", WARN "trust 0.02 has no effect with --optimizer sgd\n"},
        {&train, "--trust 0.02 --optimizer lars-mlperf --momentum 0.8", ""},
        {&train, "--optimizer lamb --momentum 0.8 --beta1 0.8 --epsilon 1e-5",
         WARN "momentum 0.8 has no effect with --optimizer lamb\n"},
        {&train, "--optimizer rmsprop --momentum 0.8 --rho 0.8 --beta2 0.5",
         WARN "beta2 0.5 has no effect with --optimizer rmsprop\n"},
        {&train, "--poly-power 3", WARN "poly-power 3 has no effect with --lr-schedule cosine\n"},
        {&train, "--end-lr 0.1", ""},
        {&train, "--overlap off --bucket 8M",
         WARN "bucket 8M has no effect on one rank\n" WARN
              "overlap off has no effect on one rank\n"},
        {&train, "--crop-pad 2 --augment rrc+flip",
         WARN "crop-pad 2 has no effect with --augment rrc+flip\n"},
        {&train, "--crop-pad 2 --augment crop+flip", ""},
        {&eval, "--prefetch 4 --input-threads 0",
         WARN "prefetch 4 has no effect with --input-threads 0\n"},
        {&eval, "--length-penalty 1 --beam 1 --model transformer-tiny",
         WARN "length-penalty 1 has no effect with --beam 1\n"},
        {&eval, "--length-penalty 1 --beam 3 --model transformer-tiny", ""},
        {&coll, "-n 5 --rounds 2 --on sim",
         WARN "iters 5 has no effect with --on sim\n" WARN
              "rounds 2 has no effect with --on sim\n"},
        {&coll, "-n 5 --on local", ""},
        {&simulate, "--checkpoint sync --trust 3", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char nothing[] = "HOME=x", *text = warnings_of(cases[i].command, cases[i].line, nothing);
        POD_CHECK(strcmp(text, cases[i].want) == 0, "%s: '%s'", cases[i].line, text);
        free(text);
    }
}

/* An environment may be meant for other runs; but what it has of the other option holds. */
static void not_typed(void)
{
    char keep[] = "MINIPOD_KEEP=3", out[] = "MINIPOD_OUT=run";
    char *text = warnings_of(&train, "", keep);
    CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
    text = warnings_of(&train, "--keep 3", out);
    CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
}

static bool has_choice(const char *choices, const char *name, size_t length)
{
    for (const char *p = choices; p; p = strchr(p, '|')) {
        p += *p == '|';
        if (strcspn(p, "|") == length && strncmp(p, name, length) == 0) return true;
    }
    return false;
}

/* The table names options of the commands it says, and choices that there are. */
static void table_holds(void)
{
    static const struct {
        uint32_t commands;
        pod_opt option, other;
        const char *want;
    } needs[] = {
#define ON_RUNS                            (POD_CMD_TRAIN | POD_CMD_EVAL)
#define ON_STEPS                           (POD_CMD_TRAIN | POD_CMD_PREDICT)
#define POD_NEEDS(who, id, other_id, want) {(who), POD_OPT_##id, POD_OPT_##other_id, (want)},
#include "bench/no_effect.def"
    };
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        const uint32_t who = needs[i].commands;
        POD_CHECK((pod_options[needs[i].option].commands & pod_options[needs[i].other].commands &
                   who) == who,
                  "--%s is not of all of its commands, or --%s", pod_options[needs[i].option].name,
                  pod_options[needs[i].other].name);
        const pod_option_type type = pod_options[needs[i].other].type;
        for (const char *p =
                 type == POD_OPTION_CHOICE && !strchr("!sr", needs[i].want[0]) ? needs[i].want : "";
             *p != '\0'; p += strspn(p, "|")) {
            const size_t length = strcspn(p, "|");
            POD_CHECK(has_choice(pod_options[needs[i].other].choices, p, length),
                      "--%s: --%s has no choice '%.*s'", pod_options[needs[i].option].name,
                      pod_options[needs[i].other].name, (int)length, p);
            p += length;
        }
    }
}

POD_TEST_SUITE("bench.no_effect", {"typed", typed}, {"not_typed", not_typed},
               {"table_holds", table_holds});
