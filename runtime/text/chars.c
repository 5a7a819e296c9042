#include "runtime/text/chars.h"

#include <string.h>
#include <utf8proc.h>

#include "kernels/base/assert.h"

int pod_utf8_decode(const char *text, size_t bytes, int32_t *c)
{
    utf8proc_int32_t found;
    if (bytes == 0) return 0;
    const utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)text, bytes < 4 ? (int)bytes : 4, &found);
    if (n <= 0) return 0;
    *c = found;
    return (int)n;
}

int pod_utf8_encode(int32_t c, char out[4])
{
    return (int)utf8proc_encode_char(c, (utf8proc_uint8_t *)out);
}

size_t pod_utf8_drop_invalid(char *text, size_t bytes, size_t *first)
{
    size_t to = 0;
    int32_t c;
    for (size_t from = 0; from < bytes;) {
        const int n =
            (unsigned char)text[from] < 0x80 ? 1 : pod_utf8_decode(text + from, bytes - from, &c);
        if (n == 0 && to == from) *first = from;
        if (to != from) memmove(text + to, text + from, (size_t)n);
        to += (size_t)n;
        from += n == 0 ? 1 : (size_t)n;
    }
    return to;
}

bool pod_char_is_space(int32_t c)
{
    if (c < 0x80) return c == ' ' || c == '\t' || c == '\n' || c == '\r';
    const utf8proc_category_t k = utf8proc_category(c);
    return k == UTF8PROC_CATEGORY_ZS || k == UTF8PROC_CATEGORY_ZL || k == UTF8PROC_CATEGORY_ZP;
}

bool pod_char_is_dropped(int32_t c)
{
    if (c < 0x80) return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
    const utf8proc_category_t k = utf8proc_category(c);
    return c == 0xfffd || k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF;
}

static bool is_strippable(int32_t c)
{
    return pod_char_is_space(c) || c == 0x0b || c == 0x0c || (c >= 0x1c && c <= 0x1f) || c == 0x85;
}

const char *pod_text_strip(const char *text, size_t *bytes)
{
    const char *end = text + *bytes;
    int32_t c;
    for (int n; (n = pod_utf8_decode(text, (size_t)(end - text), &c)) > 0 && is_strippable(c);)
        text += n;
    while (end > text) {
        const char *last = end - 1;
        while (last > text && ((unsigned char)*last & 0xc0) == 0x80) last--;
        if (pod_utf8_decode(last, (size_t)(end - last), &c) == 0 || !is_strippable(c)) break;
        end = last;
    }
    *bytes = (size_t)(end - text);
    return text;
}

bool pod_char_is_punct(int32_t c)
{
    if (c < 0x80)
        return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
               (c >= 123 && c <= 126);
    return pod_char_is_category_p(c);
}

bool pod_char_is_category_p(int32_t c)
{
    const utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

bool pod_char_is_digit(int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_ND; }

bool pod_char_is_symbol(int32_t c)
{
    const utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_SM && k <= UTF8PROC_CATEGORY_SO;
}

bool pod_char_is_cjk(int32_t c)
{
    static const struct {
        int32_t first, last;
    } blocks[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
                  {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
    if (c < 0x3400) return false;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (c >= blocks[i].first && c <= blocks[i].last) return true;
    return false;
}

bool pod_char_is_mark(int32_t c)
{
    return c >= 0x300 && utf8proc_category(c) == UTF8PROC_CATEGORY_MN;
}

bool pod_char_is_alnum(int32_t c)
{
    const utf8proc_category_t k = utf8proc_category(c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) ||
           (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO);
}

int32_t pod_char_lower(int32_t c) { return utf8proc_tolower(c); }

int pod_char_decompose(int32_t c, int32_t out[POD_CHAR_MAX_PARTS])
{
    int last = 0;
    const utf8proc_ssize_t n =
        utf8proc_decompose_char(c, out, POD_CHAR_MAX_PARTS, UTF8PROC_DECOMPOSE, &last);
    POD_ASSERT(n >= 0 && n <= POD_CHAR_MAX_PARTS, "U+%04X decomposes into %ld", (unsigned)c,
               (long)n);
    return (int)n;
}

int pod_char_combining_class(int32_t c) { return utf8proc_get_property(c)->combining_class; }
