#include "runtime/text/detokenize.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/text/chars.h"
#include "runtime/text/inner.h"

typedef struct joiner {
    pod_chars *out;
    size_t word_at;       /* where the last word begins in `out` */
    bool glue;            /* the next word follows without a blank */
    bool is_quoted;       /* between two straight quotes */
    bool is_low_quoted;   /* behind a low quote, which U+201C closes */
    char before[3], mark; /* the last mark that may join two words, and the word before it */
} joiner;

void pod_chars_free(pod_chars *c)
{
    free(c->text);
    *c = (pod_chars){0};
}

static pod_status append(pod_chars *c, const char *text, size_t bytes)
{
    void *at = c->text;
    const pod_status s = pod__make_room(&at, 1, &c->room, c->n + bytes + 1);
    c->text = at;
    POD_TRY(s);
    memcpy(c->text + c->n, text, bytes);
    c->n += bytes;
    c->text[c->n] = '\0';
    return POD_OK;
}

static int32_t first_char(const char *word)
{
    int32_t c = 0;
    (void)pod_utf8_decode(word, strlen(word), &c);
    return c;
}

static bool is_in(const char *word, const char *const list[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

#define IS_IN(word, list) is_in(word, list, sizeof(list) / sizeof((list)[0]))

static bool is_digits(const char *word)
{
    return *word && strspn(word, "0123456789") == strlen(word);
}

/* Whether a word follows the mark behind `before` without a blank. */
static bool joins(char mark, const char *before, const char *word)
{
    static const char *const shortened[] = {"s",  "t", "m", "d", "re",    "ve",
                                            "ll", "n", "S", "T", "clock", "em"};
    const bool is_word = pod_char_is_alnum(first_char(word));
    const bool is_letter = before[0] && !before[1] && !is_digits(before);
    switch (mark) {
    case '\'': return is_word && (IS_IN(word, shortened) || is_letter);
    case '-':
    case '/':
    case '_':
    case '@': return is_word;
    case '.': return (is_digits(before) && is_digits(word)) || (is_letter && is_word && !word[1]);
    case ',':
    case ':': return is_digits(before) && is_digits(word);
    default: return false;
    }
}

/* Whether the word is a mark that follows its predecessor directly. */
static bool is_closing(const joiner *j, int32_t c)
{
    if (c == '"') return j->is_quoted;
    if (c == 0x201c) return j->is_low_quoted; /* of German quotes */
    return (c < 0x80 && c > 0 && strchr(".,;:!?)]}%'-/_@", (int)c)) || c == 0x2019 || c == 0x201d ||
           c == 0xbb || c == 0x2026 || c == 0xb0;
}

/* Whether the next word follows the mark directly. */
static bool is_opening(const joiner *j, int32_t c)
{
    if (c == '"') return !j->is_quoted;
    if (c == 0x201c) return !j->is_low_quoted;
    return (c < 0x80 && c > 0 && strchr("([{$#", (int)c)) || c == 0x201e || c == 0x2018 ||
           c == 0xab || c == 0xbf || c == 0xa1 || c == 0xa3;
}

static pod_status add_word(joiner *j, const char *word)
{
    pod_chars *out = j->out;
    const int32_t c = first_char(word);
    const bool is_mark = pod_char_is_punct(c) || pod_char_is_symbol(c);
    const bool is_first = out->n == 0, is_glued = j->glue || joins(j->mark, j->before, word);
    const bool follows_word = !is_first && !j->glue;
    if (!is_first && !is_glued && !(is_mark && is_closing(j, c))) POD_TRY(append(out, " ", 1));
    j->glue = is_mark && is_opening(j, c);
    j->mark = '\0';
    j->before[0] = '\0';
    const bool is_apostrophe = c == 0x2019;
    if (is_mark && (c < 0x80 || is_apostrophe) && follows_word) {
        const char *last = out->text + j->word_at;
        j->mark = is_apostrophe ? '\'' : (char)c;
        snprintf(j->before, sizeof j->before, "%.2s", last);
        if (is_digits(last)) snprintf(j->before, sizeof j->before, "0");
    }
    if (c == '"') j->is_quoted = !j->is_quoted;
    if (c == 0x201e) j->is_low_quoted = true;
    if (c == 0x201c) j->is_low_quoted = false;
    j->word_at = out->n;
    return append(out, word, strlen(word));
}

pod_status pod_detokenize(const pod_vocab *v, int64_t n, const int32_t id[], pod_chars *out)
{
    joiner j = {.out = out};
    pod_chars word = {0};
    out->n = 0;
    pod_status s = append(out, "", 0);
    for (int64_t i = 0; i < n && s == POD_OK;) {
        const int32_t k = id[i++];
        if (k == v->special[POD_PAD] || k == v->special[POD_CLS] || k == v->special[POD_SEP])
            continue;
        word.n = 0;
        s = append(&word, v->token[k], strlen(v->token[k]));
        for (; s == POD_OK && i < n && strncmp(v->token[id[i]], "##", 2) == 0 && v->token[id[i]][2];
             i++)
            s = append(&word, v->token[id[i]] + 2, strlen(v->token[id[i]] + 2));
        if (s == POD_OK) s = add_word(&j, word.text);
    }
    pod_chars_free(&word);
    return s;
}
