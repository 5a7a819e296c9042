/* Options: every source, their precedence, every kind of error, help, and print against parse. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/config/config.h"
#include "runtime/core/words.h"
#include "tests/harness/harness.h"

enum { MAX_WORDS = 12 };

static const pod_command_form train = {"train", POD_CMD_TRAIN, "", 0, "trains"};
static const pod_command_form eval = {"eval", POD_CMD_EVAL, "", 0, "evaluates"};
static const pod_command_form coll = {"coll", POD_CMD_COLL, "", 0, "benchmarks"};
static const pod_command_form data = {"data", POD_CMD_DATA, "ACTION [NAME]", 2, "data sets"};

/* The words of a line, split at blanks; ~ stands for a blank within a word. */
static int split(const char *line, char *buffer, char *words[MAX_WORDS + 1])
{
    strcpy(buffer, line);
    int n = 0;
    for (char *w = strtok(buffer, " "); w && n < MAX_WORDS; w = strtok(NULL, " ")) {
        for (char *p = w; *p; p++)
            if (*p == '~') *p = ' ';
        words[n++] = w;
    }
    words[n] = NULL;
    return n;
}

static void end_config(void *c) { pod_config_destroy(c); }

static pod_status parse(const pod_command_form *form, const char *line, const char *environment,
                        pod_config **out)
{
    char line_text[1024], environment_text[1024];
    char *argv[MAX_WORDS + 1], *env[MAX_WORDS + 1];
    int argc = split(line, line_text, argv);
    split(environment, environment_text, env);
    const pod_status s = pod_config_from_args(form, argc, argv, env, out);
    if (s == POD_OK) pod_test_at_end(end_config, *out);
    return s;
}

static const char *write_file(const char *name, const char *text)
{
    const char *path = pod_test_path("%s", name);
    pod_test_spill(path, text, strlen(text));
    return path;
}

static const char *with_file(const char *name, const char *text)
{
    return pod_test_text("--conf %s", write_file(name, text));
}

/* ---- values ---------------------------------------------------------------------------------- */

static void defaults_hold(void)
{
    pod_config *c;
    POD_CHECK_OK(parse(&train, "", "", &c));
    for (int i = 0; i < POD_N_OPTS; i++) {
        POD_CHECK(!pod_config_is_set(c, (pod_opt)i), "--%s is set", pod_options[i].name);
        POD_CHECK(strcmp(pod_config_value(c, (pod_opt)i), pod_options[i].fallback) == 0,
                  "--%s: '%s'", pod_options[i].name, pod_config_value(c, (pod_opt)i));
        POD_CHECK(pod_options[i].help[0] != '\0' && pod_options[i].commands != 0, "--%s: no help",
                  pod_options[i].name);
        for (int j = 0; j < i; j++)
            POD_CHECK(strcmp(pod_options[i].name, pod_options[j].name) != 0, "--%s stands twice",
                      pod_options[i].name);
    }
    CU_ASSERT_EQUAL(pod_config_int(c, POD_OPT_BATCH), 256);
    CU_ASSERT_EQUAL(pod_config_size(c, POD_OPT_BUCKET), 4 << 20);
    CU_ASSERT_EQUAL(pod_config_double(c, POD_OPT_BN_MOMENTUM), 0.9);
    CU_ASSERT_FALSE(pod_config_bool(c, POD_OPT_TRACE));
    CU_ASSERT_STRING_EQUAL(pod_config_text(c, POD_OPT_PRECISION), "bf16");
    CU_ASSERT_STRING_EQUAL(pod_config_text(c, POD_OPT_OUT), "");
}

