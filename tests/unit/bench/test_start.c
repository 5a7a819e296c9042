/* What is said of a start: environments of one of several programs that a launcher started, a start of
 * MPI that took long. */
#include "bench/start.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/harness.h"

static const char *env; /* "NAME=value NAME=value " */

static char *find(const char *name)
{
    static char value[64];
    char key[64];
    snprintf(key, sizeof key, "%s=", name);
    for (const char *at = env; *at; at += strcspn(at, " ") + 1)
        if (strncmp(at, key, strlen(key)) == 0) {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(at, " ") - (int)strlen(key),
                     at + strlen(key));
            return value;
        }
    return NULL;
}

static void launchers(void)
{
    static const struct {
        const char *env, *want; /* NULL: nothing is said */
    } cases[] = {
        {"SLURM_NTASKS=4 SLURM_PROCID=1 PMI_SIZE=4 PMI_RANK=1 ", "SLURM_NTASKS says 4"},
        {"SLURM_NTASKS=4 SLURM_PROCID=0 PMI_SIZE=4 PMI_RANK=0 ", "PMI_SIZE says 4"},
        {"SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=2 ", "SLURM_NTASKS says 4"},
        {"SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0 ", "SLURM_STEP_NUM_TASKS says 3"},
        {"OMPI_COMM_WORLD_SIZE=2 ", "OMPI_COMM_WORLD_SIZE says 2"},
        {"MPI_LOCALNRANKS=8 ", "MPI_LOCALNRANKS says 8"},
        {"PMIX_RANK=3 ", "PMIX_RANK says 3"},
        {"", NULL},
        {"SLURM_NTASKS=4 ", NULL},                                         /* salloc */
        {"SLURM_NTASKS=4 SLURM_PROCID=0 ", NULL},                          /* sbatch */
        {"SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=4294967291 ", NULL}, /* likewise */
        {"SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_ID=4294967290 ", NULL},
        {"SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2 OMPI_COMM_WORLD_SIZE=1 ", NULL}, /* mpirun -n 1 */
        {"PMI_SIZE=1 PMI_RANK=0 PMIX_RANK=0 ", NULL},
        {"PMI_SIZE=many ", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128] = "";
        env = cases[i].env;
        const bool is = pod_other_launcher(find, text, sizeof text);
        POD_CHECK(is == (cases[i].want != NULL) && (!is || strstr(text, cases[i].want)),
                  "'%s': '%s'", env, text);
    }
}

static const struct {
    double seconds;
    const char *hosts; /* NULL: there is no such file */
    bool says;
} starts[] = {
    {4, NULL, false},
    {12, NULL, true},
    {12, "", true},
    {12, "127.0.0.1 localhost\n127.0.1.1 node7\n", false},
    {12, "127.0.0.1\tlocalhost node7.example.org node7", false},
    {12, "127.0.0.1 localhost # node7\n#127.0.1.1 node7\n", true},
    {12, "127.0.0.1 node7.example.org node77\nnode7 localhost\n", true},
    {4, "127.0.0.1 localhost\n", false},
};

static void by_hosts(void)
{
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        char path[] = "/tmp/minipod-hosts-XXXXXX", text[POD_SLOW_START_BYTES] = "";
        const int fd = mkstemp(path);
        POD_CHECK(fd >= 0, "no temporary file");
        const char *hosts = starts[i].hosts ? starts[i].hosts : "";
        POD_CHECK(write(fd, hosts, strlen(hosts)) == (ssize_t)strlen(hosts), "%s", path);
        close(fd);
        if (!starts[i].hosts) remove(path);
        POD_CHECK(pod_slow_start(starts[i].seconds, "node7", path, text) == starts[i].says,
                  "%zu: '%s'", i, text);
        POD_CHECK(!starts[i].says || (strstr(text, "took 12 s") && strstr(text, path) &&
                                      strstr(text, "'127.0.1.1 node7'")),
                  "%zu: '%s'", i, text);
        remove(path);
    }
}

POD_TEST_SUITE("bench.start", {"launchers", launchers}, {"by_hosts", by_hosts});
