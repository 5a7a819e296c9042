#include "runtime/text/bleu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hash.h"
#include "runtime/text/chars.h"
#include "runtime/text/inner.h"

typedef struct chars {
    void *at; /* int32_t */
    size_t n, room;
} chars;

typedef struct words {
    void *at; /* uint64_t: a hash of each word */
    size_t n, room;
} words;

static pod_status append(chars *c, int32_t value)
{
    POD_TRY(pod__make_room(&c->at, sizeof value, &c->room, c->n + 1));
    ((int32_t *)c->at)[c->n++] = value;
    return POD_OK;
}

static int32_t at(const chars *c, size_t i) { return i < c->n ? ((const int32_t *)c->at)[i] : 0; }

static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }

/* White space of Python's split(). */
static bool is_space(int32_t c)
{
    return pod_char_is_space(c) || c == 0x0b || c == 0x0c || (c >= 0x1c && c <= 0x1f) || c == 0x85;
}

/* ---- text to characters ---------------------------------------------------------------------- */

/* The entities that 13a replaces. sacrebleu replaces one kind after the other: "&amp;lt;" becomes
 * "<". */
static const struct {
    const char *name;
    int32_t c;
} entities[] = {{"&quot;", '"'}, {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"<skipped>", 0}};

static pod_status decode(const char *text, bool is_cased, chars *out)
{
    size_t bytes = strlen(text);
    out->n = 0;
    while (bytes > 0) {
        int32_t c;
        const int n = pod_utf8_decode(text, bytes, &c);
        if (n > 0) POD_TRY(append(out, is_cased ? c : pod_char_lower(c)));
        text += n > 0 ? n : 1;
        bytes -= n > 0 ? (size_t)n : 1;
    }
    while (out->n > 0 && is_space(at(out, out->n - 1))) out->n--;
    return POD_OK;
}

static void replace(chars *c, const char *name, int32_t by)
{
    const size_t n = strlen(name);
    size_t to = 0;
    for (size_t from = 0; from < c->n; to++) {
        size_t k = 0;
        while (k < n && at(c, from + k) == name[k]) k++;
        const bool is_here = k == n;
        if (is_here && by == 0) {
            from += n;
            to--; /* nothing takes its place */
            continue;
        }
        ((int32_t *)c->at)[to] = is_here ? by : at(c, from);
        from += is_here ? n : 1;
    }
    c->n = to;
}

/* ---- 13a ------------------------------------------------------------------------------------- */

static bool is_13a_mark(int32_t c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

static bool is_point(int32_t c) { return c == '.' || c == ','; }

static pod_status append_all(chars *out, int32_t a, int32_t b, int32_t c, int32_t d)
{
    const int32_t all[] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        if (all[i]) POD_TRY(append(out, all[i]));
    return POD_OK;
}

/* Each pass is one substitution of sacrebleu's tokenizer_re.py; like those it goes on behind what it
 * has replaced, so that overlapping places count once. */
static pod_status pass_13a(int pass, const chars *in, chars *out)
{
    out->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        const int32_t c = at(in, i), next = at(in, i + 1);
        const bool has_next = i + 1 < in->n;
        if (pass == 0 && is_13a_mark(c)) {
            POD_TRY(append_all(out, ' ', c, ' ', 0));
        } else if (pass == 1 && has_next && !is_digit(c) && is_point(next)) {
            POD_TRY(append_all(out, c, ' ', next, ' '));
            i++;
        } else if (pass == 2 && has_next && is_point(c) && !is_digit(next)) {
            POD_TRY(append_all(out, ' ', c, ' ', next));
            i++;
        } else if (pass == 3 && has_next && is_digit(c) && next == '-') {
            POD_TRY(append_all(out, c, ' ', next, ' '));
            i++;
        } else {
            POD_TRY(append(out, c));
        }
    }
    return POD_OK;
}

/* Leaves the result in `text`. */
static pod_status tokenize_13a(chars *text, chars *other)
{
    enum { N_PASSES = 4 };
    replace(text, entities[4].name, 0);
    for (size_t i = 0; i < text->n; i++)
        if (at(text, i) == '\n') ((int32_t *)text->at)[i] = ' ';
    for (int i = 0; i < 4; i++) replace(text, entities[i].name, entities[i].c);
    other->n = 0;
    POD_TRY(append(other, ' '));
    for (size_t i = 0; i < text->n; i++) POD_TRY(append(other, at(text, i)));
    POD_TRY(append(other, ' '));
    for (int pass = 0; pass < N_PASSES; pass += 2) {
        POD_TRY(pass_13a(pass, other, text));
        POD_TRY(pass_13a(pass + 1, text, other));
    }
    const chars swapped = *text;
    *text = *other;
    *other = swapped;
    return POD_OK;
}

/* ---- international --------------------------------------------------------------------------- */

/* The substitutions ([^\d])(P) -> \1 P ; (P)([^\d]) ->  P \2; (S) ->  S . */
static pod_status pass_international(int pass, const chars *in, chars *out)
{
    out->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        const int32_t c = at(in, i), next = at(in, i + 1);
        const bool has_next = i + 1 < in->n;
        if (pass == 0 && has_next && !pod_char_is_digit(c) && pod_char_is_category_p(next)) {
            POD_TRY(append_all(out, c, ' ', next, ' '));
            i++;
        } else if (pass == 1 && has_next && pod_char_is_category_p(c) && !pod_char_is_digit(next)) {
            POD_TRY(append_all(out, ' ', c, ' ', next));
            i++;
        } else if (pass == 2 && pod_char_is_symbol(c)) {
            POD_TRY(append_all(out, ' ', c, ' ', 0));
        } else {
            POD_TRY(append(out, c));
        }
    }
    return POD_OK;
}

