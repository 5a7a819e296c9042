/* Characters as the tokenizer of BERT sees them: categories of Unicode, by libutf8proc. */
#ifndef MINIPOD_RUNTIME_TEXT_CHARS_H
#define MINIPOD_RUNTIME_TEXT_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at text[0], of at most `bytes` bytes, into *c. Returns the number of its
 * bytes, 1 to 4, or 0 if no valid UTF-8 begins there (or bytes is 0). Surrogates and forms that are
 * longer than necessary are invalid. */
int pod_utf8_decode(const char *text, size_t bytes, int32_t *c);
/* Encodes c, a code point that is no surrogate; returns the number of bytes. */
int pod_utf8_encode(int32_t c, char out[4]);
/* Removes bytes that are no part of valid UTF-8, in place, as Python's decode("utf-8", "ignore")
 * does. Returns how many remain; *first is the offset of the first that was removed, if any. */
size_t pod_utf8_drop_invalid(char *text, size_t bytes, size_t *first);

/* Returns where the text begins without white space at its ends, and sets *bytes to what remains.
 * White space is that of Python's strip(). */
const char *pod_text_strip(const char *text, size_t *bytes);

bool pod_char_is_space(int32_t c);      /* tab, LF, CR, categories Zs, Zl and Zp */
bool pod_char_is_dropped(int32_t c);    /* 0, U+FFFD, and categories Cc and Cf but tab, LF and CR */
bool pod_char_is_punct(int32_t c);      /* ASCII 33-47, 58-64, 91-96, 123-126, and categories P* */
bool pod_char_is_category_p(int32_t c); /* categories P* alone: not $, +, <, =, >, ^, `, |, ~ */
bool pod_char_is_digit(int32_t c);      /* category Nd */
bool pod_char_is_symbol(int32_t c);     /* categories S* */
bool pod_char_is_cjk(int32_t c);        /* CJK ideographs; neither kana nor Hangul */
bool pod_char_is_mark(int32_t c);       /* category Mn */
bool pod_char_is_alnum(int32_t c);      /* categories L* and N* */
/* The lower-case form of c by itself: final sigma has no rule of its own, as in Hugging Face's
 * tokenizers. */
int32_t pod_char_lower(int32_t c);

/* The canonical decomposition (NFD) of one character. Returns how many were written to out. */
enum { POD_CHAR_MAX_PARTS = 8 };
int pod_char_decompose(int32_t c, int32_t out[POD_CHAR_MAX_PARTS]);
int pod_char_combining_class(int32_t c);

#endif
