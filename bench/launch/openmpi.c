#define _XOPEN_SOURCE 700 /* nftw */
#include <ctype.h>
#include <dirent.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/launch/launch.h"

enum { FAMILY_SHIFT = 16 };

/* ---- environment ---- */

static pod_status set(const char *name, const char *value)
{
    if (setenv(name, value, 0) == 0) return POD_OK;
    return pod_fail(POD_E_NOMEM, "mpirun: no memory for the environment");
}

pod_status pod_mpirun_as_root(void)
{
    if (geteuid() != 0) return POD_OK;
    POD_TRY(set("OMPI_ALLOW_RUN_AS_ROOT", "1"));
    return set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
}

pod_status pod_mpirun_share_cores(void)
{
    POD_TRY(set("OMPI_MCA_rmaps_base_oversubscribe", "1"));                  /* version 4 */
    POD_TRY(set("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")); /* version 5 */
    return set("OMPI_MCA_mpi_yield_when_idle", "1");
}

pod_status pod_launch_self(pod_arena *a, const char **out)
{
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return pod_fail(POD_E_IO, "/proc/self/exe: this program cannot be found");
    path[n] = '\0';
    if (access(path, X_OK) != 0) return pod_fail(POD_E_IO, "%s: cannot be started again", path);
    *out = pod_arena_text(a, "%s", path);
    return *out ? POD_OK : POD_E_NOMEM;
}

/* ---- processes ---- */

/* The kernel grants a view of the environment of a process to its owner. */
static bool is_marked(const char *pid, const char *entry)
{
    char path[64], *text = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    FILE *f = fopen(path, "r");
    while (f && !found && getdelim(&text, &room, '\0', f) > 0) found = strcmp(text, entry) == 0;
    free(text);
    if (f) fclose(f);
    return found;
}

static int kill_once(const char *entry)
{
    DIR *dir = opendir("/proc");
    if (!dir) return 0;
    int n = 0;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (!isdigit((unsigned char)e->d_name[0]) || !is_marked(e->d_name, entry)) continue;
        const pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid != getpid() && kill(pid, SIGKILL) == 0) n++;
    }
    closedir(dir);
    return n;
}

/* Between fork and the end of exec a process may have no environment to look at, or come into the list
 * behind the reader: so nobody is there when two looks in a row find none. */
void pod_launch_kill_marked(const char *entry)
{
    enum { LOOKS = 100 };
    const struct timespec between = {.tv_nsec = 50000000};
    for (int i = 0, quiet = 0; i < LOOKS && quiet < 2; i++) {
        if (i > 0) nanosleep(&between, NULL);
        quiet = kill_once(entry) == 0 ? quiet + 1 : 0;
    }
}

/* ---- names ---- */

/* What Open MPI calls memory that ranks share: PREFIX.HOST[.UID].JOB.N..., JOB in hex. */
static const struct {
    const char *prefix;
    int n_behind; /* fields after the job */
} shared[] = {{"vader_segment.", 1}, {"sm_segment.", 1}, {"osc_sm.", 2}, {"osc_rdma.", 1}};

static bool is_job(const char *field, size_t length, uint32_t family)
{
    enum { MAX_DIGITS = 8 };
    char hex[MAX_DIGITS + 1] = "";
    if (length == 0 || length > MAX_DIGITS) return false;
    memcpy(hex, field, length);
    if (strspn(hex, "0123456789abcdef") != length) return false;
    return strtoul(hex, NULL, 16) >> FAMILY_SHIFT == family;
}

bool pod_launch_is_left_by(const char *name, uint32_t family)
{
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        const size_t n = strlen(shared[i].prefix);
        if (strncmp(name, shared[i].prefix, n) != 0) continue;
        const char *begin = name + n, *end = name + strlen(name);
        int dots = 0;
        for (const char *p = end; p > begin; p--) {
            if (p[-1] != '.') continue;
            if (dots++ == shared[i].n_behind) return is_job(p, (size_t)(end - p), family);
            if (dots == shared[i].n_behind) end = p - 1;
        }
    }
    return false;
}

bool pod_launch_family_of(const char *contact, uint32_t *family)
{
    char *end;
    if (!isdigit((unsigned char)contact[0])) return false;
    const unsigned long long job = strtoull(contact, &end, 10);
    if (*end != '.' || job > UINT32_MAX) return false;
    *family = (uint32_t)job >> FAMILY_SHIFT;
    return true;
}

