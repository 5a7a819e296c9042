#include "runtime/text/sentence.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/text/chars.h"

/* Words before a full stop that ends no sentence. */
static const char *const abbreviations[] = {
    "Mr", "Mrs", "Ms",  "Dr",     "St",  "Prof", "Rev", "Hon", "Capt", "Col", "Gen",
    "Lt", "Sgt", "Sir", "Messrs", "Mme", "Mlle", "Esq", "Jr",  "Sr",   "No",  "Vol",
    "vs", "viz", "cf",  "etc",    "bzw", "Nr",   "Hr",  "Fr",  "usw",  "ca",  "vgl"};

static bool is_end(int32_t c) { return c == '.' || c == '!' || c == '?' || c == 0x2026; }

static bool is_closing(int32_t c)
{
    return c == '"' || c == '\'' || c == ')' || c == ']' || c == '*' || c == '_' || c == 0x2019 ||
           c == 0x201c || c == 0x201d || c == 0xbb;
}

/* Whether text[0..at) ends with a word that a full stop shortens. */
static bool is_short(const char *text, size_t at)
{
    size_t begin = at;
    while (begin > 0 && ((text[begin - 1] | 32) >= 'a' && (text[begin - 1] | 32) <= 'z')) begin--;
    const size_t n = at - begin;
    if (n == 1) return text[begin] != 'I';
    for (size_t i = 0; i < sizeof abbreviations / sizeof abbreviations[0]; i++)
        if (strlen(abbreviations[i]) == n && memcmp(text + begin, abbreviations[i], n) == 0)
            return true;
    return false;
}

/* The character at *at, or 0 at the end, and moves *at behind it. */
static int32_t take(const char *text, size_t bytes, size_t *at)
{
    int32_t c = 0;
    const int n = pod_utf8_decode(text + *at, bytes - *at, &c);
    *at += n > 0 ? (size_t)n : *at < bytes;
    return c;
}

/* The first character behind white space; *at is then its place. */
static int32_t skip_space(const char *text, size_t bytes, size_t *at)
{
    for (size_t next = *at;; *at = next) {
        const int32_t c = take(text, bytes, &next);
        if (c == 0 || !pod_char_is_space(c)) return c;
    }
}

size_t pod_sentence_end(const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const size_t before = at;
        const int32_t c = take(text, bytes, &at);
        if (!is_end(c) || (c == '.' && is_short(text, before))) continue;
        size_t end = at; /* behind what closes here */
        for (size_t next = at; next < bytes; end = next) {
            const int32_t closing = take(text, bytes, &next);
            if (!is_end(closing) && !is_closing(closing)) break;
        }
        at = end;
        size_t next = end;
        const int32_t follows = skip_space(text, bytes, &next);
        if (next == end || follows == 0) continue;
        if (pod_char_is_alnum(follows) && pod_char_lower(follows) == follows &&
            !(follows >= '0' && follows <= '9'))
            continue;
        return next;
    }
    return bytes;
}
