/* minipod fleet --ask: one more job, submitted at an instant: when it starts, why not at once, and what
 * it costs the others. The fleet is simulated with it and without. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/record.h"
#include "bench/fleet/fleet.h"
#include "kernels/base/parse.h"
#include "runtime/core/words.h"

static const double HOUR_NS = 3600e9, DAY_NS = 86400e9, MAX_HOURS = 1e5;
enum { WORD_BYTES = 96 };

/* ---- the job --------------------------------------------------------------------------------- */

typedef struct asked {
    pod_fleet_entry entry;
    double hours, day;
} asked;

static pod_status set_text(pod_arena *a, const char *value, const char **out)
{
    *out = pod_arena_text(a, "%s", value);
    return *out ? POD_OK : POD_E_NOMEM;
}

static pod_status set_key(pod_arena *a, const char *key, const char *value, asked *x)
{
    static const char *const keys[] = {"hours", "day", "priority", "machine", "model", "batch"};
    int64_t priority;
    if (strcmp(key, "hours") == 0)
        return pod_parse_double("ask: hours", value, 1e-3, MAX_HOURS, &x->hours);
    if (strcmp(key, "day") == 0) return pod_parse_double("ask: day", value, 0, 3650, &x->day);
    if (strcmp(key, "machine") == 0) return set_text(a, value, &x->entry.group);
    if (strcmp(key, "model") == 0) return set_text(a, value, &x->entry.model);
    if (strcmp(key, "batch") == 0)
        return pod_parse_int("ask: batch", value, 1, INT64_C(1) << 24, &x->entry.batch);
    if (strcmp(key, "priority") == 0) {
        POD_TRY(pod_parse_int("ask: priority", value, -1000000, 1000000, &priority));
        x->entry.priority = (int)priority;
        return POD_OK;
    }
    const char *near = pod_nearest_name(key, keys, sizeof keys / sizeof keys[0]);
    return pod_fail(POD_E_INVALID, "ask: there is no key '%.40s'%s%s", key,
                    near ? "; did you mean " : "; minipod fleet --help-all has them",
                    near ? near : "");
}

/* "1024,hours=4,priority=2" */
static pod_status parse(const pod_config *c, pod_arena *a, asked *out)
{
    const char *text = pod_config_text(c, POD_OPT_ASK);
    char word[WORD_BYTES];
    asked x = {.entry = {.name = "asked",
                         .group = "",
                         .model = "",
                         .phase = "",
                         .outcome = "",
                         .ideal_share = (double)NAN},
               .hours = 1,
               .day = pod_config_double(c, POD_OPT_WARM_UP)};
    POD_TRY(pod_word_take("ask", &text, word, sizeof word));
    POD_TRY(pod_parse_int("ask: chips", word, 1, 1 << 24, &x.entry.chips));
    while (*text) {
        POD_TRY(pod_word_take("ask", &text, word, sizeof word));
        char *value = strchr(word, '=');
        if (!value)
            return pod_fail(POD_E_INVALID, "ask: '%.40s' has no value, want KEY=VALUE", word);
        *value++ = '\0';
        POD_TRY(set_key(a, word, value, &x));
    }
    if (x.entry.batch > 0 && !*x.entry.model)
        return pod_fail(POD_E_INVALID, "ask: a batch wants a model: model=resnet50");
    if (x.day >= pod_config_double(c, POD_OPT_DAYS))
        return pod_fail(POD_E_INVALID, "ask: day %g, but --days is %g", x.day,
                        pod_config_double(c, POD_OPT_DAYS));
    x.entry.run = (pod_stamp)llround(x.hours * HOUR_NS);
    x.entry.submit = (pod_stamp)llround(x.day * DAY_NS);
    *out = x;
    return POD_OK;
}

/* ---- with it and without --------------------------------------------------------------------- */

typedef struct answer {
    const pod_fleet_study *study;
    const pod_fleet_kind *kind;
    int job;
    pod_fleet_view view; /* of when it is submitted */
    const pod_fleet_outcome *own;
    int64_t n_later, n_evictions; /* of others, because of it */
    double delay_h; /* chip-hours that others wait longer, less what they wait shorter */
} answer;

