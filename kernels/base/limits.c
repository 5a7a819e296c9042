#include "kernels/base/limits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/cpu.h"

enum { TEXT_BYTES = 1 << 16, PATH_BYTES = 4096, VALUE_BYTES = 512 };

/* ---- where the files are --------------------------------------------------------------------- */

/* Whether a list "rw,cpu,cpuacct" that ends at `end` has the word. */
static bool has_word(const char *list, const char *end, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list; p < end;) {
        const size_t length = strcspn(p, ",\n: ");
        if (length == n && strncmp(p, word, n) == 0) return true;
        p += length + 1;
    }
    return false;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end && end[1] ? end + 1 : NULL;
}

/* "4:cpu,cpuacct:/path" of version 1, "0::/path" of version 2. */
static bool find_path(const char *groups, const char *controller, bool is_v2, char *path)
{
    for (const char *line = *groups ? groups : NULL; line; line = next_line(line)) {
        const char *list = strchr(line, ':'), *end = list ? strchr(list + 1, ':') : NULL;
        if (!end || (is_v2 ? end != list + 1 : !has_word(list + 1, end, controller))) continue;
        return sscanf(end + 1, "%4095[^\n]", path) == 1;
    }
    return false;
}

/* "36 35 0:30 /root /mount/point rw shared:9 - cgroup cgroup rw,cpu,cpuacct" */
static bool find_mount(const char *mounts, const char *controller, bool is_v2, char *root,
                       char *point)
{
    for (const char *line = *mounts ? mounts : NULL; line; line = next_line(line)) {
        const char *end = line + strcspn(line, "\n"), *kind = strstr(line, " - ");
        char type[16];
        int options = 0;
        if (!kind || kind >= end || sscanf(kind, " - %15s %*s %n", type, &options) != 1 ||
            options == 0 || strcmp(type, is_v2 ? "cgroup2" : "cgroup") != 0)
            continue;
        if (!is_v2 && !has_word(kind + options, end, controller)) continue;
        return sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) == 2;
    }
    return false;
}

/* A container may see of the tree what is below its own group: then the mount has that as root. */
static const char *below(const char *path, const char *root)
{
    const size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, n) != 0 || strstr(path, "/..")) return "";
    return strcmp(path + n, "/") == 0 ? "" : path + n;
}

bool pod_limit_find_group(const char *mounts, const char *groups, const char *controller,
                          pod_limit_group *out)
{
    char path[PATH_BYTES], root[PATH_BYTES], point[PATH_BYTES];
    bool is_v2 = false;
    if (!find_mount(mounts, controller, is_v2, root, point)) {
        is_v2 = true;
        if (!find_mount(mounts, controller, is_v2, root, point)) return false;
    }
    if (!find_path(groups, controller, is_v2, path)) return false;
    const int n = snprintf(out->folder, sizeof out->folder, "%s%s", point, below(path, root));
    out->mount_bytes = strlen(point);
    out->is_v2 = is_v2;
    return n > 0 && (size_t)n < sizeof out->folder;
}

/* ---- what they say --------------------------------------------------------------------------- */

static bool read_text(const char *path, char *text, size_t bytes)
{
    FILE *f = fopen(path, "r");
    if (!f) return false;
    const size_t n = fread(text, 1, bytes - 1, f);
    text[n] = '\0';
    fclose(f);
    return n > 0;
}

static bool find_own_group(const char *controller, pod_limit_group *out)
{
    char *text = malloc(2 * (size_t)TEXT_BYTES);
    const bool found = text && read_text("/proc/self/mountinfo", text, TEXT_BYTES) &&
                       read_text("/proc/self/cgroup", text + TEXT_BYTES, TEXT_BYTES) &&
                       pod_limit_find_group(text, text + TEXT_BYTES, controller, out);
    free(text);
    return found;
}

static bool read_value(const pod_limit_group *g, const char *name, char *text)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", g->folder, name);
    return read_text(path, text, VALUE_BYTES);
}

static double cpus_of(const pod_limit_group *g)
{
    char quota[VALUE_BYTES], period[VALUE_BYTES] = "";
    double quota_us = 0, period_us = 0;
    if (g->is_v2) {
        if (!read_value(g, "cpu.max", quota)) return HUGE_VAL;
        if (sscanf(quota, "%lf %lf", &quota_us, &period_us) != 2) return HUGE_VAL; /* "max" */
    } else {
        if (!read_value(g, "cpu.cfs_quota_us", quota) ||
            !read_value(g, "cpu.cfs_period_us", period))
            return HUGE_VAL;
        quota_us = strtod(quota, NULL);
        period_us = strtod(period, NULL);
    }
    return quota_us > 0 && period_us > 0 ? quota_us / period_us : HUGE_VAL;
}

static double memory_of(const pod_limit_group *g)
{
    char text[VALUE_BYTES];
    if (!read_value(g, g->is_v2 ? "memory.max" : "memory.limit_in_bytes", text)) return HUGE_VAL;
    const double bytes = strtod(text, NULL);
    return bytes > 0 ? bytes : HUGE_VAL; /* "max" */
}

/* The least of a group and of all that it is in. */
static double least_of(const char *controller, double (*value_of)(const pod_limit_group *g))
{
    pod_limit_group g;
    double least = HUGE_VAL;
    if (!find_own_group(controller, &g)) return least;
    for (;;) {
        const double value = value_of(&g);
        if (value < least) least = value;
        char *last = strrchr(g.folder, '/');
        if (!last || last < g.folder + g.mount_bytes) return least;
        *last = '\0';
    }
}

double pod_limit_cpus(void) { return least_of("cpu", cpus_of); }

int pod_limit_cores(void)
{
    pod_cpu_set allowed;
    pod_cpu_allowed(&allowed);
    const int cores = pod_cpu_set_cores(&allowed);
    const double quota = ceil(pod_limit_cpus());
    return quota < cores ? (int)quota : cores;
}

double pod_limit_memory(void)
{
    const double host = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const double group = least_of("memory", memory_of);
    return group < host ? group : host;
}

int64_t pod_limit_memory_kills(void)
{
    pod_limit_group g;
    char text[VALUE_BYTES];
    if (!find_own_group("memory", &g)) return 0;
    if (!read_value(&g, g.is_v2 ? "memory.events" : "memory.oom_control", text)) return 0;
    const char *at = strstr(text, "oom_kill ");
    return at ? strtoll(at + strlen("oom_kill "), NULL, 10) : 0;
}
