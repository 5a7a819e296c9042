#include "kernels/base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void (*end_job)(void) = abort;
static int own_rank = -1;

void pod_assert_install(void (*die)(void), int rank)
{
    end_job = die;
    own_rank = rank;
}

void pod__assert_failed(const char *file, int line, const char *cond, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (own_rank >= 0) fprintf(stderr, "rank %d: ", own_rank);
    fprintf(stderr, "%s:%d: assertion '%s' failed: %s\n", file, line, cond, text);
    end_job();
    abort();
}
