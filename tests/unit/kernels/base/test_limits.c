/* Where the files of a control group are, and what limits come to. */
#include <math.h>
#include <string.h>

#include "kernels/base/limits.h"
#include "tests/harness/harness.h"

static const char v1_mounts[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char v1_groups[] = "9:name=systemd:/\n4:memory:/docker/abc/job\n1:cpu,cpuacct:/q/r\n"
                                "0::/elsewhere\n";
static const char v2_mounts[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

static void check_found(const char *mounts, const char *groups, const char *controller,
                        const char *folder, const char *mount)
{
    pod_limit_group g;
    const bool found = pod_limit_find_group(mounts, groups, controller, &g);
    POD_CHECK(found == (folder != NULL), "%s: found %d", controller, found);
    if (!found || !folder) return;
    POD_CHECK(strcmp(g.folder, folder) == 0 && g.mount_bytes == strlen(mount), "%s: %s, mount %zu",
              controller, g.folder, g.mount_bytes);
}

static void groups_are_found(void)
{
    check_found(v1_mounts, v1_groups, "cpu", "/sys/fs/cgroup/cpu,cpuacct/q/r",
                "/sys/fs/cgroup/cpu,cpuacct");
    check_found(v1_mounts, v1_groups, "memory", "/sys/fs/cgroup/memory/job",
                "/sys/fs/cgroup/memory");
    check_found(v2_mounts, "0::/user.slice/job.scope\n", "cpu",
                "/sys/fs/cgroup/user.slice/job.scope", "/sys/fs/cgroup");
    check_found(v2_mounts, "0::/\n", "memory", "/sys/fs/cgroup", "/sys/fs/cgroup");
    check_found(v2_mounts, "0::/../other\n", "memory", "/sys/fs/cgroup", "/sys/fs/cgroup");
    check_found("", "", "cpu", NULL, "");
    check_found("- cgroup", ":::", "cpu", NULL, "");
    check_found(v2_mounts, "1:cpu:/q", "cpu", NULL, "");
}

static void limits_are_positive(void)
{
    const double cpus = pod_limit_cpus(), bytes = pod_limit_memory();
    POD_CHECK(cpus > 0, "%g CPUs", cpus);
    POD_CHECK(bytes > 0 && isfinite(bytes), "%g bytes", bytes);
    CU_ASSERT(pod_limit_memory_kills() >= 0);
    CU_ASSERT(pod_limit_cores() >= 1);
}

static CU_TestInfo tests[] = {
    {"groups are found", groups_are_found},
    {"limits are positive", limits_are_positive},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"kernels.limits", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
