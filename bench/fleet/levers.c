/* minipod fleet --levers: what each change does to each factor of goodput, on the same draws, with the
 * spread over seeds. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/common/record.h"
#include "bench/fleet/fleet.h"
#include "runtime/core/words.h"
#include "runtime/goodput/score.h"

enum { MAX_SETS = 34, WORD_BYTES = 96, NAME_BYTES = 128, N_FACTOR_COLUMNS = 9 };

static const struct {
    const char *name, *about;
} levers[POD_N_LEVERS] = {
#define POD_LEVER(name, about) {#name, (about)},
#include "bench/fleet/levers.def"
};

void pod_fleet_pull(pod_fleet_study *s, uint32_t set)
{
    if (set >> POD_LEVER_easy & 1) s->policy.backfill = POD_BACKFILL_easy;
    if (set >> POD_LEVER_preempt & 1) {
        s->policy.order = POD_ORDER_priority;
        s->policy.preempts = true;
    }
    if (set >> POD_LEVER_defrag & 1) s->policy.moves = true;
    if (set >> POD_LEVER_elastic & 1) s->policy.resizes = true;
    if (set >> POD_LEVER_async & 1) s->is_async = true;
    if (set >> POD_LEVER_cache & 1) s->keys.compile_s /= 10;
    if (set >> POD_LEVER_overlap & 1) s->hides = true;
    if (set >> POD_LEVER_repair & 1) s->faults.repair_s /= 2;
    if (set >> POD_LEVER_spare & 1) s->holds_spare = true;
}

void pod_fleet_levers_help(FILE *to)
{
    for (int i = 0; i < POD_N_LEVERS; i++)
        fprintf(to, "  %-10s%s\n", levers[i].name, levers[i].about);
}

/* ---- which ----------------------------------------------------------------------------------- */

static pod_status parse_lever(const char *word, int *out)
{
    const char *names[POD_N_LEVERS];
    for (int i = 0; i < POD_N_LEVERS; i++) {
        names[i] = levers[i].name;
        if (strcmp(names[i], word) != 0) continue;
        *out = i;
        return POD_OK;
    }
    const char *near = pod_nearest_name(word, names, POD_N_LEVERS);
    return pod_fail(POD_E_INVALID, "levers: there is no lever '%.20s'%s%s; --help-all lists them",
                    word, near ? "; did you mean " : "", near ? near : "");
}

/* "preempt+defrag" */
static pod_status parse_set(const char *word, uint32_t *out)
{
    uint32_t set = 0;
    for (const char *end; *word; word = *end ? end + 1 : end) {
        char name[WORD_BYTES];
        int lever = 0;
        end = word + strcspn(word, "+");
        snprintf(name, sizeof name, "%.*s", (int)(end - word), word);
        POD_TRY(parse_lever(name, &lever));
        set |= 1u << lever;
    }
    *out = set;
    return POD_OK;
}