/* Jenkins' one-at-a-time hash. */
static uint32_t hash_of(const char *text)
{
    uint32_t h = 0;
    for (const char *p = text; *p != '\0'; p++) {
        h += (unsigned char)*p;
        h += h << 10;
        h ^= h >> 6;
    }
    h += h << 3;
    h ^= h >> 11;
    return h + (h << 15);
}

/* The folder is prterun.HOST.PID.UID, and the name that is hashed prterun-HOST-PID
 * (opal/mca/pmix/base/pmix_base_fns.c, opal_pmix_convert_nspace). */
bool pod_launch_family_of_session(const char *folder, pid_t mpirun, uid_t user, uint32_t *family)
{
    enum { NAME_BYTES = 256 };
    static const char begin[] = "prterun.";
    char end[64], name[NAME_BYTES + 32];
    const size_t n_end =
        (size_t)snprintf(end, sizeof end, ".%ld.%lu", (long)mpirun, (unsigned long)user);
    const size_t n = strlen(folder), n_begin = sizeof begin - 1;
    if (n >= NAME_BYTES || n <= n_begin + n_end || strncmp(folder, begin, n_begin) != 0 ||
        strcmp(folder + n - n_end, end) != 0)
        return false;
    snprintf(name, sizeof name, "prterun-%.*s-%ld", (int)(n - n_begin - n_end), folder + n_begin,
             (long)mpirun);
    const uint32_t hash = hash_of(name);
    *family = (hash >> 16) ^ (hash & 0xffff);
    return true;
}

/* ---- files ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

static bool is_own(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && st.st_uid == geteuid();
}

static void remove_shared(uint32_t family)
{
    static const char shm[] = "/dev/shm";
    DIR *dir = opendir(shm);
    if (!dir) return;
    for (const struct dirent *e; (e = readdir(dir));) {
        char path[sizeof shm + sizeof e->d_name];
        snprintf(path, sizeof path, "%s/%s", shm, e->d_name);
        if (pod_launch_is_left_by(e->d_name, family) && is_own(path)) (void)unlink(path);
    }
    closedir(dir);
}

/* Of Open MPI 4 the session says of which family it was. */
static bool read_family(const char *session, pid_t mpirun, uint32_t *family)
{
    char path[PATH_MAX], contact[256] = "";
    const char *slash = strrchr(session, '/');
    if (pod_launch_family_of_session(slash + 1, mpirun, geteuid(), family)) return true;
    snprintf(path, sizeof path, "%s/contact.txt", session);
    FILE *f = fopen(path, "r");
    const bool found = f && fgets(contact, sizeof contact, f);
    if (f) fclose(f);
    return found && pod_launch_family_of(contact, family);
}

/* Where Open MPI keeps its sessions' folders, in the order in which it asks. */
static const char *sessions_base(void)
{
    static const char *const names[] = {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base",
                                        "TMPDIR", "TEMP", "TMP"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *path = getenv(names[i]);
        if (path && path[0] != '\0') return path;
    }
    return "/tmp";
}

/* The session's folder and, with Open MPI 4, the one above it must be this user's: so no link of
 * somebody else leads to another place. */
static void sweep_session(const char *session, pid_t mpirun)
{
    enum { MAX_OPEN = 8 };
    char above[PATH_MAX];
    uint32_t family;
    snprintf(above, sizeof above, "%.*s", (int)(strrchr(session, '/') - session), session);
    const bool is_within_own = strcmp(above, sessions_base()) == 0 || is_own(above);
    if (!is_within_own || !is_own(session)) return;
    if (read_family(session, mpirun, &family)) remove_shared(family);
    (void)nftw(session, remove_one, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
}

void pod_launch_sweep(pid_t mpirun)
{
    const unsigned long user = geteuid();
    const long pid = mpirun;
    char pattern[2][PATH_MAX];
    snprintf(pattern[0], sizeof pattern[0], "%s/ompi.*.%lu/pid.%ld", sessions_base(), user, pid);
    snprintf(pattern[1], sizeof pattern[1], "%s/prterun.*.%ld.%lu", sessions_base(), pid, user);
    for (int i = 0; i < 2; i++) {
        glob_t found;
        if (glob(pattern[i], GLOB_NOSORT, NULL, &found) != 0) continue;
        for (size_t k = 0; k < found.gl_pathc; k++) sweep_session(found.gl_pathv[k], mpirun);
        globfree(&found);
    }
}
