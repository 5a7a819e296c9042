/* One line for standard error, made of nothing that a signal handler may not use. For
 * collectives/exec only. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_LINE_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_LINE_H

#include <stddef.h>
#include <stdint.h>

enum { POD__LINE_BYTES = 512 };

typedef struct pod__line { /* what does not fit is cut off */
    size_t n;
    char text[POD__LINE_BYTES];
} pod__line;

void pod__line_text(pod__line *l, const char *text);
void pod__line_number(pod__line *l, uint64_t value);
void pod__line_rank(pod__line *l, int rank); /* "rank 3" */
void pod__line_put(pod__line *l);            /* with a newline, in one write */

#endif
