/* Contenders take turns, round by round, so that what else this host does hits all alike; each call
 * is timed by itself. Nothing is allocated while the clock runs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/common/target.h"
#include "bench/kernels/vector.h"
#include "bench/peers/peer.h"
#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "runtime/core/room.h"
#include "runtime/core/words.h"

/* A turn ends after --iters calls, or when it has lasted so long: slow ones would hold up all. */
static const double turn_s = 0.05;

enum { MAX_SETS = 1024 };

double pod_race_bytes(const pod_problem *p)
{
    const pod_problem_form form = pod_families()[p->family].form;
    const bool is_matrix = form == POD_FORM_PRODUCT || form == POD_FORM_CONV ||
                           form == POD_FORM_DEPTHWISE || form == POD_FORM_ATTENTION ||
                           form == POD_FORM_HEAD;
    return is_matrix ? pod_problem_bytes(p) : pod_vector_bytes(p);
}

int pod_race_n_sets(const pod_kernels_plan *plan, const pod_problem *p)
{
    const double sets = ceil(1.5 * (double)plan->cache_bytes / pod_race_bytes(p));
    return !plan->with_cold ? 1 : sets > MAX_SETS ? MAX_SETS : (int)sets;
}

pod_status pod_race_check_room(const pod_kernels_plan *plan, const pod_problem *p)
{
    /* Copies in another type for a peer, packed weights: about three times as much. */
    const double bytes = 3 * pod_race_n_sets(plan, p) * pod_race_bytes(p);
    char text[POD_PROBLEM_TEXT_BYTES], what[sizeof text + 16];
    snprintf(what, sizeof what, "operands of %s", pod_problem_print(p, text, sizeof text));
    return pod_room_check(what, bytes);
}

/* ---- --impl: names of kernels, of any table, and of peers ---- */

enum { MAX_NAMES = 128 };

typedef struct names {
    const char *name[MAX_NAMES];
    int n;
} names;

static void add(names *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->name[i], name) == 0) return;
    POD_ASSERT(all->n < MAX_NAMES, "%d names of kernels", all->n);
    all->name[all->n++] = name;
}

static void add_known(names *all)
{
    const char *of_tables[POD_TARGET_MAX_KERNELS];
    int n = pod_target_kernels(of_tables);
    for (int i = 0; i < n; i++) add(all, of_tables[i]);
    for (int f = 0; f < POD_N_FAMILIES; f++) {
        const char *name;
        uint32_t needs;
        for (int i = 0; pod_vector_set((pod_family_id)f, i, &name, &needs); i++) add(all, name);
    }
    add(all, "sgemm");
    add(all, "memcpy");
    add(all, "memcpy64k");
    const pod_peer *peer = pod_peers(&n);
    for (int i = 0; i < n; i++) add(all, peer[i].name);
    add(all, "all");
}

int pod_kernels_longest_impl(void)
{
    names known = {.n = 0};
    size_t longest = 0;
    add_known(&known);
    for (int i = 0; i < known.n; i++)
        if (strlen(known.name[i]) > longest) longest = strlen(known.name[i]);
    return (int)longest;
}

pod_status pod_kernels_check_impls(const char *impl)
{
    names known = {.n = 0};
    add_known(&known);
    return pod_target_check_impls(impl, known.name, known.n);
}

static bool wants_all(const pod_kernels_plan *plan)
{
    return plan->impl[0] == '\0' || strcmp(plan->impl, "all") == 0;
}

bool pod_race_wants(const pod_kernels_plan *plan, const char *impl)
{
    return wants_all(plan) ? strcmp(impl, "ref") != 0 : pod_word_is_in(plan->impl, impl);
}

/* Once, though a kernel may be asked twice: packed and not. */
static void note_refusal(pod_race *r, const char *impl, const char *why_not)
{
    char note[128];
    const size_t used = strlen(r->refusals);
    snprintf(note, sizeof note, "%s: %s", impl, why_not);
    if (strstr(r->refusals, note)) return;
    snprintf(r->refusals + used, sizeof r->refusals - used, "%s%s", used ? "; " : "", note);
}

bool pod_race_admits(const pod_kernels_plan *plan, pod_race *r, const char *impl,
                     const char *why_not)
{
    const bool is_wanted = pod_race_wants(plan, impl);
    if (!is_wanted && !why_not) why_not = "only with --impl ref";
    if (why_not && (is_wanted || wants_all(plan))) note_refusal(r, impl, why_not);
    return is_wanted && !why_not;
}

pod_choice pod_race_choice(const pod_kernels_plan *plan)
{
    return (pod_choice){.cpu = pod_cpu_features(), .rates = plan->rates};
}

void pod_race_add(pod_race *r, const pod_contender *c)
{
    POD_ASSERT(r->n_contenders < POD_MAX_CONTENDERS, "%d contenders", r->n_contenders);
    r->contender[r->n_contenders++] = *c;
}

/* ---- time ------------------------------------------------------------------------------------ */

typedef struct timing { /* of a contender on hot or on cold operands */
    double *time_s;     /* (n_rounds n_iters) */
    int64_t n;
} timing;

