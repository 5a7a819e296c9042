#include "runtime/train/guard.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectives/exec/watch/stop.h"
#include "collectives/exec/watch/vote.h"
#include "runtime/checkpoint/disk.h"
#include "runtime/checkpoint/write.h"
#include "runtime/core/file.h"
#include "runtime/goodput/goodput_live.h"
#include "runtime/goodput/job_file.h"
#include "runtime/train/inject.h"
#include "runtime/train/saver.h"

enum { HOST_BYTES = 256, NEVER = -1 };

/* What rank 0 finds in the run's folder, for all. */
typedef struct past {
    int attempt;
    pod_stamp begun;            /* the job's: its launch, or rank 0's record of attempt 1 */
    bool goes_on;               /* from its own folder, as the same job */
    bool has_checkpoint;        /* one or more; of this job, if it goes on */
    int64_t kept;               /* the latest that the job's log tells of; 0: none */
    bool spent[POD_MAX_FAULTS]; /* faults that struck */
} past;

struct pod_guard {
    pod_guard_args args;
    pod_arena *arena;
    past past;
    const char *resume;
    pod_job_writer *writer;
    pod_vote *vote;
    pod_saver *saver;           /* NULL: nothing is kept */
    pod_goodput_live *live;     /* rank 0's; NULL likewise */
    const pod_eval_rows *evals; /* since it is armed */
    pod_injection faults;       /* of steps */
    bool is_slowed[POD_MAX_FAULTS];
    pod_store *store; /* likewise borrowed */
    pod_exec *exec;
    pod_timeline *timeline;
    bool struck[POD_MAX_FAULTS]; /* this rank's, in this attempt; by the saver's thread, too */
    int64_t begun;               /* the step of the latest save; NEVER */
};

static const pod_guard_plan *plan_of(const pod_guard *g) { return g->args.plan; }
static bool is_root(const pod_guard *g) { return pod_comm_rank(g->args.comm) == 0; }
static pod_stamp stamp(const pod_guard *g) { return pod_clock_stamp(g->args.clock); }

/* ---- the plan ------------------------------------------------------------------------------- */

pod_status pod_guard_plan_from(const pod_config *c, int n_ranks, pod_guard_plan *out)
{
    pod_guard_plan p = {
        .out = pod_config_text(c, POD_OPT_OUT),
        .resume = pod_config_text(c, POD_OPT_RESUME),
        .attempt = (int)pod_config_int(c, POD_OPT_ATTEMPT),
        .save_every = pod_config_int(c, POD_OPT_CHECKPOINT_EVERY),
        .keep_last = pod_config_int(c, POD_OPT_KEEP),
        .keep_every = pod_config_int(c, POD_OPT_KEEP_EVERY),
        .keep_best = pod_config_bool(c, POD_OPT_KEEP_BEST),
        .is_async = strcmp(pod_config_text(c, POD_OPT_CHECKPOINT), "async") == 0,
        .watchdog_s = pod_config_double(c, POD_OPT_WATCHDOG),
    };
    POD_TRY(pod_faults_parse(pod_config_text(c, POD_OPT_FAULT), p.fault, &p.n_faults));
    POD_TRY(pod_inject_check(p.fault, p.n_faults, n_ranks));
    if (!*p.out && p.save_every > 0)
        return pod_fail(POD_E_INVALID,
                        "checkpoint-every: checkpoints go into --out, which is not given");
    if (!*p.out && strcmp(p.resume, "auto") == 0)
        return pod_fail(POD_E_INVALID, "resume: auto looks into --out, which is not given");
    *out = p;
    return POD_OK;
}

/* ---- what the folder has -------------------------------------------------------------------- */

