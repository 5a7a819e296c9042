#include "bench/start.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of steps that Slurm numbers so are a batch script and the shell of salloc. */
static const int64_t first_special_step = 0xfffffff0;

static int64_t number(pod_env_find *find, const char *name, int64_t otherwise)
{
    const char *text = find(name);
    char *end;
    if (!text || !*text) return otherwise;
    const long long value = strtoll(text, &end, 10);
    return *end == '\0' ? value : otherwise;
}

/* A batch script has a SLURM_PROCID, 0, and the number of tasks that srun would start. */
static const char *slurm_size(pod_env_find *find)
{
    const int64_t step = number(find, "SLURM_STEP_ID", first_special_step);
    const bool is_task =
        number(find, "SLURM_PROCID", 0) > 0 || (find("SLURM_PROCID") && step < first_special_step);
    if (find("SLURM_STEP_NUM_TASKS")) return "SLURM_STEP_NUM_TASKS";
    return is_task ? "SLURM_NTASKS" : NULL;
}

bool pod_other_launcher(pod_env_find *find, char *text, size_t bytes)
{
    const char *const names[] = {slurm_size(find),      "PMI_SIZE",        "OMPI_COMM_WORLD_SIZE",
                                 "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "JSM_NAMESPACE_SIZE",
                                 "FLUX_JOB_SIZE"};
    static const char *const ranks[] = {"PMIX_RANK", "PMI_RANK", "PALS_RANKID"};
    const char *found = NULL;
    if (number(find, "OMPI_COMM_WORLD_SIZE", 0) == 1) return false; /* mpirun started one */
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; i++)
        if (names[i] && number(find, names[i], 1) > 1) found = names[i];
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0] && !found; i++)
        if (number(find, ranks[i], 0) > 0) found = ranks[i];
    if (found)
        snprintf(text, bytes, "1 rank, but %s says %s: was it started with this MPI's mpirun?",
                 found, find(found));
    return found;
}

/* ---- a start that took long ---- */

static const double long_s = 5; /* name servers are given so long for one answer: resolv.conf(5) */

/* A line is an address and names; # begins a comment. */
static bool line_has(char *line, const char *name)
{
    char *rest = NULL;
    line[strcspn(line, "#")] = '\0';
    const char *word = strtok_r(line, " \t\n", &rest);
    while (word && (word = strtok_r(NULL, " \t\n", &rest)))
        if (strcmp(word, name) == 0) return true;
    return false;
}

static bool is_in_hosts(const char *name, const char *path)
{
    char line[1024];
    bool found = false;
    FILE *f = fopen(path, "r");
    if (!f) return false;
    while (!found && fgets(line, sizeof line, f)) found = line_has(line, name);
    fclose(f);
    return found;
}

bool pod_slow_start(double seconds, const char *hostname, const char *hosts_path,
                    char text[POD_SLOW_START_BYTES])
{
    if (seconds < long_s || is_in_hosts(hostname, hosts_path)) return false;
    snprintf(text, POD_SLOW_START_BYTES,
             "MPI took %.0f s to start: Open MPI looks up the name of this host, and %s has no "
             "'%s'; if no name server knows it either, add a line '127.0.1.1 %s' there",
             seconds, hosts_path, hostname, hostname);
    return true;
}
