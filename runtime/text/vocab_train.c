#include "runtime/text/vocab_train.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hash.h"
#include "runtime/text/chars.h"
#include "runtime/text/inner.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/vocab.h"

enum { N_CODE_POINTS = 0x110000 };

typedef struct word {
    int32_t *id; /* (n), tokens; merges make it shorter */
    int32_t n;
    int64_t count;
} word;

typedef struct pair { /* of neighbours */
    int32_t left, right;
    int64_t count; /* over all words */
    void *words;   /* int32_t: words that have it, or once had it; some twice */
    size_t n_words, room;
} pair;

typedef struct entry { /* of the heap: a pair, with its count when it was put there */
    int64_t count;
    int32_t left, right;
    int32_t pair;
} entry;

typedef struct trainer {
    pod_arena *arena; /* of the tokens */
    const pod_vocab_options *options;
    const char **token; /* (size) */
    int32_t n_tokens;
    int32_t *token_slot; /* of a table from text to id + 1 */
    size_t n_token_slots;
    word *word;
    int32_t n_words;
    void *ids;  /* int32_t: of all words */
    void *pair; /* pair */
    size_t n_pairs, pair_room;
    int32_t *pair_slot; /* of a table from (left, right) to an index + 1 */
    size_t n_pair_slots;
    void *heap; /* entry */
    size_t n_heap, heap_room;
} trainer;

static uint64_t spread(uint64_t h) { return h ^ h >> 32; }

/* ---- tokens ---------------------------------------------------------------------------------- */

/* The id of a token; a new one if `text` is none yet. -1 without memory. */
static int32_t take_token(trainer *t, const char *text)
{
    size_t i = (size_t)spread(pod_hash_text(POD_HASH_START, text));
    for (; t->token_slot[i & (t->n_token_slots - 1)] > 0; i++) {
        const int32_t id = t->token_slot[i & (t->n_token_slots - 1)] - 1;
        if (strcmp(t->token[id], text) == 0) return id;
    }
    t->token[t->n_tokens] = pod_arena_text(t->arena, "%s", text);
    if (!t->token[t->n_tokens]) return -1;
    t->token_slot[i & (t->n_token_slots - 1)] = t->n_tokens + 1;
    return t->n_tokens++;
}

/* ---- the alphabet ---------------------------------------------------------------------------- */

typedef struct letter {
    int64_t count;
    int32_t c;
    bool is_inner; /* somewhere behind the first character of a word */
    int32_t first_id, inner_id;
} letter;

static int by_count(const void *a, const void *b)
{
    const letter *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->c < y->c ? -1 : 1;
}

static int by_code_point(const void *a, const void *b)
{
    const letter *x = a, *y = b;
    return x->c < y->c ? -1 : 1;
}

static bool is_long(const char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n > POD_WORD_MAX_CHARS;
}

/* Counts the characters of all words that are not too long; letter: (N_CODE_POINTS). */
static void count_letters(const pod_word_counts *c, letter *of)
{
    const pod_word_count *w;
    const char *text;
    const size_t n = pod_word_counts_list(c, &w, &text);
    for (size_t i = 0; i < n; i++) {
        if (is_long(text + w[i].at, w[i].bytes)) continue;
        for (size_t k = 0; k < w[i].bytes;) {
            int32_t ch = 0;
            const bool is_inner = k > 0;
            k += (size_t)pod_utf8_decode(text + w[i].at + k, w[i].bytes - k, &ch);
            of[ch].count += w[i].count;
            of[ch].is_inner = of[ch].is_inner || is_inner;
        }
    }
}

static pod_status add_letters(trainer *t, letter *l, int n)
{
    char text[8] = "##";
    for (int i = 0; i < n; i++) {
        text[2 + pod_utf8_encode(l[i].c, text + 2)] = '\0';
        l[i].first_id = take_token(t, text + 2);
        if (l[i].first_id < 0) return POD_E_NOMEM;
    }
    for (int i = 0; i < n; i++) {
        if (!l[i].is_inner) continue;
        text[2 + pod_utf8_encode(l[i].c, text + 2)] = '\0';
        l[i].inner_id = take_token(t, text);
        if (l[i].inner_id < 0) return POD_E_NOMEM;
    }
    return POD_OK;
}

