#include "collectives/exec/watch/line.h"

#include <unistd.h>

void pod__line_text(pod__line *l, const char *text)
{
    while (*text && l->n < POD__LINE_BYTES - 1) l->text[l->n++] = *text++;
}

void pod__line_number(pod__line *l, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    pod__line_text(l, &digits[at]);
}

void pod__line_rank(pod__line *l, int rank)
{
    pod__line_text(l, "rank ");
    pod__line_number(l, (uint64_t)rank);
}

void pod__line_put(pod__line *l)
{
    l->text[l->n++] = '\n';
    ssize_t written = write(STDERR_FILENO, l->text, l->n);
    (void)written; /* there is nobody to tell */
}
