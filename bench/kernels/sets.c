/* Problems by the file: those of bench/shapes, which the program knows by name, and others. */
#include <string.h>

#include "bench/kernels/problem.h"
#include "runtime/core/file.h"

enum { MAX_FILE_BYTES = 1 << 20 };

typedef struct reading {
    pod_arena *arena;
    pod_problem *problem;
    int n;
} reading;

static pod_status add(reading *r, const pod_problem *p)
{
    pod_problem *all = POD_ARENA_GROW(r->arena, r->problem, r->n);
    if (!all) return POD_E_NOMEM;
    r->problem = all;
    r->problem[r->n++] = *p;
    return POD_OK;
}

static pod_status read_line(reading *r, const char *place, const char *begin, size_t bytes)
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
    pod_problem p;
    POD_TRY(pod_problem_parse(place, line, &p));
    return add(r, &p);
}

static pod_status read_text(reading *r, const char *name, const char *text)
{
    char place[192];
    const int n_before = r->n;
    for (int number = 1; *text != '\0'; number++) {
        const size_t bytes = strcspn(text, "\n");
        snprintf(place, sizeof place, "%.160s:%d", name, number);
        POD_TRY(read_line(r, place, text, bytes));
        text += bytes + (text[bytes] == '\n');
    }
    if (r->n == n_before) return pod_fail(POD_E_FORMAT, "%.160s: no problem in it", name);
    return POD_OK;
}

pod_status pod_problems_parse(pod_arena *a, const char *name, const char *text, pod_problem **out,
                              int *n)
{
    reading r = {.arena = a};
    POD_TRY(read_text(&r, name, text));
    *out = r.problem;
    *n = r.n;
    return POD_OK;
}

const char *pod_problems_known(int i) { return pod__shape_sets[i].name; }

/* A word that names nothing is more often a misspelt set than a file that is not there. */
static pod_status read_file(reading *r, const char *name)
{
    char *text, known[256] = "all";
    if (pod_file_read_text(r->arena, name, MAX_FILE_BYTES, &text) == POD_OK)
        return read_text(r, name, text);
    if (strpbrk(name, "./")) return pod_fail(POD_E_IO, "shapes: %s", pod_error_text());
    for (int i = 0; pod_problems_known(i); i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), ", %s",
                 pod_problems_known(i));
    return pod_fail(POD_E_IO, "shapes '%s': neither a file nor one of %s", name, known);
}

pod_status pod_problems_load(pod_arena *a, const char *name, pod_problem **out, int *n)
{
    reading r = {.arena = a};
    const bool all = strcmp(name, "all") == 0;
    bool is_known = all;
    for (const pod__shapes *s = pod__shape_sets; s->name; s++) {
        if (!all && strcmp(name, s->name) != 0) continue;
        char place[64];
        snprintf(place, sizeof place, "%s.txt", s->name);
        POD_TRY(read_text(&r, place, s->text));
        is_known = true;
    }
    if (!is_known) POD_TRY(read_file(&r, name));
    *out = r.problem;
    *n = r.n;
    return POD_OK;
}
