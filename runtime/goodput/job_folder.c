/* The folder of a job's log: names of files, and how the log of an older job makes room for a newer
 * one's. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/goodput/job_file.h"
#include "runtime/goodput/job_line.h"

/* ---- names ----------------------------------------------------------------------------------- */

const char *pod_job_name_print(pod_job_name n, char text[POD_JOB_NAME_BYTES])
{
    snprintf(text, POD_JOB_NAME_BYTES, "attempt-%03d.rank-%04d.jsonl", n.attempt, n.rank);
    return text;
}

bool pod_job_name_parse(const char *text, pod_job_name *out)
{
    char again[POD_JOB_NAME_BYTES];
    pod_job_name n;
    if (sscanf(text, "attempt-%7d.rank-%7d.jsonl", &n.attempt, &n.rank) != 2) return false;
    if (n.attempt < 1 || n.attempt > POD__JOB_MAX_ATTEMPTS || n.rank < 0) return false;
    if (strcmp(text, pod_job_name_print(n, again)) != 0) return false;
    *out = n;
    return true;
}

bool pod_job_has_file(const char *name)
{
    pod_job_name n;
    return pod_job_name_parse(name, &n) || strcmp(name, "launch.jsonl") == 0;
}

static int is_part(const struct dirent *e)
{
    pod_job_name n;
    return pod_job_name_parse(e->d_name, &n);
}

static int by_attempt(const struct dirent **a, const struct dirent **b)
{
    pod_job_name x = {0}, y = {0};
    (void)pod_job_name_parse((*a)->d_name, &x);
    (void)pod_job_name_parse((*b)->d_name, &y);
    if (x.attempt != y.attempt) return x.attempt < y.attempt ? -1 : 1;
    return (x.rank > y.rank) - (x.rank < y.rank);
}

void pod__job_list_free(struct dirent **name, int n)
{
    for (int i = 0; i < n; i++) free(name[i]);
    free(name);
}

pod_status pod__job_list(const char *dir, struct dirent ***name, int *n)
{
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(dir, "job", path));
    *n = scandir(path, name, is_part, by_attempt);
    if (*n < 0) return pod_fail(POD_E_IO, "%s: no job log: %s", path, strerror(errno));
    return POD_OK;
}

static bool has_folder(const char *dir)
{
    char path[POD_PATH_BYTES];
    struct stat st;
    return pod_path_join(dir, "job", path) == POD_OK && stat(path, &st) == 0;
}

static pod_status remove_file(const char *folder, const char *file)
{
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(folder, file, path));
    if (unlink(path) == 0 || errno == ENOENT) return POD_OK;
    return pod_fail(POD_E_IO, "%s: cannot be removed: %s", path, strerror(errno));
}

static pod_status move(const char *from, const char *to)
{
    if (rename(from, to) == 0) return POD_OK;
    return pod_fail(POD_E_IO, "%s: cannot be renamed to %s: %s", from, to, strerror(errno));
}

/* ---- attempts -------------------------------------------------------------------------------- */

pod_status pod_job_last_attempt(const char *dir, int *last)
{
    struct dirent **name;
    int n, launched;
    pod_job_name newest = {0};
    *last = 0;
    if (!has_folder(dir)) return POD_OK;
    POD_TRY(pod__job_list(dir, &name, &n));
    if (n > 0) (void)pod_job_name_parse(name[n - 1]->d_name, &newest);
    pod__job_list_free(name, n);
    POD_TRY(pod__job_last_launched(dir, &launched));
    *last = launched > newest.attempt ? launched : newest.attempt;
    return POD_OK;
}

static pod_status check_no_launcher(const char *folder)
{
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(folder, "launch.jsonl", path));
    return pod_launch_file_check(path);
}

pod_status pod_job_clear(const char *dir)
{
    char folder[POD_PATH_BYTES];
    struct dirent **name;
    int n;
    POD_TRY(pod_path_join(dir, "job", folder));
    POD_TRY(pod_dir_make(folder));
    POD_TRY(check_no_launcher(folder));
    POD_TRY(pod__job_list(dir, &name, &n));
    pod_status status = remove_file(folder, "launch.jsonl");
    for (int i = 0; i < n && status == POD_OK; i++) status = remove_file(folder, name[i]->d_name);
    pod__job_list_free(name, n);
    return status;
}

/* ---- an older job's, until a newer one has begun --------------------------------------------- */

typedef struct places {
    char job[POD_PATH_BYTES], aside[POD_PATH_BYTES];
    int n_parts;   /* in job */
    bool is_aside; /* there is something */
} places;

static pod_status find_places(const char *dir, places *at)
{
    struct dirent **name;
    *at = (places){.n_parts = 0};
    POD_TRY(pod_path_join(dir, "job", at->job));
    POD_TRY(pod_path_join(dir, "job.until-begun", at->aside));
    at->is_aside = access(at->aside, F_OK) == 0;
    if (!at->is_aside && !has_folder(dir)) return POD_OK;
    POD_TRY(pod_dir_make(at->job));
    POD_TRY(pod__job_list(dir, &name, &at->n_parts));
    pod__job_list_free(name, at->n_parts);
    return POD_OK;
}

/* What is no log's is the person's, and stays in the job's folder. */
static pod_status drop_one(const places *at, const char *name)
{
    char from[POD_PATH_BYTES], to[POD_PATH_BYTES];
    if (pod_job_has_file(name)) return remove_file(at->aside, name);
    POD_TRY(pod_path_join(at->aside, name, from));
    POD_TRY(pod_path_join(at->job, name, to));
    return move(from, to);
}

static pod_status drop_aside(const places *at)
{
    DIR *dir = opendir(at->aside);
    if (!dir) return pod_fail(POD_E_IO, "%s: %s", at->aside, strerror(errno));
    pod_status status = POD_OK;
    for (const struct dirent *e; status == POD_OK && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            status = drop_one(at, e->d_name);
    closedir(dir);
    if (status == POD_OK && rmdir(at->aside) != 0)
        status = pod_fail(POD_E_IO, "%s: cannot be removed: %s", at->aside, strerror(errno));
    return status;
}

pod_status pod_job_put_aside(const char *dir)
{
    places at;
    POD_TRY(find_places(dir, &at));
    if (at.n_parts == 0) return pod_job_clear(dir); /* nobody began it */
    POD_TRY(check_no_launcher(at.job));
    if (at.is_aside) POD_TRY(drop_aside(&at));
    return move(at.job, at.aside);
}

pod_status pod_job_settle(const char *dir)
{
    places at;
    POD_TRY(find_places(dir, &at));
    if (!at.is_aside) return POD_OK;
    if (at.n_parts > 0) return drop_aside(&at);
    POD_TRY(pod_job_clear(dir));
    (void)rmdir(at.job);
    return move(at.aside, at.job);
}