static void spellings(void)
{
    pod_config *c;
    POD_CHECK_OK(parse(&train,
                       "--lr=0.5 --batch 64 --bucket=1.5M --optimizer lars --trace --nesterov on "
                       "--quiet=off --out a~b --end-lr 0",
                       "", &c));
    CU_ASSERT_EQUAL(pod_config_double(c, POD_OPT_LR), 0.5);
    CU_ASSERT_EQUAL(pod_config_int(c, POD_OPT_BATCH), 64);
    CU_ASSERT_EQUAL(pod_config_size(c, POD_OPT_BUCKET), 3 << 19);
    CU_ASSERT_STRING_EQUAL(pod_config_text(c, POD_OPT_OPTIMIZER), "lars");
    CU_ASSERT_TRUE(pod_config_bool(c, POD_OPT_TRACE));
    CU_ASSERT_TRUE(pod_config_bool(c, POD_OPT_NESTEROV));
    CU_ASSERT_FALSE(pod_config_bool(c, POD_OPT_QUIET));
    CU_ASSERT_TRUE(pod_config_is_set(c, POD_OPT_QUIET));
    CU_ASSERT_STRING_EQUAL(pod_config_text(c, POD_OPT_OUT), "a b");

    POD_CHECK_OK(parse(&data, "make -o x.h5 -- --glyphs", "", &c));
    CU_ASSERT_EQUAL(pod_config_n_args(c), 2);
    CU_ASSERT_STRING_EQUAL(pod_config_arg(c, 0), "make");
    CU_ASSERT_STRING_EQUAL(pod_config_arg(c, 1), "--glyphs");
    CU_ASSERT_STRING_EQUAL(pod_config_text(c, POD_OPT_OUTPUT), "x.h5");
}

