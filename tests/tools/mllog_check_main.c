/* mllog_check FILE: exit 0 when the log is as the reference checker wants it, else 1 and why. */
#include <stdio.h>

#include "tests/tools/mllog_check.h"

int main(int argc, char *argv[])
{
    char why[512];
    if (argc != 2) {
        fprintf(stderr, "usage: mllog_check FILE\n");
        return 2;
    }
    if (pod_mllog_check(argv[1], why, sizeof why)) return 0;
    fprintf(stderr, "%s: %s\n", argv[1], why);
    return 1;
}