static void at_submission(void *ctx, int i, const pod_fleet_view *view)
{
    (void)i;
    *(pod_fleet_view *)ctx = *view;
}

static double waited_h(const pod_fleet_request *r, const pod_fleet_outcome *o)
{
    return (double)r->chips * (double)(pod_fleet_first_wait(o) + o->rewait) / HOUR_NS;
}

static void compare(const pod_fleet_result *with, const pod_fleet_result *without, answer *x)
{
    const pod_fleet_kind *k = x->kind;
    for (int i = 0, other = 0; i < k->n_jobs; i++) {
        if (i == x->job) continue;
        const pod_fleet_outcome *now = &with->outcome[i], *before = &without->outcome[other++];
        const double delay_h = waited_h(&k->request[i], now) - waited_h(&k->request[i], before);
        x->n_later += delay_h > 0;
        x->delay_h += delay_h;
    }
    x->n_evictions = with->n_evictions - without->n_evictions;
}

static pod_status simulate(pod_fleet_study *s, pod_arena *a, answer *x)
{
    pod_fleet_result with, without;
    const pod_fleet_kind *k = x->kind;
    const int n_others = k->n_jobs - 1;
    pod_fleet_request *others = POD_ARENA_NEW(a, pod_fleet_request, n_others);
    if (!others) return POD_E_NOMEM;
    memcpy(others, k->request, (size_t)x->job * sizeof others[0]);
    memcpy(&others[x->job], &k->request[x->job + 1],
           (size_t)(n_others - x->job) * sizeof others[0]);
    pod_fleet_plan plan;
    pod_fleet_plan_of(s, (int)(k - s->kind), &plan);
    plan.asked = &k->request[x->job];
    plan.marks = (pod_fleet_marks){1, &plan.asked->submit, at_submission, &x->view};
    POD_TRY(pod_fleet_simulate(a, &plan, &with));
    plan.asked = NULL;
    plan.marks = (pod_fleet_marks){0};
    plan.request = others;
    plan.n_requests = n_others;
    POD_TRY(pod_fleet_simulate(a, &plan, &without));
    x->own = &with.outcome[x->job];
    compare(&with, &without, x);
    return POD_OK;
}

