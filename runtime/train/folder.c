/* What the run's folder has from before: which attempt this is, what earlier ones left, and what goes
 * out of the way as this one begins. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/disk.h"
#include "runtime/checkpoint/write.h"
#include "runtime/core/file.h"
#include "runtime/goodput/job_file.h"
#include "runtime/train/trainer.h"

static bool is_root(const pod__trainer *t) { return pod_comm_rank(t->args->comm) == 0; }

static bool same_place(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static pod_status in_out(const pod__trainer *t, const char *name, const char **path)
{
    *path = pod_arena_text(t->result->arena, "%s/%s", t->args->guard->out, name);
    return *path ? POD_OK : POD_E_NOMEM;
}

static pod_status find_checkpoint(const pod__trainer *t, bool *found)
{
    const char *path;
    pod_checkpoint_list list;
    POD_TRY(in_out(t, "checkpoint", &path));
    POD_TRY(pod_dir_make(path));
    POD_TRY(pod_checkpoint_find(path, t->result->arena, NULL, &list));
    *found = list.n > 0;
    return POD_OK;
}

/* A new job does not go on from an old one's checkpoints by mistake, nor delete them. */
static pod_status put_aside(const pod__trainer *t)
{
    const char *path, *aside;
    char named[POD_DISK_PATH_BYTES];
    POD_TRY(in_out(t, "checkpoint", &path));
    POD_TRY(in_out(t, "checkpoint.old", &aside));
    pod_disk disk = {0};
    POD_TRY(pod_disk_put_aside(&disk, path, aside, named));
    pod_log_say(t->args->log, POD_LOG_INFO, "checkpoints of an earlier run are in %s", named);
    return pod_dir_make(path);
}

static pod_status read_log(const pod__trainer *t, pod__past *p)
{
    pod_job job;
    POD_TRY(pod_job_read(t->result->arena, t->args->guard->out, &job));
    if (job.launch_begin && job.launch_begin < p->begun) p->begun = job.launch_begin;
    for (int i = 0; i < job.n_parts; i++) {
        const pod_job_part *part = &job.part[i];
        if (part->head.rank == 0 && part->head.begin < p->begun) p->begun = part->head.begin;
        for (int64_t k = 0; k < part->n_kept; k++)
            if (part->kept[k] > p->kept) p->kept = part->kept[k];
        for (int64_t k = 0; k < part->n_faults; k++)
            if (part->fault[k] >= 0 && part->fault[k] < POD_MAX_FAULTS)
                p->spent[part->fault[k]] = true;
    }
    return POD_OK;
}

bool pod_guard_goes_on(const char *resume, const char *out)
{
    char checkpoints[POD_DISK_PATH_BYTES];
    if (strcmp(resume, "auto") == 0) return true;
    return *resume && pod_disk_path(checkpoints, "%s/checkpoint", out) == POD_OK &&
           (same_place(resume, out) || pod_path_is_within(resume, checkpoints));
}

static bool goes_on(const pod_guard_plan *plan)
{
    return pod_guard_goes_on(plan->resume, plan->out);
}

static pod_status look_back(const pod__trainer *t, pod__past *p)
{
    const pod_guard_plan *plan = t->args->guard;
    int last = 0;
    POD_TRY(pod_job_last_attempt(plan->out, &last));
    POD_TRY(find_checkpoint(t, &p->has_checkpoint));
    p->attempt = plan->attempt > 0 ? plan->attempt : goes_on(plan) ? last + 1 : 1;
    p->goes_on = p->attempt > 1 && goes_on(plan);
    const bool is_of_job = p->attempt > 1 || plan->attempt > 0;
    return is_of_job && last > 0 ? read_log(t, p) : POD_OK;
}

/* What is another job's goes out of the way. */
static pod_status clear_folder(const pod__trainer *t)
{
    const pod_guard_plan *plan = t->args->guard;
    const char *job;
    if (!*plan->out || !is_root(t)) return POD_OK;
    POD_TRY(in_out(t, "job", &job));
    POD_TRY(pod_dir_make(job));
    if (plan->attempt == 0 && t->past.attempt == 1) POD_TRY(pod_job_clear(plan->out));
    return t->past.has_checkpoint && !goes_on(plan) ? put_aside(t) : POD_OK;
}

/* What --resume auto finds nothing of begins anew, and who expected more is told. Nothing is
 * expected where no checkpoint was ever whole. */
static void tell_anew(const pod__trainer *t)
{
    const pod_guard_plan *plan = t->args->guard;
    const char *aside;
    char kept[64] = "", old[POD_DISK_PATH_BYTES + 64] = "";
    struct stat st;
    if (!*plan->out || !is_root(t) || *t->resume || strcmp(plan->resume, "auto") != 0) return;
    if (t->past.kept > 0)
        snprintf(kept, sizeof kept, "the job's log tells of one of step %" PRId64, t->past.kept);
    if (in_out(t, "checkpoint.old", &aside) == POD_OK && stat(aside, &st) == 0)
        snprintf(old, sizeof old, "%s has those of an earlier run", aside);
    if (*kept || *old)
        pod_log_say(t->args->log, POD_LOG_WARNING,
                    "resume: auto found no checkpoint in %s/checkpoint, but %s%s%s: the job begins "
                    "anew",
                    plan->out, kept, *kept && *old ? ", and " : "", old);
}

bool pod__folder_is_resumed(const pod__trainer *t)
{
    return *t->args->guard->out && *t->resume && goes_on(t->args->guard);
}

/* It goes on from an earlier checkpoint of its folder than `latest`, by its name or since the
 * others are damaged: so shall an attempt that follows before the next save. */
static void turn_back(const pod__trainer *t)
{
    const int64_t step = t->result->first_step;
    const char *dir;
    if (!is_root(t) || !pod__folder_is_resumed(t)) return;
    pod_status status = in_out(t, "checkpoint", &dir);
    if (status == POD_OK) status = pod_checkpoint_point_to(dir, step);
    if (status != POD_OK)
        pod_log_say(t->args->log, POD_LOG_WARNING,
                    "resume: 'latest' does not follow to step %" PRId64 ": %s", step,
                    pod_error_text());
}

pod_status pod__folder_look_back(pod__trainer *t)
{
    pod__past p = {.attempt = 1, .begun = t->args->job->begun};
    pod_status mine = POD_OK;
    if (*t->args->guard->out && is_root(t)) mine = look_back(t, &p);
    POD_TRY(pod_comm_agree(t->args->comm, mine));
    pod_comm_broadcast(t->args->comm, 0, &p, sizeof p);
    t->past = p;
    t->resume = t->args->guard->resume;
    if (strcmp(t->resume, "auto") == 0) t->resume = p.has_checkpoint ? t->args->guard->out : "";
    return POD_OK;
}

pod_status pod__folder_begin(pod__trainer *t)
{
    POD_TRY(pod_comm_agree(t->args->comm, clear_folder(t)));
    tell_anew(t);
    turn_back(t);
    return POD_OK;
}
