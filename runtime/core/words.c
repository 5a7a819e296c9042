#include "runtime/core/words.h"

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