static pod_status tokenize_international(chars *text, chars *other)
{
    POD_TRY(pass_international(0, text, other));
    POD_TRY(pass_international(1, other, text));
    POD_TRY(pass_international(2, text, other));
    const chars swapped = *text;
    *text = *other;
    *other = swapped;
    return POD_OK;
}

/* ---- words ----------------------------------------------------------------------------------- */

static pod_status split(const chars *text, words *out)
{
    uint64_t hash = POD_HASH_START;
    bool is_open = false;
    out->n = 0;
    for (size_t i = 0; i <= text->n; i++) {
        const int32_t c = at(text, i);
        if (i < text->n && !is_space(c)) {
            hash = pod_hash_bytes(hash, &c, sizeof c);
            is_open = true;
        } else if (is_open) {
            POD_TRY(pod__make_room(&out->at, sizeof hash, &out->room, out->n + 1));
            ((uint64_t *)out->at)[out->n++] = hash;
            hash = POD_HASH_START;
            is_open = false;
        }
    }
    return POD_OK;
}

static pod_status take_words(pod_bleu_tokens tokens, bool is_cased, const char *text, chars *a,
                             chars *b, words *out)
{
    POD_TRY(decode(text, is_cased, a));
    POD_TRY(tokens == POD_BLEU_13A ? tokenize_13a(a, b) : tokenize_international(a, b));
    return split(a, out);
}

/* ---- n-grams --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Writes the sorted hashes of all n-grams to `gram`; returns how many. */
static size_t make_grams(const words *w, size_t n, uint64_t gram[])
{
    if (w->n < n) return 0;
    const size_t count = w->n - n + 1;
    for (size_t i = 0; i < count; i++)
        gram[i] = pod_hash_bytes(POD_HASH_START, (const uint64_t *)w->at + i, n * sizeof gram[0]);
    qsort(gram, count, sizeof gram[0], by_value);
    return count;
}

/* The elements of two sorted lists that are in both, as often as in the list that has fewer. */
static int64_t count_common(const uint64_t a[], size_t n_a, const uint64_t b[], size_t n_b)
{
    int64_t n = 0;
    for (size_t i = 0, k = 0; i < n_a && k < n_b;) {
        n += a[i] == b[k];
        const bool a_is_next = a[i] <= b[k], b_is_next = b[k] <= a[i];
        i += a_is_next;
        k += b_is_next;
    }
    return n;
}

static pod_status add_words(pod_bleu_sums *sums, const words *hypothesis, const words *reference)
{
    uint64_t *gram = malloc((hypothesis->n + reference->n + 1) * sizeof *gram);
    if (!gram) return pod_fail(POD_E_NOMEM, "no memory for %zu words", hypothesis->n);
    for (size_t n = 1; n <= POD_BLEU_ORDERS; n++) {
        const size_t n_h = make_grams(hypothesis, n, gram);
        const size_t n_r = make_grams(reference, n, gram + n_h);
        sums->n_possible[n - 1] += (int64_t)n_h;
        sums->n_matches[n - 1] += count_common(gram, n_h, gram + n_h, n_r);
    }
    sums->hypothesis_length += (int64_t)hypothesis->n;
    sums->reference_length += (int64_t)reference->n;
    free(gram);
    return POD_OK;
}

pod_status pod_bleu_add(pod_bleu_sums *sums, pod_bleu_tokens tokens, bool is_cased,
                        const char *hypothesis, const char *reference)
{
    chars a = {0}, b = {0};
    words h = {0}, r = {0};
    pod_status s = take_words(tokens, is_cased, hypothesis, &a, &b, &h);
    if (s == POD_OK) s = take_words(tokens, is_cased, reference, &a, &b, &r);
    if (s == POD_OK) s = add_words(sums, &h, &r);
    free(a.at);
    free(b.at);
    free(h.at);
    free(r.at);
    return s;
}

/* ---- the score ------------------------------------------------------------------------------- */

double pod_bleu_score(const pod_bleu_sums *s)
{
    double log_sum = 0, halves = 1;
    if (s->n_matches[0] == 0) return 0;
    for (int n = 0; n < POD_BLEU_ORDERS; n++) {
        if (s->n_possible[n] == 0) return 0;
        if (s->n_matches[n] == 0) halves *= 2;
        const double matches = s->n_matches[n] > 0 ? (double)s->n_matches[n] : 1 / halves;
        log_sum += log(matches / (double)s->n_possible[n]);
    }
    const double ratio = (double)s->reference_length / (double)s->hypothesis_length;
    const double brevity = ratio > 1 ? exp(1 - ratio) : 1;
    return 100 * brevity * exp(log_sum / POD_BLEU_ORDERS);
}

const char *pod_bleu_name(pod_bleu_tokens tokens, bool is_cased)
{
    static const char *const name[2][2] = {
        {"case:lc|tok:13a|smooth:exp|refs:1", "case:mixed|tok:13a|smooth:exp|refs:1"},
        {"case:lc|tok:t2t|smooth:exp|refs:1", "case:mixed|tok:t2t|smooth:exp|refs:1"}};
    return name[tokens == POD_BLEU_13A ? 0 : 1][is_cased];
}