typedef struct running {
    const pod_kernels_plan *plan;
    const pod_race *race;
    timing timing[POD_MAX_CONTENDERS][2];
    int next; /* set to be worked on when they are cold: round and round, whoever works */
} running;

static int take_set(running *x, bool is_cold)
{
    if (!is_cold) return 0;
    x->next = (x->next + 1) % x->race->n_sets;
    return x->next;
}

static void take_turn(running *x, int contender, bool is_cold)
{
    const pod_contender *c = &x->race->contender[contender];
    timing *t = &x->timing[contender][is_cold];
    const pod_clock clock = pod_clock_start();
    for (int i = 0; i < x->plan->n_warmup; i++) {
        c->run(c, take_set(x, is_cold));
        if (pod_time_seconds(pod_clock_now(&clock)) > turn_s) break;
    }
    const pod_time begun = pod_clock_now(&clock);
    pod_time before = begun;
    for (int i = 0; i < x->plan->n_iters; i++) {
        c->run(c, take_set(x, is_cold));
        const pod_time now = pod_clock_now(&clock);
        t->time_s[t->n++] = pod_time_seconds(now - before);
        if (pod_time_seconds(now - begun) > turn_s) break;
        before = pod_clock_now(&clock);
    }
}

static void take_turns(running *x)
{
    for (int round = 0; round < x->plan->n_rounds; round++)
        for (int i = 0; i < x->race->n_contenders; i++) {
            if (x->plan->with_hot || x->race->n_sets == 1) take_turn(x, i, false);
            if (x->race->n_sets > 1) take_turn(x, i, true);
        }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void commas_for_blanks(char *text)
{
    for (; *text != '\0'; text++)
        if (*text == ' ') *text = ',';
}

static pod_status add_row(pod_kernels_bench *b, const pod_race *r, const pod_contender *c,
                          const timing *t, bool is_cold, double copy_s, double err)
{
    char shape[POD_PROBLEM_TEXT_BYTES], type[64];
    pod_kernels_row row = {
        .problem = b->n_races,
        .impl = c->impl,
        .shape = pod_arena_text(b->arena, "%s",
                                pod_problem_print_shape(&r->problem, shape, sizeof shape)),
        .is_packed = c->is_packed,
        .is_cold = is_cold,
        .is_picked = c->is_picked,
        .is_peer = c->is_peer,
        .is_copy = c->is_copy,
        .peak = c->peak,
        .flops = r->flops,
        .bytes = c->bytes > 0 ? c->bytes : r->bytes,
        .copy_s = copy_s,
        .time_s = pod_spread_of(t->time_s, t->n),
        .err = err};
    pod_problem_print_op(&r->problem, row.op, sizeof row.op);
    pod_problem_print_words(&r->problem, type, sizeof type);
    commas_for_blanks(type);
    row.type = pod_arena_text(b->arena, "%s", type);
    if (!row.shape || !row.type) return POD_E_NOMEM;
    return pod_kernels_add(b, &row);
}

/* The output is NaN before, so that what is not written shows. */
double pod_race_err_of(const pod_race *r, const pod_contender *c)
{
    if (!c->out) return c->err(r, c);
    pod_operand_spoil(c->out);
    c->run(c, 0);
    if (c->settle) c->settle(c);
    return pod_operand_is_finite(c->out) ? c->err(r, c) : (double)INFINITY;
}

/* The median time of the faster copy of as many bytes; 0: there is none. */
static double time_of_copy(running *x, bool is_cold)
{
    double best = 0;
    for (int i = 0; i < x->race->n_contenders; i++) {
        const timing *t = &x->timing[i][is_cold];
        const double s = pod_spread_of(t->time_s, t->n).median;
        if (x->race->contender[i].is_copy && (best <= 0 || s < best)) best = s;
    }
    return best;
}

pod_status pod_race_run(pod_kernels_bench *b, pod_race *r)
{
    const pod_kernels_plan *p = &b->plan;
    running *x = POD_ARENA_NEW(r->arena, running, 1);
    if (!x) return POD_E_NOMEM;
    x->plan = p;
    x->race = r;
    for (int i = 0; i < 2 * r->n_contenders; i++) {
        timing *t = &x->timing[i / 2][i % 2];
        t->time_s = POD_ARENA_NEW(r->arena, double, (int64_t)p->n_rounds * p->n_iters);
        if (!t->time_s) return POD_E_NOMEM;
    }
    take_turns(x);
    const double copy_s[2] = {time_of_copy(x, false), time_of_copy(x, true)};
    for (int i = 0; i < r->n_contenders; i++) {
        const pod_contender *c = &r->contender[i];
        const double err = p->with_check ? pod_race_err_of(r, c) : -1;
        for (int is_cold = 0; is_cold < 2; is_cold++)
            if (x->timing[i][is_cold].n > 0)
                POD_TRY(add_row(b, r, c, &x->timing[i][is_cold], is_cold, copy_s[is_cold], err));
    }
    b->n_races++;
    return POD_OK;
}