/* As nccl-tests takes them. */
static void joined_values(void)
{
    pod_config *c;
    POD_CHECK_OK(parse(&coll, "-b4K -e 1M -n20 -dbf16 -c0 -I1 -J- -f2", "", &c));
    CU_ASSERT_EQUAL(pod_config_size(c, POD_OPT_MINBYTES), 4096);
    CU_ASSERT_EQUAL(pod_config_size(c, POD_OPT_MAXBYTES), 1 << 20);
    CU_ASSERT_EQUAL(pod_config_int(c, POD_OPT_ITERS), 20);
    CU_ASSERT_STRING_EQUAL(pod_config_text(c, POD_OPT_DATATYPE), "bf16");
    CU_ASSERT_FALSE(pod_config_bool(c, POD_OPT_CHECK));
    CU_ASSERT_TRUE(pod_config_bool(c, POD_OPT_PER_ITER_TIMING));
    CU_ASSERT_STRING_EQUAL(pod_config_text(c, POD_OPT_JSON), "-");
    CU_ASSERT_EQUAL(pod_config_int(c, POD_OPT_STEPFACTOR), 2);

    /* A switch that has a range also takes how often. */
    static const char *const checks[] = {"-c 5", "-c5", "--check 5", "--check=5"};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        POD_CHECK_OK(parse(&coll, checks[i], "", &c));
        CU_ASSERT_EQUAL(pod_config_count(c, POD_OPT_CHECK), 5);
        CU_ASSERT_TRUE(pod_config_bool(c, POD_OPT_CHECK));
    }

    static const struct {
        const char *line, *part;
    } rows[] = {
        {"-n0", "-n: 0 is not within 1 to 1000000"},
        {"-b4X", "-b: '4X' is not a size"},
        {"-b -n20", "-b: a value is missing"},
        {"-I 5", "-I: '5' is neither on nor off"},
        {"--blocking 2", "--blocking: '2' is neither on nor off"},
        {"-I5", "-I5: there is no such option"},
        {"-c 1001", "-c: 1001 is not within 0 to 1000"},
        {"-h1", "-h1: there is no such option"},
        {"-iters 5", "-iters: there is no such option; did you mean iters?"},
        {"-datatype=bf16", "-datatype=bf16: there is no such option"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        POD_CHECK_FAILS(parse(&coll, rows[i].line, "", &c), POD_E_INVALID, rows[i].part);
    POD_CHECK_OK(parse(&data, "import -ox.h5", "", &c));
    CU_ASSERT_STRING_EQUAL(pod_config_text(c, POD_OPT_OUTPUT), "x.h5");
    POD_CHECK_FAILS(parse(&data, "import -output x.h5", "", &c), POD_E_INVALID,
                    "-output: there is no such option; did you mean output?");
}

static void precedence(void)
{
    const char *first = write_file("a.conf", "# a comment\n"
                                             "  lr = 1 ; behind a value\n"
                                             "momentum = 0.1\nbatch=8\nepochs = 3\n");
    const char *second = write_file("b.conf", "epochs = 4\n");
    pod_config *c;
    POD_CHECK_OK(parse(&train, pod_test_text("--conf %s --conf %s --batch 32", first, second),
                       "MINIPOD_MOMENTUM=0.2 MINIPOD_BATCH=16 OTHER=1", &c));
    const struct {
        pod_opt option;
        double want;
        pod_source source;
    } rows[] = {
        {POD_OPT_LR, 1, POD_FROM_FILE},
        {POD_OPT_EPOCHS, 4, POD_FROM_FILE},
        {POD_OPT_MOMENTUM, 0.2, POD_FROM_ENVIRONMENT},
        {POD_OPT_BATCH, 32, POD_FROM_COMMAND_LINE},
        {POD_OPT_POLY_POWER, 2, POD_FROM_DEFAULT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double got = strtod(pod_config_value(c, rows[i].option), NULL);
        POD_CHECK(got == rows[i].want && pod_config_source(c, rows[i].option) == rows[i].source,
                  "row %zu: %g from source %d", i, got, (int)pod_config_source(c, rows[i].option));
    }
    CU_ASSERT_EQUAL(pod_config_n_files(c), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(pod_config_file(c, 0), "/a.conf"));
    CU_ASSERT_STRING_EQUAL(pod_config_file(c, 1), second);
}

/* Comments and quotes are never part of a value. */
static void values_of_a_file(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"out = r1 # my first run\n", "r1"},
        {"out = r1\t#my first run\n", "r1"},
        {"out = r1 ; my first run\n", "r1"},
        {"out = r#1;2\n", "r#1;2"},
        {"out = \"r2\"\n", "r2"},
        {"out = 'r 2' # second\n", "r 2"},
        {"out = \"r # 2\"\n", "r # 2"},
        {"out = it's \"r\"\n", "it's \"r\""},
        {"\xef\xbb\xbfout = r3\r\n", "r3"},
        {"out: r4", "r4"},
        {"\t out\t=\tr5 \t", "r5"},
        {"# x = 1\n; y\n\n  out=r6", "r6"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_config *c;
        POD_NEED_OK(parse(&train, with_file("values.conf", rows[i].text), "", &c));
        POD_CHECK(strcmp(pod_config_text(c, POD_OPT_OUT), rows[i].want) == 0, "row %zu: '%s'", i,
                  pod_config_text(c, POD_OPT_OUT));
    }
}

static void file_of_the_environment(void)
{
    const char *environment =
        pod_test_text("MINIPOD_LR=7 MINIPOD_CONF=%s", write_file("c.conf", "lr = 3\nbatch = 24\n"));
    pod_config *c;
    POD_CHECK_OK(parse(&train, "", environment, &c));
    CU_ASSERT_EQUAL(pod_config_double(c, POD_OPT_LR), 7.0);
    CU_ASSERT_EQUAL(pod_config_int(c, POD_OPT_BATCH), 24);
    CU_ASSERT_EQUAL(pod_config_n_files(c), 1);
    /* A file for train serves eval as well. */
    POD_CHECK_OK(parse(&eval, "", environment, &c));
    CU_ASSERT_EQUAL(pod_config_int(c, POD_OPT_BATCH), 24);
    CU_ASSERT_FALSE(pod_config_is_set(c, POD_OPT_LR));
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void bad_lines(void)
{
    static const struct {
        const char *line, *environment, *part;
    } rows[] = {
        {"", "MINIPOD_OUT=\"r2\"", "MINIPOD_OUT: the quotes of \"r2\" are part"},
        {"--bacth 3", "", "--bacth: there is no such option; did you mean batch?"},
        {"--zzzzzzzz", "", "--zzzzzzzz: there is no such option"},
        {"-x", "", "-x: there is no such option"},
        {"-oo", "", "-oo: there is no such option"},
        {"--licence MIT", "", "--licence: not an option of train"},
        {"--batch 0", "", "--batch: 0 is not within 1 to 16777216"},
        {"--batch 1e3", "", "--batch: '1e3' is not a whole number"},
        {"--batch", "", "--batch: a value is missing"},
        {"--batch --lr 1", "", "--batch: a value is missing"},
        {"--batch=", "", "--batch: '' is not a whole number"},
        {"--data=", "", "--data: the value is empty"},
        {"--out=", "", "--out: the value is empty"},
        {"--conf=", "", "--conf: the value is empty"},
        {"", "MINIPOD_RESUME=", "MINIPOD_RESUME: the value is empty"},
        {"--lr nan", "", "--lr: 'nan' is not a finite number"},
        {"--lr -1", "", "--lr: -1 is not within 0 to 1e+06"},
        {"--momentum=1.5", "", "--momentum: 1.5 is not within 0 to 1"},
        {"--beta1=1", "", "--beta1: 1 is not within 0 to 0.999999"},
        {"--beta2=1", "", "--beta2: 1 is not within 0 to 0.999999"}, /* divides by 0 */
        {"--bucket 4X", "", "--bucket: '4X' is not a size"},
        {"--bucket 0", "", "--bucket: 0 is not within 1 to 16G"},
        {"--precision bf17", "", "--precision: 'bf17' is none of bf16|bf16-conv|f32"},
        {"--precision bf16|f32", "", "is none of bf16|bf16-conv|f32"},
        {"--precision bf", "", "is none of"},
        {"--trace=maybe", "", "--trace: 'maybe' is neither on nor off"},
        {"--out a\nb", "", "control character 10"},
        {"extra", "", "unexpected argument 'extra': train takes options only"},
        {"--trace maybe", "", "unexpected argument 'maybe'"},
        {"", "MINIPOD_BATCH=many", "MINIPOD_BATCH: 'many' is not a whole number"},
        {"--conf /nowhere/x.conf", "", "/nowhere/x.conf: cannot read"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_config *c = NULL;
        pod_status s = parse(&train, rows[i].line, rows[i].environment, &c);
        POD_CHECK(s != POD_OK && strstr(pod_error_text(), rows[i].part), "'%s': %s '%s'",
                  rows[i].line, pod_status_name(s), pod_error_text());
        POD_CHECK(c == NULL && !strchr(pod_error_text(), '\n'), "'%s': half made", rows[i].line);
    }
    pod_config *c;
    POD_CHECK_FAILS(parse(&data, "import idx folder", "", &c), POD_E_INVALID,
                    "unexpected argument 'folder': data takes ACTION [NAME]");
}

static void bad_files(void)
{
    char long_line[400];
    memset(long_line, 'x', sizeof long_line);
    long_line[sizeof long_line - 1] = '\0';
    const struct {
        const char *text, *part;
    } rows[] = {
        {"lr = 1\n\nlearning = 2\n", "bad.conf:3: learning: there is no such option"},
        {"lrr = 2\n", "did you mean lr?"},
        {"lr = fast\n", "bad.conf:1: lr: 'fast' is not a finite number"},
        {"licence = \x01\n", "bad.conf:1: byte 1 is not text"},
        {"classes = a\nlr\n", "bad.conf:2: neither"},
        {"[train]\nlr = 1\n", "bad.conf:2: lr: options stand in no [section]"},
        {"lr = 1\nbatch = 8\nlr = 1\n", "bad.conf:3: lr: stands twice, in line 1 too"},
        {"classes = a\nclasses = b\n", "bad.conf:2: classes: stands twice, in line 1 too"},
        {"help = on\n", "may only be given on the command line"},
        {"conf = other.conf\n", "may only be given on the command line"},
        {"origin =\n", "bad.conf:1: origin: the value is empty"},
        {"out =\n", "bad.conf:1: out: the value is empty"},
        {"lr =\n", "'' is not a finite number"},
        {"lr = 1\n  2\n", "bad.conf:2: neither"},
        {long_line, "bad.conf:1: the line is longer than"},
        {"out = # nothing\n", "bad.conf:1: out: the value is empty"},
        {"out = \"\"\n", "bad.conf:1: out: the value is empty"},
        {"out = \"r2\n", "bad.conf:1: out: the value begins with a quote, found \"r2"},
        {"out = 'r2' r3\n", "bad.conf:1: out: the value begins with a quote"},
        {"out = \"r2 ; x\"\n", "bad.conf:1: out: the value begins with a quote"},
        {"lr = \xe2\x80\x9c"
         "1\xe2\x80\x9d\n",
         "bad.conf:1: lr: the value begins with a quote"},
        {"lr = 0.1 0.2 # two\n", "bad.conf:1: lr: '0.1 0.2' is not a finite number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_config *c;
        pod_status s = parse(&train, with_file("bad.conf", rows[i].text), "", &c);
        POD_CHECK(s != POD_OK && strstr(pod_error_text(), rows[i].part), "row %zu: %s '%s'", i,
                  pod_status_name(s), pod_error_text());
    }
}

static void strange_environment_warns(void)
{
    pod_config *c;
    POD_CHECK_OK(parse(&train, "",
                       "MINIPOD_BACTH=3 MINIPOD_MAX_ISA=ref MINIPOD_VERBOSE=1 MINIPOD_LICENCE=MIT "
                       "MINIPOD_HELP=1 MINIPODX=1",
                       &c));
    CU_ASSERT_EQUAL(pod_config_n_warnings(c), 2);
    for (int i = 0; i < pod_config_n_warnings(c); i++)
        POD_CHECK(strstr(pod_config_warning(c, i), i ? "MINIPOD_HELP" : "MINIPOD_BACTH"), "%s",
                  pod_config_warning(c, i));
}

/* ---- text ------------------------------------------------------------------------------------ */

/* What is printed, of `everyday` options or all (NULL); lines are joined to one. */
static char *help_of(const pod_command_form *form, const char *everyday)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (everyday)
        pod_config_help(form, everyday, to);
    else
        pod_config_help_all(form, to);
    fclose(to);
    char *end = text;
    for (const char *at = text; *at; at++) {
        const size_t columns = strcspn(at, "\n");
        POD_CHECK(columns <= 100, "long: %.*s", (int)columns, at);
        const char *line_end = at + columns;
        for (at += strspn(at, " "); at < line_end; at++) *end++ = *at;
        *end++ = ' ';
    }
    *end = '\0';
    return text;
}

static void help_has_every_option(void)
{
    const pod_command_form *const forms[] = {&train, &eval, &data};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        char *text = help_of(forms[f], NULL);
        for (int i = 0; i < POD_N_OPTS; i++) {
            char environment[64];
            const char *want = pod_test_text(
                "%s]", pod_option_environment(&pod_options[i], environment, sizeof environment));
            const bool here = strstr(text, pod_options[i].help) &&
                              strstr(text, pod_test_text("--%s", pod_options[i].name)) &&
                              (pod_options[i].only_typed || strstr(text, want));
            const bool takes = (pod_options[i].commands & forms[f]->bit) != 0;
            POD_CHECK(takes ? here : !strstr(text, want), "%s --help-all and --%s", forms[f]->name,
                      pod_options[i].name);
        }
        free(text);
    }
}

static void short_help_has_what_is_named(void)
{
    char *text = help_of(&train, "precision lr out");
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "[bf16|bf16-conv|f32, default bf16]"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "[default the optimizer's]"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "--out TEXT"));
    CU_ASSERT_PTR_NULL(strstr(text, "--batch"));
    free(text);
}

