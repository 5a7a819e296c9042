#include "runtime/core/words.h"

#include <stddef.h>
#include <string.h>

pod_status pod_word_take(const char *what, const char **text, char *word, size_t room)
{
    const char *at = *text;
    const size_t length = strcspn(at, ",");
    if (length >= room)
        return pod_fail(POD_E_INVALID, "%s: '%.40s...' has more than %zu bytes", what, at,
                        room - 1);
    memcpy(word, at, length);
    word[length] = '\0';
    *text = at + length + (at[length] == ',');
    return POD_OK;
}

bool pod_word_is_in(const char *list, const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strcspn(at, ",") == bytes && strncmp(at, word, bytes) == 0) return true;
    }
    return false;
}

/* ---- the nearest name ---- */

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

bool pod_text_ends_in(const char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
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
