#include "bench/launch/sweep.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FAMILY_SHIFT = 16, CONTACT_BYTES = 256, MAX_DEPTH = 8 };

/* ---- processes ---- */

/* The environment of a process, of which the kernel grants a view to its owner. */
static char *read_environment(const char *pid, size_t *n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    enum { CHUNK = 1 << 16 };
    char *text = NULL;
    ssize_t got = 1;
    for (*n = 0; got > 0; *n += got > 0 ? (size_t)got : 0) {
        char *more = realloc(text, *n + CHUNK);
        if (!more) break;
        text = more;
        got = read(fd, text + *n, CHUNK);
    }
    close(fd);
    return text;
}

static bool is_marked(const char *pid, const char *entry)
{
    size_t n = 0;
    const size_t length = strlen(entry);
    char *text = read_environment(pid, &n);
    bool found = false;
    for (size_t at = 0; text && at + length <= n && !found;) {
        const size_t rest = n - at, own = strnlen(text + at, rest);
        found = own == length && memcmp(text + at, entry, length) == 0;
        at += own + 1;
    }
    free(text);
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
int pod_launch_kill_marked(const char *entry)
{
    enum { LOOKS = 100 };
    const struct timespec between = {.tv_nsec = 50000000};
    int most = 0;
    for (int i = 0, quiet = 0; i < LOOKS && quiet < 2; i++) {
        if (i > 0) nanosleep(&between, NULL);
        const int n = kill_once(entry);
        quiet = n == 0 ? quiet + 1 : 0;
        if (n > most) most = n;
    }
    return most;
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

/* A folder with all that is in it; links are not followed. */
static int remove_tree(int at, const char *name, int depth)
{
    if (unlinkat(at, name, 0) == 0) return 1;
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0) close(fd);
        return 0;
    }
    int n = 0;
    for (const struct dirent *e; depth < MAX_DEPTH && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            n += remove_tree(fd, e->d_name, depth + 1);
    closedir(dir);
    return n + (unlinkat(at, name, AT_REMOVEDIR) == 0);
}

static int remove_shared(uint32_t family)
{
    DIR *dir = opendir("/dev/shm");
    if (!dir) return 0;
    int n = 0;
    struct stat st;
    for (const struct dirent *e; (e = readdir(dir));)
        if (pod_launch_is_left_by(e->d_name, family) &&
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid())
            n += unlinkat(dirfd(dir), e->d_name, 0) == 0;
    closedir(dir);
    return n;
}

static bool read_family(int session, uint32_t *family)
{
    char contact[CONTACT_BYTES] = "";
    const int fd = openat(session, "contact.txt", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    const bool found = read(fd, contact, sizeof contact - 1) > 0;
    close(fd);
    return found && pod_launch_family_of(contact, family);
}

static int open_own_folder(int at, const char *name)
{
    struct stat st;
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &st) == 0 && st.st_uid == geteuid())) return fd;
    close(fd);
    return -1;
}

/* `sessions` is a folder like ompi.HOST.UID. */
static int sweep_session(int base, const char *sessions, pid_t mpirun)
{
    char name[32];
    snprintf(name, sizeof name, "pid.%ld", (long)mpirun);
    const int all = open_own_folder(base, sessions);
    if (all < 0) return 0;
    int n = 0;
    uint32_t family;
    const int session = open_own_folder(all, name);
    if (session >= 0) {
        if (read_family(session, &family)) n += remove_shared(family);
        close(session);
        n += remove_tree(all, name, 0);
    }
    close(all);
    return n;
}

/* The same of Open MPI 5. */
static int sweep_folder(int base, const char *folder, pid_t mpirun)
{
    uint32_t family;
    if (!pod_launch_family_of_session(folder, mpirun, geteuid(), &family)) return 0;
    const int session = open_own_folder(base, folder);
    if (session < 0) return 0;
    close(session);
    return remove_shared(family) + remove_tree(base, folder, 0);
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

int pod_launch_sweep(pid_t mpirun)
{
    char own[32];
    snprintf(own, sizeof own, ".%lu", (unsigned long)geteuid());
    DIR *dir = opendir(sessions_base());
    if (!dir) return 0;
    int n = 0;
    for (const struct dirent *e; (e = readdir(dir));) {
        const char *end = strrchr(e->d_name, '.');
        if (strncmp(e->d_name, "ompi.", 5) == 0 && end && strcmp(end, own) == 0)
            n += sweep_session(dirfd(dir), e->d_name, mpirun);
        n += sweep_folder(dirfd(dir), e->d_name, mpirun);
    }
    closedir(dir);
    return n;
}