static void help_is_asked_for(void)
{
    pod_config *c;
    POD_CHECK_OK(parse(&train, "--bogus --help", "", &c));
    CU_ASSERT_TRUE(pod_config_bool(c, POD_OPT_HELP));
    POD_CHECK_OK(parse(&train, "--help-all", "", &c));
    CU_ASSERT_TRUE(pod_config_bool(c, POD_OPT_HELP_ALL) && pod_config_bool(c, POD_OPT_HELP));
    POD_CHECK_OK(parse(&train, "--version", "", &c));
    CU_ASSERT_TRUE(pod_config_bool(c, POD_OPT_VERSION));
    CU_ASSERT_FALSE(pod_config_bool(c, POD_OPT_HELP));
}

static void print_is_the_inverse_of_parse(void)
{
    pod_config *c, *again;
    POD_CHECK_OK(parse(&data, "make --origin=~a~=~b~;~c --classes #x [file] -o y",
                       "MINIPOD_LICENCE=MIT", &c));
    const char *text = pod_config_print(c);
    POD_CHECK_OK(pod_config_parse(text, &again));
    CU_ASSERT_STRING_EQUAL(pod_config_print(again), text);
    CU_ASSERT_STRING_EQUAL(pod_config_text(again, POD_OPT_ORIGIN), " a = b ; c");
    CU_ASSERT_STRING_EQUAL(pod_config_arg(again, 1), "[file]");
    for (int i = 0; i < POD_N_OPTS; i++)
        POD_CHECK(pod_config_source(c, (pod_opt)i) == pod_config_source(again, (pod_opt)i),
                  "option %d", i);
    pod_config_destroy(again);

    POD_CHECK_FAILS(pod_config_parse("[fil]\n", &again), POD_E_FORMAT, "[fil]");
    POD_CHECK_FAILS(pod_config_parse("lr = 1\n", &again), POD_E_FORMAT, "lr = 1");
    POD_CHECK_FAILS(pod_config_parse("[file]\nlr = 1", &again), POD_E_FORMAT, "cut off");
    POD_CHECK_FAILS(pod_config_parse("[file]\nlx = 1\n", &again), POD_E_FORMAT, "lx");
    POD_CHECK_FAILS(pod_config_parse("[file]\nlr = x\n", &again), POD_E_INVALID, "lr");
}