/* Keeps the most frequent letters, in the order of code points, at the front of `l`. */
static pod_status make_alphabet(trainer *t, const pod_word_counts *c, letter *l, int *n_letters)
{
    int n = 0, n_tokens = POD_N_SPECIALS;
    for (int32_t i = 0; i < N_CODE_POINTS; i++) l[i].c = i;
    count_letters(c, l);
    for (int32_t i = 0; i < N_CODE_POINTS; i++)
        if (l[i].count > 0) l[n++] = l[i];
    qsort(l, (size_t)n, sizeof *l, by_count);
    if (n > t->options->n_alphabet) n = t->options->n_alphabet;
    qsort(l, (size_t)n, sizeof *l, by_code_point);
    for (int i = 0; i < n; i++) n_tokens += 1 + l[i].is_inner;
    if (n_tokens > t->options->size)
        return pod_fail(POD_E_INVALID,
                        "size: a vocabulary of %" PRId64
                        " tokens has no room for %d special tokens and %d characters, want %d or "
                        "more",
                        t->options->size, (int)POD_N_SPECIALS, n, n_tokens);
    for (int k = 0; k < POD_N_SPECIALS; k++)
        if (take_token(t, pod_special_token[k]) < 0) return POD_E_NOMEM;
    *n_letters = n;
    return add_letters(t, l, n);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const letter *find_letter(const letter *l, int n, int32_t c)
{
    const letter wanted = {.c = c};
    int low = 0;
    for (int high = n; low < high;) {
        const int mid = low + (high - low) / 2;
        if (l[mid].c < wanted.c)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && l[low].c == c ? &l[low] : NULL;
}

/* Returns the number of characters, or 0 if one is not in the alphabet. */
static int32_t spell(const letter *l, int n_letters, const char *text, size_t bytes, int32_t *id)
{
    int32_t n = 0, c = 0;
    for (size_t k = 0; k < bytes; n++) {
        const bool is_first = k == 0;
        k += (size_t)pod_utf8_decode(text + k, bytes - k, &c);
        const letter *found = find_letter(l, n_letters, c);
        if (!found) return 0;
        id[n] = is_first ? found->first_id : found->inner_id;
    }
    return n;
}

static pod_status make_words(trainer *t, const pod_word_counts *c, const letter *l, int n_letters)
{
    const pod_word_count *w;
    const char *text;
    const size_t n = pod_word_counts_list(c, &w, &text);
    size_t total = 0, used = 0;
    for (size_t i = 0; i < n; i++) total += w[i].bytes;
    t->ids = malloc((total ? total : 1) * sizeof(int32_t));
    t->word = malloc((n ? n : 1) * sizeof *t->word);
    if (!t->ids || !t->word || n > INT32_MAX)
        return pod_fail(POD_E_NOMEM, "no memory for %zu words", n);
    for (size_t i = 0; i < n; i++) {
        int32_t *id = (int32_t *)t->ids + used;
        if (is_long(text + w[i].at, w[i].bytes)) continue;
        const int32_t n_ids = spell(l, n_letters, text + w[i].at, w[i].bytes, id);
        if (n_ids == 0) continue;
        used += (size_t)n_ids;
        t->word[t->n_words++] = (word){id, n_ids, w[i].count};
    }
    return POD_OK;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static size_t pair_place(const trainer *t, int32_t left, int32_t right)
{
    const int32_t key[] = {left, right};
    size_t i = (size_t)spread(pod_hash_bytes(POD_HASH_START, key, sizeof key));
    for (;; i++) {
        const int32_t at = t->pair_slot[i & (t->n_pair_slots - 1)];
        if (at == 0) break;
        const pair *p = (const pair *)t->pair + (at - 1);
        if (p->left == left && p->right == right) break;
    }
    return i & (t->n_pair_slots - 1);
}

static pod_status grow_pair_table(trainer *t)
{
    const size_t n = t->n_pair_slots ? 2 * t->n_pair_slots : 4096;
    int32_t *slot = calloc(n, sizeof *slot);
    if (!slot || n > INT32_MAX) {
        free(slot);
        return pod_fail(POD_E_NOMEM, "no memory for %zu pairs of tokens", n / 2);
    }
    free(t->pair_slot);
    t->pair_slot = slot;
    t->n_pair_slots = n;
    for (size_t i = 0; i < t->n_pairs; i++) {
        const pair *p = (const pair *)t->pair + i;
        slot[pair_place(t, p->left, p->right)] = (int32_t)i + 1;
    }
    return POD_OK;
}

/* Finds or makes the pair and adds to its count; a word that gets it joins its words. */
static pod_status add_to_pair(trainer *t, int32_t left, int32_t right, int64_t count,
                              int32_t word_index)
{
    if (2 * t->n_pairs >= t->n_pair_slots) POD_TRY(grow_pair_table(t));
    int32_t *slot = &t->pair_slot[pair_place(t, left, right)];
    if (*slot == 0) {
        POD_TRY(pod__make_room(&t->pair, sizeof(pair), &t->pair_room, t->n_pairs + 1));
        ((pair *)t->pair)[t->n_pairs] = (pair){.left = left, .right = right};
        *slot = (int32_t)++t->n_pairs;
    }
    pair *p = (pair *)t->pair + (*slot - 1);
    p->count += count;
    if (count < 0) return POD_OK;
    if (p->n_words > 0 && ((int32_t *)p->words)[p->n_words - 1] == word_index) return POD_OK;
    POD_TRY(pod__make_room(&p->words, sizeof word_index, &p->room, p->n_words + 1));
    ((int32_t *)p->words)[p->n_words++] = word_index;
    return POD_OK;
}

/* ---- the heap: the most frequent pair at its root -------------------------------------------- */

static bool is_before(const entry *x, const entry *y)
{
    if (x->count != y->count) return x->count > y->count;
    return x->left != y->left ? x->left < y->left : x->right < y->right;
}

static pod_status push(trainer *t, const pair *p)
{
    POD_TRY(pod__make_room(&t->heap, sizeof(entry), &t->heap_room, t->n_heap + 1));
    entry *heap = t->heap;
    const entry e = {p->count, p->left, p->right, (int32_t)(p - (const pair *)t->pair)};
    size_t i = t->n_heap++;
    for (; i > 0 && is_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = e;
    return POD_OK;
}

static entry pop(trainer *t)
{
    entry *heap = t->heap;
    const entry root = heap[0], last = heap[--t->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < t->n_heap; i = child) {
        if (child + 1 < t->n_heap && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &last)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return root;
}

/* The most frequent pair, or NULL at the end. A count that fell since its entry was put there is put
 * back as it is now; one that rose has a later entry. */
static pod_status pop_best(trainer *t, pair **out)
{
    *out = NULL;
    while (t->n_heap > 0) {
        const entry e = pop(t);
        pair *p = (pair *)t->pair + e.pair;
        if (e.count == p->count && p->count >= t->options->min_count) {
            *out = p;
            return POD_OK;
        }
        if (e.count > p->count && p->count >= t->options->min_count) POD_TRY(push(t, p));
    }
    return POD_OK;
}

/* ---- merging --------------------------------------------------------------------------------- */

static pod_status count_pairs(trainer *t, int32_t word_index, int sign)
{
    const word *w = &t->word[word_index];
    for (int32_t i = 0; i + 1 < w->n; i++)
        POD_TRY(add_to_pair(t, w->id[i], w->id[i + 1], sign * w->count, word_index));
    return POD_OK;
}

static bool has_pair(const word *w, int32_t left, int32_t right)
{
    for (int32_t i = 0; i + 1 < w->n; i++)
        if (w->id[i] == left && w->id[i + 1] == right) return true;
    return false;
}

static void join(word *w, int32_t left, int32_t right, int32_t joined)
{
    int32_t to = 0;
    for (int32_t i = 0; i < w->n; to++) {
        const bool is_here = i + 1 < w->n && w->id[i] == left && w->id[i + 1] == right;
        w->id[to] = is_here ? joined : w->id[i];
        i += is_here ? 2 : 1;
    }
    w->n = to;
}

/* Puts the pairs of the word that have the new token into the heap. */
static pod_status push_new(trainer *t, const word *w, int32_t joined)
{
    for (int32_t i = 0; i + 1 < w->n; i++) {
        if (w->id[i] != joined && w->id[i + 1] != joined) continue;
        const int32_t at = t->pair_slot[pair_place(t, w->id[i], w->id[i + 1])];
        POD_TRY(push(t, (const pair *)t->pair + (at - 1)));
    }
    return POD_OK;
}

/* The pair's words are taken from it first: counting moves the pairs. */
static pod_status merge_words(trainer *t, const pair *best, int32_t joined)
{
    const int32_t left = best->left, right = best->right, *of = best->words;
    const size_t n = best->n_words;
    pod_status s = POD_OK;
    for (size_t i = 0; i < n && s == POD_OK; i++) {
        word *w = &t->word[of[i]];
        if (!has_pair(w, left, right)) continue;
        s = count_pairs(t, of[i], -1);
        join(w, left, right, joined);
        if (s == POD_OK) s = count_pairs(t, of[i], 1);
        if (s == POD_OK) s = push_new(t, w, joined);
    }
    return s;
}

static pod_status merge(trainer *t, pair *best)
{
    char text[2 * POD_TOKEN_MAX_BYTES];
    snprintf(text, sizeof text, "%s%s", t->token[best->left], t->token[best->right] + 2);
    const int32_t joined = take_token(t, text);
    if (joined < 0) return POD_E_NOMEM;
    pair taken = *best;
    best->words = NULL;
    best->n_words = best->room = 0;
    const pod_status s = merge_words(t, &taken, joined);
    free(taken.words);
    return s;
}

static pod_status train(trainer *t)
{
    for (int32_t i = 0; i < t->n_words; i++) POD_TRY(count_pairs(t, i, 1));
    for (size_t i = 0; i < t->n_pairs; i++) POD_TRY(push(t, (const pair *)t->pair + i));
    while (t->n_tokens < t->options->size) {
        pair *best;
        POD_TRY(pop_best(t, &best));
        if (!best) break;
        POD_TRY(merge(t, best));
    }
    return POD_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static pod_status start(trainer *t)
{
    for (t->n_token_slots = 1024; t->n_token_slots < 2 * (size_t)t->options->size;)
        t->n_token_slots *= 2;
    t->token_slot = calloc(t->n_token_slots, sizeof *t->token_slot);
    t->token = POD_ARENA_NEW(t->arena, const char *, t->options->size + 1);
    return t->token_slot && t->token
               ? POD_OK
               : pod_fail(POD_E_NOMEM, "no memory for %" PRId64 " tokens", t->options->size);
}

static pod_status train_from(trainer *t, const pod_word_counts *c)
{
    int n_letters;
    letter *l = calloc(N_CODE_POINTS, sizeof *l);
    if (!l) return pod_fail(POD_E_NOMEM, "no memory for an alphabet");
    pod_status s = start(t);
    if (s == POD_OK) s = make_alphabet(t, c, l, &n_letters);
    if (s == POD_OK) s = make_words(t, c, l, n_letters);
    free(l);
    return s == POD_OK ? train(t) : s;
}

pod_status pod_vocab_train(const pod_word_counts *c, const pod_vocab_options *options, pod_arena *a,
                           int64_t *n, const char *const **token)
{
    trainer t = {.arena = a, .options = options};
    const pod_status s = train_from(&t, c);
    for (size_t i = 0; i < t.n_pairs; i++) free(((pair *)t.pair)[i].words);
    free(t.pair);
    free(t.pair_slot);
    free(t.heap);
    free(t.word);
    free(t.ids);
    free(t.token_slot);
    POD_TRY(s);
    *n = t.n_tokens;
    *token = t.token;
    return POD_OK;
}