static bool same_place(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static pod_status in_out(const pod_guard *g, const char *name, const char **path)
{
    *path = pod_arena_text(g->arena, "%s/%s", plan_of(g)->out, name);
    return *path ? POD_OK : POD_E_NOMEM;
}

static pod_status find_checkpoint(const pod_guard *g, bool *found)
{
    const char *path;
    pod_checkpoint_list list;
    POD_TRY(in_out(g, "checkpoint", &path));
    POD_TRY(pod_dir_make(path));
    POD_TRY(pod_checkpoint_find(path, g->arena, NULL, &list));
    *found = list.n > 0;
    return POD_OK;
}

/* A new job does not go on from an old one's checkpoints by mistake, nor delete them. */
static pod_status put_aside(const pod_guard *g)
{
    const char *path, *aside;
    char named[POD_DISK_PATH_BYTES];
    POD_TRY(in_out(g, "checkpoint", &path));
    POD_TRY(in_out(g, "checkpoint.old", &aside));
    pod_disk disk = {0};
    POD_TRY(pod_disk_put_aside(&disk, path, aside, named));
    pod_log_say(g->args.log, POD_LOG_INFO, "checkpoints of an earlier run are in %s", named);
    return pod_dir_make(path);
}

static pod_status read_log(const pod_guard *g, past *p)
{
    pod_job job;
    POD_TRY(pod_job_read(g->arena, plan_of(g)->out, &job));
    if (job.launch_begin && job.launch_begin < p->begun) p->begun = job.launch_begin;
    for (int i = 0; i < job.n_parts; i++)
        if (job.part[i].head.rank == 0 && job.part[i].head.begin < p->begun)
            p->begun = job.part[i].head.begin;
    for (int i = 0; i < job.n_parts; i++)
        for (int64_t k = 0; k < job.part[i].n_kept; k++)
            if (job.part[i].kept[k] > p->kept) p->kept = job.part[i].kept[k];
    for (int i = 0; i < job.n_parts; i++)
        for (int64_t k = 0; k < job.part[i].n_faults; k++) {
            const int fault = job.part[i].fault[k];
            if (fault >= 0 && fault < POD_MAX_FAULTS) p->spent[fault] = true;
        }
    return POD_OK;
}

bool pod_guard_goes_on(const char *resume, const char *out)
{
    char checkpoints[POD_DISK_PATH_BYTES];
    if (strcmp(resume, "auto") == 0) return true;
    return access(resume, F_OK) == 0 &&
           pod_disk_path(checkpoints, "%s/checkpoint", out) == POD_OK &&
           (same_place(resume, out) || pod_path_is_within(resume, checkpoints));
}

static bool goes_on(const pod_guard_plan *plan)
{
    return pod_guard_goes_on(plan->resume, plan->out);
}

static pod_status look_back(const pod_guard *g, past *p)
{
    const pod_guard_plan *plan = plan_of(g);
    int last = 0;
    POD_TRY(pod_job_last_attempt(plan->out, &last));
    POD_TRY(find_checkpoint(g, &p->has_checkpoint));
    p->attempt = plan->attempt > 0 ? plan->attempt : goes_on(plan) ? last + 1 : 1;
    p->goes_on = p->attempt > 1 && goes_on(plan);
    const bool is_of_job = p->attempt > 1 || plan->attempt > 0;
    return is_of_job && last > 0 ? read_log(g, p) : POD_OK;
}

/* What is another job's goes out of the way. */
static pod_status clear_folder(const pod_guard *g)
{
    const pod_guard_plan *plan = plan_of(g);
    const char *job;
    if (!*plan->out || !is_root(g)) return POD_OK;
    POD_TRY(in_out(g, "job", &job));
    POD_TRY(pod_dir_make(job));
    if (plan->attempt == 0 && g->past.attempt == 1) POD_TRY(pod_job_clear(plan->out));
    return g->past.has_checkpoint && !goes_on(plan) ? put_aside(g) : POD_OK;
}

/* What --resume auto finds nothing of begins anew, and who expected more is told. Nothing is
 * expected where no checkpoint was ever whole. */
static void tell_anew(const pod_guard *g)
{
    const pod_guard_plan *plan = plan_of(g);
    const char *aside;
    char kept[64] = "", old[POD_DISK_PATH_BYTES + 64] = "";
    struct stat st;
    if (!*plan->out || !is_root(g) || *g->resume || strcmp(plan->resume, "auto") != 0) return;
    if (g->past.kept > 0)
        snprintf(kept, sizeof kept, "the job's log tells of one of step %" PRId64, g->past.kept);
    if (in_out(g, "checkpoint.old", &aside) == POD_OK && stat(aside, &st) == 0)
        snprintf(old, sizeof old, "%s has those of an earlier run", aside);
    if (*kept || *old)
        pod_log_say(g->args.log, POD_LOG_WARNING,
                    "resume: auto found no checkpoint in %s/checkpoint, but %s%s%s: the job begins "
                    "anew",
                    plan->out, kept, *kept && *old ? ", and " : "", old);
}

/* Of its own folder, if with anything: what is there of later steps is left behind. */
static bool goes_on_from_own(const pod_guard *g)
{
    return *plan_of(g)->out && *g->resume && goes_on(plan_of(g));
}

/* It goes on from an earlier checkpoint of its folder than `latest`, by its name or since the
 * others are damaged: so shall an attempt that follows before the next save. */
static void turn_back(const pod_guard *g, int64_t step)
{
    const char *dir;
    if (!is_root(g) || !goes_on_from_own(g)) return;
    pod_status status = in_out(g, "checkpoint", &dir);
    if (status == POD_OK) status = pod_checkpoint_point_to(dir, step);
    if (status != POD_OK)
        pod_log_say(g->args.log, POD_LOG_WARNING,
                    "resume: 'latest' does not follow to step %" PRId64 ": %s", step,
                    pod_error_text());
}

static pod_status share_past(pod_guard *g)
{
    past p = {.attempt = 1, .begun = g->args.job->begun};
    pod_status mine = POD_OK;
    if (*plan_of(g)->out && is_root(g)) mine = look_back(g, &p);
    POD_TRY(pod_comm_agree(g->args.comm, mine));
    pod_comm_broadcast(g->args.comm, 0, &p, sizeof p);
    g->past = p;
    g->resume = plan_of(g)->resume;
    if (strcmp(g->resume, "auto") == 0) g->resume = p.has_checkpoint ? plan_of(g)->out : "";
    return POD_OK;
}

/* ---- opening -------------------------------------------------------------------------------- */

static pod_status open_log(pod_guard *g)
{
    char host[HOST_BYTES] = "";
    if (!*plan_of(g)->out) return POD_OK;
    (void)gethostname(host, sizeof host - 1);
    const char *host_text = pod_arena_text(g->arena, "%s", host);
    if (!host_text) return POD_E_NOMEM;
    const pod_job_head head = {.attempt = g->past.attempt,
                               .rank = pod_comm_rank(g->args.comm),
                               .ranks = pod_comm_size(g->args.comm),
                               .mesh = g->args.mesh,
                               .model = g->args.model,
                               .data = g->args.data,
                               .host = host_text,
                               .pid = getpid(),
                               .begin = g->args.job->begun};
    POD_TRY(pod_job_writer_open(plan_of(g)->out, &head, &g->writer));
    pod_job_attach(g->args.job, g->writer);
    return POD_OK;
}

static pod_status create(const pod_guard_args *args, pod_guard **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_guard *g = POD_ARENA_NEW(arena, pod_guard, 1);
    if (!g) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    *g = (pod_guard){.args = *args, .arena = arena, .begun = NEVER};
    *out = g;
    return POD_OK;
}

pod_status pod_guard_open(const pod_guard_args *args, pod_guard **out)
{
    pod_guard *g = NULL;
    POD_TRY(pod_comm_agree(args->comm, create(args, &g)));
    pod_status status = share_past(g);
    if (status == POD_OK) status = pod_comm_set_watchdog(args->comm, args->plan->watchdog_s);
    if (status != POD_OK) {
        pod_guard_close(g);
        return status;
    }
    pod_stop_install();
    *out = g;
    return POD_OK;
}

void pod_guard_close(pod_guard *g)
{
    if (!g) return;
    g->args.job->writer = NULL;
    pod_saver_close(g->saver);
    pod_vote_close(g->vote);
    pod_arena_destroy(g->arena);
}

int pod_guard_attempt(const pod_guard *g) { return g->past.attempt; }
pod_stamp pod_guard_job_begun(const pod_guard *g) { return g->past.begun; }
bool pod_guard_goes_on_own(const pod_guard *g) { return g->past.goes_on; }
const char *pod_guard_resume(const pod_guard *g) { return g->resume; }

/* ---- before the first step ------------------------------------------------------------------ */

/* Said before it happens: who dies says nothing afterwards. Of files it comes from the saver's
 * thread, which has its own track for the timeline. */
static void note_file_fault(void *guard, int fault)
{
    pod_guard *g = guard;
    g->struck[fault] = true;
    pod_job_put_fault(g->writer, fault, stamp(g));
}

static void note_fault(void *guard, int fault)
{
    const pod_guard *g = guard;
    const pod_time at = pod_clock_now(g->args.clock);
    note_file_fault(guard, fault);
    pod_timeline_mark(g->timeline, POD_LANE_STEPS, POD_DEED_FAULT, fault, at, at);
}

static pod_injection injection(pod_guard *g, void (*note)(void *guard, int fault))
{
    return (pod_injection){.fault = plan_of(g)->fault,
                           .n_faults = plan_of(g)->n_faults,
                           .spent = g->past.spent,
                           .note = note,
                           .to = g};
}

/* A disk may be as slow as ranks may be late; who waits for ever for those does so for it. */
static double patience_of(const pod_guard_plan *p)
{
    const double least_s = 60, for_ever_s = 1e9;
    if (p->watchdog_s == 0) return for_ever_s;
    return p->watchdog_s > least_s ? p->watchdog_s : least_s;
}

static pod_status open_saver(pod_guard *g, const pod_checkpoint_info *info,
                             const pod_eval_rows *evals, pod_store *store, int64_t first_step)
{
    const pod_guard_plan *p = plan_of(g);
    if (!*p->out) return POD_OK;
    const pod_saver_plan plan = {.dir = pod_arena_text(g->arena, "%s/checkpoint", p->out),
                                 .is_async = p->is_async,
                                 .keep_last = p->keep_last,
                                 .keep_every = p->keep_every,
                                 .keep_best = p->keep_best,
                                 .patience_s = patience_of(p),
                                 .left_from = goes_on_from_own(g) ? first_step + 1 : 0,
                                 .faults = injection(g, note_file_fault),
                                 .evals = evals,
                                 .clock = g->args.clock};
    POD_TRY(pod_comm_agree(g->args.comm, plan.dir ? POD_OK : POD_E_NOMEM));
    POD_TRY(pod_saver_open(&plan, info, store, g->args.comm, &g->saver));
    pod_saver_follow(g->saver, g->timeline);
    return POD_OK;
}

/* goodput.json is rank 0's. */
static pod_status open_live(pod_guard *g)
{
    const pod_guard_args *a = &g->args;
    if (!*plan_of(g)->out || !is_root(g)) return POD_OK;
    const char *path;
    POD_TRY(in_out(g, "goodput.json", &path));
    const pod_goodput_live_plan plan = {.path = path,
                                        .clock = "wall",
                                        .machine = a->machine,
                                        .dir = plan_of(g)->out,
                                        .attempt = g->past.attempt,
                                        .ideal = *a->ideal};
    return pod_goodput_live_open(&plan, a->job, &g->live);
}

static int64_t ideal_of(const pod_guard *g)
{
    const double ps = 1e12 * pod_ideal_step_s(g->args.ideal), most = 1e18;
    return ps >= 1 && ps < most ? llround(ps) : 0;
}

pod_status pod_guard_arm(pod_guard *g, const pod_checkpoint_info *info, const pod_eval_rows *evals,
                         pod_store *store, pod_exec *exec, pod_timeline *tl, int64_t first_step)
{
    pod_comm *comm = g->args.comm;
    const pod_time now = pod_clock_now(g->args.clock);
    g->timeline = tl;
    g->evals = evals;
    POD_TRY(pod_comm_agree(comm, clear_folder(g)));
    tell_anew(g);
    turn_back(g, first_step);
    POD_TRY(pod_comm_agree(comm, open_log(g)));
    pod_timeline_mark(tl, POD_LANE_STEPS, POD_DEED_ATTEMPT, g->past.attempt, now, now);
    pod_job_from(g->args.job, first_step, ideal_of(g), stamp(g));
    POD_TRY(open_saver(g, info, evals, store, first_step));
    g->faults = injection(g, note_fault);
    g->store = store;
    g->exec = exec;
    POD_TRY(pod_comm_agree(comm, open_live(g)));
    return pod_vote_open(comm, &g->vote);
}

/* ---- round each step ------------------------------------------------------------------------ */

static void save(pod_guard *g, int64_t step)
{
    pod_job_begin(g->args.job, POD_JOB_SAVE, stamp(g));
    pod_saver_begin(g->saver, step);
    pod_job_save_begin(g->args.job);
    pod_job_end(g->args.job, POD_JOB_SAVE, stamp(g));
    g->begun = step;
}

/* What the saver's thread has come to since the last look. */
static void note_whole(pod_guard *g)
{
    pod_saver_whole whole;
    while (pod_saver_next_whole(g->saver, &whole))
        pod_job_keep_step(g->args.job, whole.step, whole.at);
}

static void tell_failure(pod_guard *g)
{
    const char *failure = pod_saver_failure(g->saver);
    if (failure) pod_log_say(g->args.log, POD_LOG_WARNING, "%s", failure);
}

void pod_guard_before_step(pod_guard *g, int64_t step)
{
    pod_comm_set_step(g->args.comm, step);
    pod_inject(&g->faults, pod_comm_rank(g->args.comm), step, g->store, g->exec, g->is_slowed);
}

bool pod_guard_after_step(pod_guard *g, int64_t step)
{
    const int64_t every = plan_of(g)->save_every;
    const bool is_due = every > 0 && step % every == 0;
    const bool is_best = plan_of(g)->keep_best && pod_eval_rows_end_best(g->evals, step);
    if (g->saver && (is_due || is_best)) save(g, step);
    if (g->saver) {
        note_whole(g);
        tell_failure(g);
    }
    pod_goodput_live_at(g->live, g->args.job, stamp(g));
    return pod_vote_turn(g->vote, pod_stop_asked()) != 0;
}

/* ---- after the last step -------------------------------------------------------------------- */

pod_status pod_guard_finish(pod_guard *g, int64_t step, bool went_well)
{
    if (!g->saver) return POD_OK;
    if (went_well && g->begun != step) save(g, step);
    /* Of a run that failed the time is no save's where none is under way. */
    const bool is_save = went_well || pod_saver_is_busy(g->saver);
    if (is_save) pod_job_begin(g->args.job, POD_JOB_SAVE, stamp(g));
    const pod_status saved = pod_saver_finish(g->saver);
    if (is_save) pod_job_end(g->args.job, POD_JOB_SAVE, stamp(g));
    note_whole(g);
    /* What the run ends with is told once, as that. */
    if (went_well && saved != POD_OK) return saved;
    tell_failure(g);
    return POD_OK;
}

/* Of a job that is done: what was asked for and never came due, in one line. Collective. */
static void tell_not_struck(const pod_guard *g)
{
    const pod_guard_plan *p = plan_of(g);
    double struck[POD_MAX_FAULTS] = {0};
    char text[POD_FAULT_TEXT_BYTES];
    const char *all = "";
    for (int i = 0; i < p->n_faults; i++) struck[i] = g->struck[i] || g->past.spent[i];
    if (p->n_faults > 0) pod_comm_max(g->args.comm, struck, p->n_faults);
    for (int i = 0; i < p->n_faults && all; i++)
        if (struck[i] == 0)
            all = pod_arena_text(g->arena, "%s%s%s", all, *all ? ";" : "",
                                 pod_fault_print(&p->fault[i], text));
    if (all && *all)
        pod_log_say(g->args.log, POD_LOG_WARNING, "fault: the job is done and was not struck by %s",
                    all);
}

void pod_guard_end(pod_guard *g, pod_job_end_kind kind, const char *text)
{
    if (kind == POD_JOB_END_OK) tell_not_struck(g);
    pod_job_put_end(g->writer, kind, text, stamp(g));
    g->args.job->writer = NULL;
    pod_status logged = pod_job_writer_close(g->writer);
    const pod_status lived = pod_goodput_live_close(g->live);
    g->writer = NULL;
    g->live = NULL;
    if (logged == POD_OK) logged = lived;
    if (pod_comm_agree(g->args.comm, logged) != POD_OK)
        pod_log_say(g->args.log, POD_LOG_WARNING, "the job's log is not whole: %s",
                    pod_error_text());
}