/* What a checkpoint says stands between the defaults and what anyone has set. */
static void a_checkpoint_fills(void)
{
    static const char settings[] =
        "model = mlp\nlr = 7\nema = 0.5\nprecision = f32\nimage-size = \n"
        "bn-epsilon = 0.25";
    static const pod_opt which[] = {POD_OPT_MODEL,      POD_OPT_EMA,        POD_OPT_PRECISION,
                                    POD_OPT_IMAGE_SIZE, POD_OPT_BN_EPSILON, POD_OPT_WIDTH};
    pod_config *c, *filled;
    POD_CHECK_OK(parse(&train, "--ema 0 --batch 12", "MINIPOD_PRECISION=bf16", &c));
    POD_CHECK_OK(pod_config_fill(c, settings, which, 6, &filled));
    CU_ASSERT_STRING_EQUAL(pod_config_text(filled, POD_OPT_MODEL), "mlp");
    CU_ASSERT_DOUBLE_EQUAL(pod_config_double(filled, POD_OPT_BN_EPSILON), 0.25, 0);
    CU_ASSERT_EQUAL(pod_config_source(filled, POD_OPT_MODEL), POD_FROM_CHECKPOINT);
    CU_ASSERT_EQUAL(pod_config_source(filled, POD_OPT_EMA), POD_FROM_COMMAND_LINE);
    CU_ASSERT_DOUBLE_EQUAL(pod_config_double(filled, POD_OPT_EMA), 0, 0);
    CU_ASSERT_STRING_EQUAL(pod_config_text(filled, POD_OPT_PRECISION), "bf16");
    CU_ASSERT_FALSE(pod_config_is_set(filled, POD_OPT_IMAGE_SIZE));
    CU_ASSERT_FALSE(pod_config_is_set(filled, POD_OPT_WIDTH));
    CU_ASSERT_FALSE(pod_config_is_set(filled, POD_OPT_LR)); /* not asked for */
    CU_ASSERT_EQUAL(pod_config_int(filled, POD_OPT_BATCH), 12);
    pod_config_destroy(filled);
    POD_CHECK_FAILS(pod_config_fill(c, "model = x\nbn-epsilon = much\n", which, 6, &filled),
                    POD_E_INVALID, "bn-epsilon");
    POD_CHECK_OK(pod_config_fill(c, "", which, 6, &filled));
    CU_ASSERT_STRING_EQUAL(pod_config_text(filled, POD_OPT_MODEL),
                           pod_config_text(c, POD_OPT_MODEL));
    pod_config_destroy(filled);
}

