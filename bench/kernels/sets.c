/* Problems by the file: those of bench/shapes, which the program knows by name, and others. */
#include <string.h>

#include "bench/kernels/problem.h"
#include "runtime/core/file.h"

enum { MAX_FILE_BYTES = 1 << 20 };

static pod_status read_line(pod_arena *a, const char *place, const char *begin, size_t bytes,
                            pod_problem **all, int *n)
{
    char line[POD_PROBLEM_LINE_BYTES];
    const char *comment = memchr(begin, '#', bytes);
    if (comment) bytes = (size_t)(comment - begin);
    if (bytes >= sizeof line)
        return pod_fail(POD_E_INVALID, "%s: a line of %zu bytes, need %d or fewer", place, bytes,
                        POD_PROBLEM_LINE_BYTES - 1);
    memcpy(line, begin, bytes);
    line[bytes] = '\0';
    if (line[strspn(line, " \t\r")] == '\0') return POD_OK;
    pod_problem p, *grown = POD_ARENA_GROW(a, *all, *n);
    POD_TRY(pod_problem_parse(place, line, &p));
    if (!grown) return POD_E_NOMEM;
    *all = grown;
    grown[(*n)++] = p;
    return POD_OK;
}

pod_status pod_problems_parse(pod_arena *a, const char *name, const char *text, pod_problem **all,
                              int *n)
{
    char place[192];
    const int n_before = *n;
    for (int number = 1; *text != '\0'; number++) {
        const size_t bytes = strcspn(text, "\n");
        snprintf(place, sizeof place, "%.160s:%d", name, number);
        POD_TRY(read_line(a, place, text, bytes, all, n));
        text += bytes + (text[bytes] == '\n');
    }
    if (*n == n_before) return pod_fail(POD_E_FORMAT, "%.160s: no problem in it", name);
    return POD_OK;
}

const char *pod_problems_known(int i) { return pod__shape_sets[i].name; }

/* A word that names nothing is more often a misspelt set than a file that is not there. */
static pod_status read_file(pod_arena *a, const char *name, pod_problem **all, int *n)
{
    char *text, known[256] = "all";
    if (pod_file_read_text(a, name, MAX_FILE_BYTES, &text) == POD_OK)
        return pod_problems_parse(a, name, text, all, n);
    if (strpbrk(name, "./")) return pod_fail(POD_E_IO, "shapes: %s", pod_error_text());
    for (int i = 0; pod_problems_known(i); i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), ", %s",
                 pod_problems_known(i));
    return pod_fail(POD_E_IO, "shapes '%s': neither a file nor one of %s", name, known);
}

pod_status pod_problems_load(pod_arena *a, const char *name, pod_problem **all, int *n)
{
    const bool is_every = strcmp(name, "all") == 0;
    bool is_known = false;
    for (const pod__shapes *s = pod__shape_sets; s->name; s++) {
        if (!is_every && strcmp(name, s->name) != 0) continue;
        char place[64];
        snprintf(place, sizeof place, "%s.txt", s->name);
        POD_TRY(pod_problems_parse(a, place, s->text, all, n));
        is_known = true;
    }
    return is_known ? POD_OK : read_file(a, name, all, n);
}