/* The settings as they are, each set of levers, and all of them where there are several. */
static pod_status list_sets(const char *text, uint32_t set[MAX_SETS], int *n)
{
    uint32_t all = 0;
    const bool takes_all = strcmp(text, "all") == 0;
    *n = 0;
    set[(*n)++] = 0;
    for (int i = 0; i < POD_N_LEVERS && takes_all; i++) {
        set[(*n)++] = 1u << i;
        all |= 1u << i;
    }
    while (*text && !takes_all) {
        char word[WORD_BYTES];
        uint32_t one = 0;
        POD_TRY(pod_word_take("levers", &text, word, sizeof word));
        POD_TRY(parse_set(word, &one));
        if (*n == MAX_SETS - 1)
            return pod_fail(POD_E_INVALID, "levers: more than %d", MAX_SETS - 2);
        for (int i = 1; i < *n; i++)
            if (set[i] == one) return pod_fail(POD_E_INVALID, "levers: %s stands twice", word);
        set[(*n)++] = one;
        all |= one;
    }
    if (*n > 2 && set[*n - 1] != all) set[(*n)++] = all;
    return POD_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

#define POD__CLASSES(what)                                                                         \
    {what "small", "%", false}, {what "small ci", "%", false}, {what "medium", "%", false},        \
        {what "medium ci", "%", false}, {what "large", "%", false}, {what "large ci", "%", false}, \
        {what "extra-large", "%", false},                                                          \
    {                                                                                              \
        what "extra-large ci", "%", false                                                          \
    }

/* The terminal has the classes in a table of their own; --help-all says what each lever does. */
static const pod_column columns[] = {
    {"lever", "", true},           {"scheduling", "pp", false},
    {"sg ci", "pp", false},        {"runtime", "pp", false},
    {"rg ci", "pp", false},        {"program", "pp", false},
    {"pg ci", "pp", false},        {"goodput", "pp", false},
    {"mpg ci", "pp", false},       POD__CLASSES("scheduling of "),
    POD__CLASSES("once started "), {"what it does", "", true},
};

static const pod_column class_columns[] = {
    {"scheduling of", "", true}, {"small", "%", false},       {"s ci", "%", false},
    {"medium", "%", false},      {"m ci", "%", false},        {"large", "%", false},
    {"l ci", "%", false},        {"extra-large", "%", false}, {"xl ci", "%", false},
};

/* The mean of a value, or of its change against the first set seed by seed, and half of the mean's
 * 95 % interval by Student's t. */
static void mean_of(const pod_fleet_runs *r, int set, int value, bool is_change, double *mean,
                    double *half)
{
    double sum = 0, squares = 0;
    const int n = r->n_seeds;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            double x = r->out[set * n + i].value[value];
            if (is_change) x -= r->out[i].value[value];
            if (pass == 0)
                sum += x;
            else
                squares += (x - sum / n) * (x - sum / n);
        }
    *mean = sum / n;
    *half = n > 1 ? pod_student_t(0.95, n - 1) * sqrt(squares / (n - 1) / n) : (double)NAN;
}

/* "preempt+defrag"; the last of several sets is "all". */
static const char *name_of(const pod_fleet_runs *r, int set, char text[NAME_BYTES])
{
    const uint32_t bits = r->set[set];
    size_t at = 0;
    if (bits == 0) return "none";
    if (set == r->n_sets - 1 && set > 1) return "all";
    text[0] = '\0';
    for (int i = 0; i < POD_N_LEVERS; i++)
        if (bits >> i & 1)
            at += (size_t)snprintf(text + at, NAME_BYTES - at, "%s%s", at > 0 ? "+" : "",
                                   levers[i].name);
    return text;
}

static const char *about(const pod_fleet_runs *r, int set)
{
    const uint32_t bits = r->set[set];
    if (bits == 0) return "as the settings are: the factors in %";
    return bits & (bits - 1) ? "together" : levers[__builtin_ctz(bits)].about;
}

static void add_cells(pod_table *t, bool is_change, const double x[2])
{
    for (int i = 0; i < 2; i++) {
        if (!isfinite(x[i]))
            pod_table_add(t, "-");
        else
            pod_table_add(t, i == 0 && is_change ? "%+.2f" : "%.2f", 100 * x[i]);
    }
}

static void add_keys(pod_json *j, const char *key, const double x[2])
{
    char name[NAME_BYTES];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s", key, i == 0 ? "" : "_95");
        pod_json_double(j, name, x[i]);
    }
}

static void add_factors(pod_record *r, const pod_fleet_runs *runs, int set)
{
    static const char *const keys[] = {"scheduling_goodput", "runtime_goodput", "program_goodput",
                                       "goodput"};
    char name[NAME_BYTES];
    pod_json_open_object(&r->json, NULL);
    pod_cell_text(r, "lever", name_of(runs, set, name));
    for (int f = POD_FLEET_SCHEDULING; f <= POD_FLEET_GOODPUT; f++) {
        double x[2];
        mean_of(runs, set, f, set > 0, &x[0], &x[1]);
        add_cells(r->table, set > 0, x);
        add_keys(&r->json, keys[f], x);
    }
    for (int v = POD_FLEET_OF_CLASS; v < POD_FLEET_VALUES; v++) {
        double x[2];
        mean_of(runs, set, v, false, &x[0], &x[1]);
        add_cells(r->table, false, x);
    }
    pod_cell_text(r, NULL, about(runs, set));
    pod_json_close(&r->json);
}

