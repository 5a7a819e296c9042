/* minipod kernels: every kernel of the tables that can run here, on problems kept as data, checked
 * and held against each other, OpenBLAS and the register peak of the same run. */
#include <string.h>
#include <unistd.h>

#include "bench/kernels/vector.h"
#include "runtime/core/words.h"

/* Whether --family names it. */
static bool is_wanted(const char *wanted, const pod_problem *p)
{
    char op[32];
    return wanted[0] == '\0' || pod_word_is_in(wanted, pod_families()[p->family].name) ||
           pod_word_is_in(wanted, pod_problem_print_op(p, op, sizeof op));
}

/* A problem for each function that *p asks for and --family wants, float32 where that one takes
 * nothing else and nobody said otherwise. */
static pod_status add_functions(const char *wanted, pod_arena *a, const pod_problem *p,
                                pod_kernels_plan *plan)
{
    const int n = p->function < 0 ? pod_family_n_functions(p->family) : 1;
    for (int i = 0; i < n; i++) {
        pod_problem one = *p;
        if (p->function < 0) one.function = i;
        if (!p->has_dtype && pod_vector_is_f32_only(&one)) one.dtype = POD_F32;
        if (!is_wanted(wanted, &one)) continue;
        POD_TRY(pod_race_check_room(plan, &one));
        pod_problem *all = POD_ARENA_GROW(a, plan->problem, plan->n_problems);
        if (!all) return POD_E_NOMEM;
        plan->problem = all;
        plan->problem[plan->n_problems++] = one;
    }
    return POD_OK;
}

/* The words of the command line are one problem; else a file or a set has them. */
static pod_status read_problems(const pod_config *c, pod_arena *a, pod_kernels_plan *plan)
{
    const char *wanted = pod_config_text(c, POD_OPT_FAMILY);
    char line[512] = "";
    pod_problem one, *given = NULL;
    for (int i = 0; i < pod_config_n_args(c); i++) {
        const size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, "%s%s", i ? " " : "", pod_config_arg(c, i));
    }
    if (*line) {
        POD_TRY(pod_problem_parse("problem", line, &one));
        given = &one;
        plan->n_lines = 1;
    } else {
        POD_TRY(pod_problems_load(a, pod_config_text(c, POD_OPT_SHAPES), &given, &plan->n_lines));
    }
    for (int i = 0; i < plan->n_lines; i++) POD_TRY(add_functions(wanted, a, &given[i], plan));
    if (plan->n_problems > 0) return POD_OK;
    return pod_fail(POD_E_INVALID, "family: none of %d problems is of '%s'", plan->n_lines, wanted);
}

static pod_status read_plan(const pod_config *c, pod_arena *a, pod_kernels_plan *p)
{
    const char *buffers = pod_config_text(c, POD_OPT_BUFFERS);
    const char *packed = pod_config_text(c, POD_OPT_PACKED);
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    *p = (pod_kernels_plan){.impl = pod_config_text(c, POD_OPT_IMPL),
                            .with_packed = strcmp(packed, "off") != 0,
                            .with_unpacked = strcmp(packed, "on") != 0,
                            .with_hot = strcmp(buffers, "cold") != 0,
                            .with_cold = strcmp(buffers, "hot") != 0,
                            .with_check = pod_config_bool(c, POD_OPT_CHECK),
                            .n_iters = (int)pod_config_int(c, POD_OPT_ITERS),
                            .n_warmup = (int)pod_config_int(c, POD_OPT_WARMUP_ITERS),
                            .n_rounds = (int)pod_config_int(c, POD_OPT_ROUNDS),
                            .cache_bytes = cache > 0 ? cache : 32 << 20};
    POD_TRY(pod_kernels_check_impls(p->impl));
    return read_problems(c, a, p);
}

/* ---- the races ------------------------------------------------------------------------------- */