static void values_are_compared_by_meaning(void)
{
    static const pod_opt others[] = {POD_OPT_SEED, POD_OPT_MODEL, POD_OPT_AUGMENT};
    pod_config *a, *b;
    POD_CHECK_OK(parse(&train, "--lr 0.1 --bucket 4M --trace on --seed 1 --model x", "", &a));
    POD_CHECK_OK(parse(
        &train, "--lr 1e-1 --bucket 4194304 --trace --seed 2 --model y --augment rrc", "", &b));
    CU_ASSERT_TRUE(pod_config_is_same(a, b, POD_OPT_LR));
    CU_ASSERT_TRUE(pod_config_is_same(a, b, POD_OPT_BUCKET));
    CU_ASSERT_TRUE(pod_config_is_same(a, b, POD_OPT_TRACE));
    for (int i = 0; i < 3; i++) CU_ASSERT_FALSE(pod_config_is_same(a, b, others[i]));
}

/* A hint is given for a name that is none of ours, and names an option of ours. */
static void hints_lead_to_options(void)
{
    static const struct {
        const char *name;
        pod_opt option;
    } hints[] = {
#define POD_OPTION(...)
#define POD_HINT(n, id) {(n), POD_OPT_##id},
#include "runtime/config/options.def"
    };
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        const pod_command_form form = {
            "any", POD_CMD_ALL & (int)pod_options[hints[i].option].commands, "", 0, ""};
        pod_config *c = NULL;
        POD_CHECK_FAILS(
            parse(&form, pod_test_text("--%s 1", hints[i].name), "", &c), POD_E_INVALID,
            pod_test_text("no such option; did you mean %s?", pod_options[hints[i].option].name));
    }
}

