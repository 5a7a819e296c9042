#include "runtime/study/job_sim.h"

#include <inttypes.h>
#include <math.h>

#include "kernels/base/arith.h"
#include "kernels/base/assert.h"

typedef struct job {
    const pod_job_sim_plan *plan;
    pod_nodes *nodes;
    pod_job_sim r;
    pod_stamp now;
    int64_t done;      /* steps; those up to r.n_kept are in a whole checkpoint */
    pod_stamp unsaved; /* time of the steps that no save has taken yet */
    struct {           /* a save that is not whole yet; step 0: there is none */
        int64_t step;
        pod_stamp whole_at, steps; /* time of the steps that it takes */
    } in_flight;
    bool given_up;
} job;

/* ---- time passes ----------------------------------------------------------------------------- */

static pod_stamp capped(job *j, pod_stamp at)
{
    if (at <= j->plan->limit) return at;
    j->given_up = true;
    return j->plan->limit;
}

/* False when the job loses a node before, or is given up: `now` is that time. */
static bool spend(job *j, pod_stamp ns, pod_job_span span)
{
    const pod_stamp begin = j->now, end = begin + ns;
    j->now = capped(j, pod_nodes_watch(j->nodes, end));
    j->r.by_span[span] += j->now - begin;
    return j->now == end;
}

