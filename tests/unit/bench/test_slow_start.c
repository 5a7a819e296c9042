/* What is said of a slow start of MPI, by what /etc/hosts has. */
#include "bench/slow_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/harness.h"

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

static CU_TestInfo tests[] = {
    {"by_hosts", by_hosts},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"bench.slow_start", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