static void find_asked(const pod_fleet_study *s, const char *name, answer *x)
{
    for (int k = 0; k < s->n_kinds; k++)
        for (int i = 0; i < s->kind[k].n_jobs; i++)
            if (s->kind[k].entry[i]->name == name) {
                x->kind = &s->kind[k];
                x->job = i;
            }
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* "REASON: what there is of it" */
static void why(const answer *x, char text[], size_t n)
{
    const pod_fleet_view *v = &x->view;
    const pod_fleet_request *r = &x->kind->request[x->job];
    if (x->own->first_start == r->submit)
        snprintf(text, n, "it does: ");
    else if (v->most_free_chips < r->chips && v->most_free_chips + v->down_chips >= r->chips)
        snprintf(text, n, "down: %" PRId64 " chips are free in a pod, %" PRId64 " down",
                 v->most_free_chips, v->down_chips);
    else if (v->most_free_chips < r->chips)
        snprintf(text, n, "busy: no pod has more than %" PRId64 " free chips", v->most_free_chips);
    else if (v->largest_slice < r->chips)
        snprintf(text, n,
                 "fragmented: %" PRId64
                 " chips are free in a pod, but no slice of more than %" PRId64,
                 v->most_free_chips, v->largest_slice);
    else if (x->own->wait[POD_WAIT_SPARE] > 0)
        snprintf(text, n, "spare: --spare holds what is free");
    else
        snprintf(text, n, "order: %d jobs wait, and some of them are before it", v->n_queued);
}

static void put_time(pod_record *r, const char *key, const char *name, const answer *x,
                     pod_stamp at, const char *note)
{
    const pod_stamp submit = x->kind->request[x->job].submit;
    pod_record_real(r, key, name, "h", 3,
                    at == POD_NEVER ? (double)NAN : (double)(at - submit) / HOUR_NS);
    pod_record_note(r, "%s", at == POD_NEVER ? "not in the time that is simulated" : note);
}

static void fill(pod_record *r, const answer *x, const asked *job)
{
    const pod_fleet_request *q = &x->kind->request[x->job];
    const pod_fleet_outcome *o = x->own;
    char text[160];
    pod_table_note(r->table, "minipod %s fleet --ask, clock virtual, seed %" PRIu64, POD_VERSION,
                   x->study->seed);
    pod_record_int(r, "chips", "asked", "chips", q->chips);
    pod_record_note(r, "of %s for %g h of training, priority %d, on day %g", x->kind->topology.name,
                    (double)(q->plan.n_steps * q->plan.step) / HOUR_NS, q->priority, job->day);
    put_time(r, "start_h", "starts after", x, o->first_start, "");
    put_time(r, "end_h", "ends after", x, o->end, "");
    why(x, text, sizeof text);
    char *colon = strchr(text, ':');
    *colon = '\0';
    pod_record_text(r, "why", "why not at once", text);
    pod_record_note(r, "%s", colon + 2);
    if (o->first_start != q->submit)
        put_time(r, "head_h", "as the first in the queue", x, o->promised,
                 "when others end, by the estimates");
    for (int w = 0; w < POD_N_WAITS; w++) {
        if (o->wait[w] == 0) continue;
        snprintf(text, sizeof text, "  waits: %s", pod_wait_name((pod_wait)w));
        pod_record_real(r, pod_wait_name((pod_wait)w), text, "h", 3, (double)o->wait[w] / HOUR_NS);
    }
    pod_record_int(r, "free_chips", "free then", "chips", x->view.free_chips);
    pod_record_note(r, "in a pod %" PRId64 "; the largest slice %" PRId64 "; down %" PRId64,
                    x->view.most_free_chips, x->view.largest_slice, x->view.down_chips);
    pod_record_int(r, "queued", "queue then", "jobs", x->view.n_queued);
    pod_record_note(r, "for %" PRId64 " chips; %d jobs run", x->view.queued_chips,
                    x->view.n_running);
    pod_record_int(r, "own_evictions", "evictions of it", "", o->n_evictions);
    pod_record_int(r, "evictions", "evictions of others", "", x->n_evictions);
    pod_record_note(r, "more than without it");
    pod_record_int(r, "later", "jobs that wait longer", "jobs", x->n_later);
    pod_record_note(r, "the waits of all others change by %+.1f chip-h", x->delay_h);
    pod_json_double(&r->json, "delay_chip_h", x->delay_h);
}

static pod_status answer_it(const pod_call *call, pod_fleet_steps *steps, pod_arena *a)
{
    asked job;
    pod_fleet_study s;
    pod_record r;
    answer x = {.study = &s};
    POD_TRY(parse(call->config, a, &job));
    const pod_fleet_case c = {.config = call->config,
                              .steps = steps,
                              .seed = (uint64_t)pod_config_int(call->config, POD_OPT_SEED),
                              .asked = &job.entry};
    POD_TRY(pod_fleet_study_of(&c, a, &s));
    find_asked(&s, job.entry.name, &x);
    POD_TRY(simulate(&s, a, &x));
    POD_TRY(pod_record_open("minipod.fleet.ask", 1, POD_COLUMNS(pod_quantity_columns), &r));
    fill(&r, &x, &job);
    return pod_record_finish(&r, call->config, call->log->out);
}

pod_status pod_fleet_ask(const pod_call *call, pod_arena *a)
{
    pod_fleet_steps *steps;
    if (*pod_config_text(call->config, POD_OPT_OUT))
        return pod_fail(POD_E_INVALID,
                        "out: is of a run of the fleet; --ask takes --csv and --json");
    POD_TRY(pod_fleet_steps_create(call->config, a, &steps));
    const pod_status status = answer_it(call, steps, a);
    pod_fleet_steps_destroy(steps);
    return status;
}
