/* trace_check FILE: whether a trace holds together, and what is in it. */
#include <stdio.h>

#include "tests/tools/trace_check.h"

int main(int argc, char **argv)
{
    char why[256];
    pod_trace_counts c;
    if (argc != 2) {
        fprintf(stderr, "trace_check FILE\n");
        return 2;
    }
    if (!pod_trace_check(argv[1], &c, why, sizeof why)) {
        fprintf(stderr, "%s: %s\n", argv[1], why);
        return 1;
    }
    printf("ranks %d slices %d steps %d data %d file %d arrows %d counters %d instants %d\n",
           c.ranks, c.slices, c.steps, c.data, c.file, c.arrows, c.counters, c.instants);
    return 0;
}