/* The same when nobody watches: the job stands still already. */
static void spend_idle(job *j, pod_stamp ns, pod_job_span span)
{
    const pod_stamp begin = j->now;
    j->now = capped(j, begin + ns);
    j->r.by_span[span] += j->now - begin;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static bool may_strike(const job *j, int i) { return (j->r.struck >> i & 1) == 0; }

/* What strikes as `step` begins, or in its save; -1: nothing. It is struck then. */
static int strike(job *j, int64_t step, bool in_save)
{
    for (int i = 0; i < j->plan->n_faults; i++) {
        const pod_fault *f = &j->plan->fault[i];
        const bool stops =
            f->kind == POD_FAULT_HANG || f->kind == POD_FAULT_NAN || f->kind == POD_FAULT_KILL;
        if (!stops || f->step != step || (f->write > 0) != in_save || !may_strike(j, i)) continue;
        j->r.struck |= UINT64_C(1) << i;
        return i;
    }
    return -1;
}

/* Whether no checkpoint of the step can be used. */
static bool spoils(job *j, int64_t step)
{
    bool spoilt = false;
    for (int i = 0; i < j->plan->n_faults; i++) {
        const pod_fault *f = &j->plan->fault[i];
        if ((f->kind != POD_FAULT_DISKFULL && f->kind != POD_FAULT_CORRUPT) || f->step != step ||
            !may_strike(j, i))
            continue;
        j->r.struck |= UINT64_C(1) << i;
        spoilt = true;
    }
    return spoilt;
}

/* How long a step takes that begins when `done` are done, and up to which step others are alike and
 * no fault strikes, in their saves neither. */
static pod_stamp step_time(job *j, int64_t *until)
{
    double factor = 1;
    const int64_t next = j->done + 1;
    for (int i = 0; i < j->plan->n_faults; i++) {
        const pod_fault *f = &j->plan->fault[i];
        const int64_t last = f->until > 0 ? f->until : INT64_MAX;
        if (f->kind != POD_FAULT_SLOW) {
            if (may_strike(j, i) && f->step >= next) *until = pod_min(*until, f->step - 1);
        } else if (next < f->from) {
            *until = pod_min(*until, f->from - 1);
        } else if (next <= last) {
            *until = pod_min(*until, last);
            factor = fmax(factor, f->factor);
            if (next <= j->plan->n_steps) j->r.struck |= UINT64_C(1) << i;
        }
    }
    return factor == 1 ? j->plan->step : (pod_stamp)llround((double)j->plan->step * factor);
}

/* ---- a failure ------------------------------------------------------------------------------- */

/* The save in flight, if it is whole by now. */
static void settle(job *j)
{
    if (j->in_flight.step == 0 || j->in_flight.whole_at > j->now) return;
    j->r.n_kept = j->in_flight.step;
    j->r.n_saves++;
    j->in_flight.step = 0;
}

/* Back to the last whole checkpoint. */
static void lose(job *j)
{
    settle(j);
    const pod_stamp lost = j->unsaved + (j->in_flight.step ? j->in_flight.steps : 0);
    j->r.by_span[POD_JOB_STEP] -= lost;
    j->r.by_span[POD_JOB_LOST_STEP] += lost;
    j->r.n_lost += j->done - j->r.n_kept;
    j->done = j->r.n_kept;
    j->unsaved = 0;
    j->in_flight.step = 0;
}

/* ---- an attempt ------------------------------------------------------------------------------ */

typedef enum ending { DONE, STOPPED, HANGS } ending;

static bool start(job *j)
{
    const pod_job_sim_plan *p = j->plan;
    return spend(j, p->launch, j->r.n_failures == 0 ? POD_JOB_INIT : POD_JOB_RECOVERY) &&
           spend(j, p->init, POD_JOB_INIT) && spend(j, p->prep, POD_JOB_PREP) &&
           spend(j, p->build, POD_JOB_BUILD) &&
           (j->r.n_kept == 0 || spend(j, p->restore, POD_JOB_RESTORE));
}

static ending run_steps(job *j, int64_t target)
{
    while (j->done < target) {
        const int fault = strike(j, j->done + 1, false);
        if (fault >= 0) return j->plan->fault[fault].kind == POD_FAULT_HANG ? HANGS : STOPPED;
        int64_t until = target;
        const pod_stamp step = step_time(j, &until), begin = j->now;
        if (until == j->done) until++; /* what strikes does so in its save */
        const bool runs = spend(j, (until - j->done) * step, POD_JOB_STEP);
        j->done += step > 0 ? (j->now - begin) / step : until - j->done;
        j->unsaved += j->now - begin;
        if (!runs) return STOPPED;
    }
    return DONE;
}

/* Until the save in flight is whole. */
static bool wait_for_save(job *j)
{
    const pod_stamp ahead = j->in_flight.step ? j->in_flight.whole_at - j->now : 0;
    if (ahead > 0 && !spend(j, ahead, POD_JOB_SAVE)) return false;
    settle(j);
    return true;
}

static ending save(job *j)
{
    if (!wait_for_save(j) || !spend(j, j->plan->save, POD_JOB_SAVE)) return STOPPED;
    if (strike(j, j->done, true) >= 0) return STOPPED;
    if (spoils(j, j->done)) return DONE;
    j->in_flight.step = j->done;
    j->in_flight.whole_at = j->now + j->plan->write;
    j->in_flight.steps = j->unsaved;
    j->unsaved = 0;
    settle(j);
    return DONE;
}

/* Behind a save: as many whole intervals as pass until something happens, all at once. */
static void skip_intervals(job *j)
{
    const int64_t every = j->plan->every;
    int64_t until = j->plan->n_steps - 1;
    const pod_stamp steps = every * step_time(j, &until);
    const pod_stamp write = j->plan->write,
                    save = j->plan->save + (steps < write ? write - steps : 0);
    const pod_stamp next = pod_nodes_next(j->nodes), limit = j->plan->limit,
                    ahead = (next < limit ? next : limit) - j->now;
    if (steps + save == 0 || ahead <= 0) return;
    const int64_t n = pod_min((until - j->done) / every, ahead / (steps + save));
    if (n <= 0) return;
    j->now += n * (steps + save);
    j->r.by_span[POD_JOB_STEP] += n * steps;
    j->r.by_span[POD_JOB_SAVE] += n * save;
    j->done += n * every;
    j->r.n_saves += n;
    j->r.n_kept = write > 0 ? j->done - every : j->done;
    if (write == 0) return;
    j->in_flight.step = j->done;
    j->in_flight.whole_at = j->now + write;
    j->in_flight.steps = steps;
}

static ending attempt(job *j)
{
    const int64_t n = j->plan->n_steps, every = j->plan->every;
    if (!start(j)) return STOPPED;
    while (j->done < n) {
        ending e = run_steps(j, n - j->done > every ? (j->done / every + 1) * every : n);
        if (e == DONE) e = save(j);
        if (e != DONE) return e;
        if (j->unsaved == 0) skip_intervals(j);
    }
    return wait_for_save(j) ? DONE : STOPPED;
}

/* From the failure to the next attempt. */
static void recover(job *j, ending how)
{
    /* Others' writing goes on while one hangs. */
    if (how == HANGS && spend(j, j->plan->watchdog, POD_JOB_RECOVERY)) {
        lose(j);
    } else {
        lose(j);
        spend_idle(j, j->plan->detect, POD_JOB_RECOVERY);
    }
    j->r.n_failures++;
}

static void take_nodes(job *j)
{
    const pod_stamp begin = j->now, at = pod_nodes_take(j->nodes, begin, j->plan->limit);
    j->now = capped(j, at);
    j->r.waiting += j->now - begin;
}

static void check(const job *j)
{
    pod_stamp sum = 0;
    for (int s = 0; s < POD_N_JOB_SPANS; s++) {
        POD_ASSERT(j->r.by_span[s] >= 0, "%" PRId64 " ns of %s", j->r.by_span[s],
                   pod_job_span_name((pod_job_span)s));
        sum += j->r.by_span[s];
    }
    POD_ASSERT(sum == j->r.allocated, "categories sum to %" PRId64 " ns of %" PRId64, sum,
               j->r.allocated);
}

pod_job_sim pod_job_sim_run(const pod_job_sim_plan *plan, pod_nodes *nodes, uint64_t seed,
                            uint32_t number)
{
    job j = {.plan = plan, .nodes = nodes};
    POD_ASSERT(plan->n_steps >= 1 && plan->every >= 1 && plan->n_faults <= POD_MAX_FAULTS,
               "%" PRId64 " steps, saved every %" PRId64 ", %d faults", plan->n_steps, plan->every,
               plan->n_faults);
    pod_nodes_begin(nodes, seed, number);
    while (!j.r.is_finished && !j.given_up) {
        take_nodes(&j);
        if (j.given_up) break;
        const ending e = attempt(&j);
        j.r.is_finished = e == DONE;
        if (e != DONE && !j.given_up) recover(&j, e);
    }
    if (j.given_up) lose(&j);
    if (j.r.is_finished) j.r.n_kept = plan->n_steps; /* what no save took is the job's result */
    j.r.allocated = j.now - j.r.waiting;
    check(&j);
    return j.r;
}

double pod_job_sim_runtime_goodput(const pod_job_sim *j)
{
    return (double)j->by_span[POD_JOB_STEP] / (double)j->allocated;
}
