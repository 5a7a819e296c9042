#include "runtime/core/nearest.h"

#include <stddef.h>
#include <string.h>

enum { MAX_BYTES = 64 };

static int smaller(int a, int b) { return a < b ? a : b; }

/* Letters to insert, delete or change to make b of a (Levenshtein). */
static int edit_distance(const char *a, const char *b)
{
    int row[MAX_BYTES + 1];
    const int n = (int)strlen(b);
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smaller(change, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

/* The one that begins so: NULL where none or several do. */
static const char *only_longer(const char *given, const char *const names[], int n)
{
    const size_t bytes = strlen(given);
    const char *found = NULL;
    for (int i = 0; i < n && bytes > 1; i++) {
        if (strncmp(names[i], given, bytes) != 0) continue;
        if (found) return NULL;
        found = names[i];
    }
    return found;
}

const char *pod_nearest_name(const char *given, const char *const names[], int n)
{
    if (strlen(given) > MAX_BYTES) return NULL;
    const char *best = only_longer(given, names, n);
    if (best) return best;
    int best_distance = 1 + smaller(3, (int)strlen(given) / 2);
    for (int i = 0; i < n; i++) {
        if (strlen(names[i]) > MAX_BYTES) continue;
        int distance = edit_distance(given, names[i]);
        if (distance >= best_distance) continue;
        best = names[i];
        best_distance = distance;
    }
    return best;
}