static pod_status make_race(const pod_kernels_plan *p, pod_race *r)
{
    switch (r->problem.family) {
    case POD_FAMILY_gemm: return pod_race_gemm(p, r);
    case POD_FAMILY_conv: return pod_race_conv(p, r);
    case POD_FAMILY_depthwise: return pod_race_depthwise(p, r);
    case POD_FAMILY_vocab_loss: return pod_race_vocab_loss(p, r);
    case POD_FAMILY_attention: return pod_race_attention(p, r);
    default: return pod_race_vector(p, r);
    }
}

static pod_status note_none(pod_kernels_bench *b, const pod_race *r)
{
    char text[POD_PROBLEM_TEXT_BYTES];
    pod_kernels_none one = {.is_by_name = r->refusals[0] == '\0'};
    one.text = pod_arena_text(b->arena, "%s", pod_problem_print(&r->problem, text, sizeof text));
    one.why = one.is_by_name
                  ? pod_arena_text(b->arena, "none of its kernels is called %s", b->plan.impl)
                  : pod_arena_text(b->arena, "%s", r->refusals);
    pod_kernels_none *none = POD_ARENA_GROW(b->arena, b->none, b->n_none);
    if (!one.text || !one.why || !none) return POD_E_NOMEM;
    b->none = none;
    b->none[b->n_none++] = one;
    return POD_OK;
}

static pod_status run_race(pod_kernels_bench *b, const pod_problem *p)
{
    char text[POD_PROBLEM_TEXT_BYTES];
    pod_race r = {.problem = *p,
                  .flops = pod_problem_flops(p),
                  .bytes = pod_race_bytes(p),
                  .n_sets = pod_race_n_sets(&b->plan, p)};
    POD_TRY(pod_arena_create(NULL, &r.arena));
    pod_status s = make_race(&b->plan, &r);
    if (s == POD_E_SHAPE || s == POD_E_UNSUPPORTED || s == POD_E_INVALID)
        s = pod_fail(POD_E_INVALID, "%s: %s", pod_problem_print(p, text, sizeof text),
                     pod_error_text());
    if (s == POD_OK && r.n_contenders > 0)
        s = pod_race_run(b, &r);
    else if (s == POD_OK)
        s = note_none(b, &r);
    pod_race_end_peers(&r);
    pod_arena_destroy(r.arena);
    return s;
}

static pod_status run_all(pod_kernels_bench *b)
{
    pod_progress_begin(b->call->log, "measuring", "problems", 0, b->plan.n_problems);
    for (int i = 0; i < b->plan.n_problems; i++) {
        POD_TRY(run_race(b, &b->plan.problem[i]));
        pod_progress_at(b->call->log, i + 1, "%s", "");
    }
    pod_progress_end(b->call->log);
    if (b->n_rows > 0) return POD_OK;
    const pod_kernels_none *first = &b->none[0];
    if (b->plan.n_lines == 1)
        return pod_fail(POD_E_UNSUPPORTED, "no kernel takes %s: %s", first->text, first->why);
    return pod_fail(POD_E_UNSUPPORTED, "no kernel takes any of %d problems; the first is %s: %s",
                    b->plan.n_lines, first->text, first->why);
}

static pod_status run(pod_kernels_bench *b, int *exit_code)
{
    const pod_config *c = b->call->config;
    const char *json = pod_config_text(c, POD_OPT_JSON);
    POD_TRY(read_plan(c, b->arena, &b->plan));
    b->plan.rates = &b->machine.kernel_rate;
    POD_TRY(pod_machine_load(pod_config_text(c, POD_OPT_MACHINE), &b->machine));
    pod_machine_describe_host(&b->host);
    pod_kernels_measure_peaks(b);
    POD_TRY(pod_kernels_table_begin(b));
    POD_TRY(run_all(b));
    POD_TRY(pod_kernels_table_end(b));
    POD_TRY(pod_kernels_write_json(b, json));
    if (pod_kernels_n_wrong(b) > 0) *exit_code = POD_EXIT_FAILED;
    return POD_OK;
}

pod_status pod_cmd_kernels(pod_call *call, int *exit_code)
{
    pod_kernels_bench b = {.call = call, .arena = call->arena};
    const pod_status s = run(&b, exit_code);
    pod_record_close(&b.record);
    return s;
}
