#include "runtime/fleet/rank_set.h"

enum { BITS = 64 };

pod_status pod_rank_set_create(pod_arena *a, int n, pod_rank_set *out)
{
    pod_rank_set s = {.n = n, .n_words = n / BITS + 1};
    s.n_summary = s.n_words / BITS + 1;
    s.word = POD_ARENA_NEW(a, uint64_t, s.n_words);
    s.summary = POD_ARENA_NEW(a, uint64_t, s.n_summary);
    if (!s.word || !s.summary) return POD_E_NOMEM;
    *out = s;
    return POD_OK;
}

void pod_rank_set_add(pod_rank_set *s, int i)
{
    const uint64_t bit = UINT64_C(1) << (i % BITS);
    s->count += (s->word[i / BITS] & bit) == 0;
    s->word[i / BITS] |= bit;
    s->summary[i / BITS / BITS] |= UINT64_C(1) << (i / BITS % BITS);
}

void pod_rank_set_remove(pod_rank_set *s, int i)
{
    const uint64_t bit = UINT64_C(1) << (i % BITS);
    s->count -= (s->word[i / BITS] & bit) != 0;
    s->word[i / BITS] &= ~bit;
    if (s->word[i / BITS] == 0) s->summary[i / BITS / BITS] &= ~(UINT64_C(1) << (i / BITS % BITS));
}

/* The lowest bit from `from` on of the n words; -1: none. */
static int next_bit(const uint64_t word[], int n, int from)
{
    if (from >= n * BITS) return -1;
    int w = from / BITS;
    uint64_t bits = word[w] & (~UINT64_C(0) << (from % BITS));
    while (bits == 0) {
        if (++w == n) return -1;
        bits = word[w];
    }
    return w * BITS + __builtin_ctzll(bits);
}

int pod_rank_set_next(const pod_rank_set *s, int from)
{
    const int w = from / BITS;
    if (from >= s->n) return -1;
    const uint64_t here = s->word[w] & (~UINT64_C(0) << (from % BITS));
    if (here) return w * BITS + __builtin_ctzll(here);
    const int later = next_bit(s->summary, s->n_summary, w + 1);
    return later < 0 ? -1 : later * BITS + __builtin_ctzll(s->word[later]);
}