static void values_have_a_normal_form(void)
{
    static const struct {
        pod_opt option;
        const char *text, *want;
    } rows[] = {
        {POD_OPT_LR, "1e-4", "0.0001"},
        {POD_OPT_LR, "0.00010", "0.0001"},
        {POD_OPT_LR, "", ""},
        {POD_OPT_LR, "fast", "fast"},
        {POD_OPT_BUCKET, "1024K", "1M"},
        {POD_OPT_TRACE, "yes", "on"},
        {POD_OPT_BATCH, "0064", "64"},
        {POD_OPT_OUT, "1e-4", "1e-4"},
        {POD_OPT_PRECISION, "f32", "f32"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char room[POD_OPTION_NORMAL_BYTES];
        CU_ASSERT_STRING_EQUAL(pod_option_normal(&pod_options[rows[i].option], rows[i].text, room),
                               rows[i].want);
    }
}

static void nearest(void)
{
    static const char *const names[] = {"train", "eval", "explain"};
    CU_ASSERT_STRING_EQUAL(pod_nearest_name("trian", names, 3), "train");
    CU_ASSERT_STRING_EQUAL(pod_nearest_name("explian", names, 3), "explain");
    CU_ASSERT_STRING_EQUAL(pod_nearest_name("exp", names, 3), "explain");
    CU_ASSERT_PTR_NULL(pod_nearest_name("e", names, 3)); /* of two */
    CU_ASSERT_PTR_NULL(pod_nearest_name("quux", names, 3));
    CU_ASSERT_PTR_NULL(pod_nearest_name("", names, 3));
}

POD_TEST_SUITE("runtime.config", {"defaults hold", defaults_hold}, {"spellings", spellings},
               {"joined values", joined_values}, {"precedence", precedence},
               {"file of the environment", file_of_the_environment},
               {"values of a file", values_of_a_file}, {"bad lines", bad_lines},
               {"bad files", bad_files}, {"strange environment warns", strange_environment_warns},
               {"help has every option", help_has_every_option},
               {"short help has what is named", short_help_has_what_is_named},
               {"help is asked for", help_is_asked_for},
               {"print is the inverse of parse", print_is_the_inverse_of_parse},
               {"a checkpoint fills", a_checkpoint_fills},
               {"values are compared by meaning", values_are_compared_by_meaning},
               {"hints lead to options", hints_lead_to_options},
               {"values have a normal form", values_have_a_normal_form}, {"nearest", nearest});