static void add_classes(pod_table *t, pod_json *j, const pod_fleet_runs *runs, int set,
                        bool is_once)
{
    char name[NAME_BYTES];
    pod_json_open_object(j, NULL);
    pod_json_text(j, "lever", name_of(runs, set, name));
    pod_json_bool(j, "once_started", is_once);
    pod_table_add(t, "%s%s", name_of(runs, set, name), is_once ? ", once started" : "");
    for (int c = 0; c < POD_FLEET_CLASSES; c++) {
        double x[2];
        mean_of(runs, set, (is_once ? POD_FLEET_ONCE_STARTED : POD_FLEET_OF_CLASS) + c, false,
                &x[0], &x[1]);
        add_cells(t, false, x);
        add_keys(j, pod_fleet_class_name(c), x);
    }
    pod_json_close(j);
}

static void note(pod_table *t, const pod_fleet_runs *r)
{
    pod_table_note(t, "minipod %s fleet --levers, clock virtual, %d seed%s from %" PRIu64,
                   POD_VERSION, r->n_seeds, r->n_seeds > 1 ? "s" : "", r->seed);
    pod_table_note(
        t, "none: the factors in %%; the others: changes in percentage points on the same draws");
    pod_table_note(t, "ci: half of the 95 %% interval of the mean over seeds");
}

static void fill(pod_record *r, pod_table *classes, const pod_fleet_runs *runs)
{
    note(r->table, runs);
    pod_table_csv_only(r->table, N_FACTOR_COLUMNS, 4 * POD_FLEET_CLASSES + 1);
    pod_table_note(classes, "scheduling goodput of classes of jobs, not changes:");
    pod_table_note(classes, "allocated / asked for since submission, and since the first start");
    pod_json_text(&r->json, "clock", "virtual");
    pod_json_int(&r->json, "seeds", runs->n_seeds);
    pod_json_open_array(&r->json, "levers");
    for (int i = 0; i < runs->n_sets; i++) add_factors(r, runs, i);
    pod_json_close(&r->json);
    pod_json_open_array(&r->json, "classes");
    for (int once = 0; once < 2; once++)
        for (int i = 0; i < runs->n_sets; i++) add_classes(classes, &r->json, runs, i, once == 1);
    pod_json_close(&r->json);
}

static pod_status tell(const pod_fleet_runs *runs, const pod_call *call)
{
    pod_record r = {0};
    pod_table *classes = NULL;
    pod_status s;
    POD_TRY(pod_record_open("minipod.fleet.levers", 2, POD_COLUMNS(columns), &r));
    POD_TRY_GOTO(s, pod_table_create(POD_COLUMNS(class_columns), &classes), done);
    fill(&r, classes, runs);
    POD_TRY_GOTO(s, pod_table_print(r.table, call->log->out), done);
    POD_TRY_GOTO(s, pod_table_print(classes, call->log->out), done);
    POD_TRY_GOTO(s, pod_record_write_csv(&r, pod_config_text(call->config, POD_OPT_CSV)), done);
    s = pod_record_write_json(&r, pod_config_text(call->config, POD_OPT_JSON));
done:
    pod_table_destroy(classes);
    pod_record_close(&r);
    return s;
}

pod_status pod_fleet_levers(pod_call *call)
{
    uint32_t set[MAX_SETS];
    pod_arena *a;
    pod_fleet_runs r = {.config = call->config,
                        .set = set,
                        .n_seeds = (int)pod_config_int(call->config, POD_OPT_SEEDS),
                        .seed = (uint64_t)pod_config_int(call->config, POD_OPT_SEED)};
    if (*pod_config_text(call->config, POD_OPT_OUT))
        return pod_fail(POD_E_INVALID, "out: is of one run; --levers takes --csv and --json");
    POD_TRY(list_sets(pod_config_text(call->config, POD_OPT_LEVERS), set, &r.n_sets));
    POD_TRY(pod_arena_create(NULL, &a));
    r.out = POD_ARENA_NEW(a, pod_fleet_figures, r.n_sets * r.n_seeds);
    pod_status s = r.out ? pod_fleet_steps_create(call->config, a, &r.steps) : POD_E_NOMEM;
    if (s == POD_OK) s = pod_fleet_run_all(&r, call->log);
    if (s == POD_OK) s = tell(&r, call);
    pod_fleet_steps_destroy(r.steps);
    pod_arena_destroy(a);
    return s;
}
