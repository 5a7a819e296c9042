#include "kernels/base/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024, MAX_ALIGN = 64 };

typedef struct block {
    struct block *next;
    size_t used, bytes; /* of the data that follows this header */
} block;

struct pod_arena {
    pod_alloc from;
    block *blocks; /* the first one is being filled */
    block *spare;  /* empty ones */
    size_t total;
};

static atomic_long n_default_gets;

static void *default_get(void *ctx, size_t align, size_t bytes)
{
    (void)ctx;
    atomic_fetch_add_explicit(&n_default_gets, 1, memory_order_relaxed);
    size_t rounded = (bytes + align - 1) / align * align;
    if (rounded < bytes) return NULL;
    return aligned_alloc(align, rounded);
}

static void default_put(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

const pod_alloc pod_alloc_default = {default_get, default_put, NULL};

long pod_alloc_count(void) { return atomic_load(&n_default_gets); }

static size_t header_bytes(void) { return (sizeof(block) + MAX_ALIGN - 1) / MAX_ALIGN * MAX_ALIGN; }

pod_status pod_arena_create(const pod_alloc *from, pod_arena **out)
{
    const pod_alloc source = from ? *from : pod_alloc_default;
    pod_arena *a = source.get(source.ctx, MAX_ALIGN, sizeof *a);
    if (!a) return pod_fail(POD_E_NOMEM, "arena: no memory for %zu bytes", sizeof *a);
    *a = (pod_arena){.from = source};
    *out = a;
    return POD_OK;
}

void pod_arena_reset(pod_arena *a)
{
    while (a->blocks) {
        block *b = a->blocks;
        a->blocks = b->next;
        *b = (block){.next = a->spare, .bytes = b->bytes};
        a->spare = b;
    }
    a->total = 0;
}

void pod_arena_destroy(pod_arena *a)
{
    if (!a) return;
    pod_arena_reset(a);
    for (block *b = a->spare; b;) {
        block *next = b->next;
        a->from.put(a->from.ctx, b);
        b = next;
    }
    a->from.put(a->from.ctx, a);
}

static void *block_take(block *b, size_t align, size_t bytes)
{
    unsigned char *data = (unsigned char *)b + header_bytes();
    size_t past = ((uintptr_t)data + b->used) % align;
    size_t start = b->used + (past ? align - past : 0);
    if (start > b->bytes || bytes > b->bytes - start) return NULL;
    b->used = start + bytes;
    return data + start;
}

/* Puts an empty block of at least this many bytes first. */
static bool add_block(pod_arena *a, size_t bytes)
{
    block **at = &a->spare;
    while (*at && (*at)->bytes < bytes) at = &(*at)->next;
    block *b = *at;
    if (b) {
        *at = b->next;
    } else if (bytes + header_bytes() > bytes) {
        b = a->from.get(a->from.ctx, MAX_ALIGN, header_bytes() + bytes);
        if (b) *b = (block){.bytes = bytes};
    }
    if (!b) return false;
    b->next = a->blocks;
    a->blocks = b;
    return true;
}

void *pod_arena_get(pod_arena *a, size_t align, size_t bytes)
{
    void *p = a->blocks ? block_take(a->blocks, align, bytes) : NULL;
    if (!p) {
        const size_t need = bytes + align;
        if (need < bytes || !add_block(a, need > BLOCK_BYTES ? need : BLOCK_BYTES)) {
            (void)pod_fail(POD_E_NOMEM, "arena: no memory for %zu bytes", bytes);
            return NULL;
        }
        p = block_take(a->blocks, align, bytes);
    }
    a->total += bytes;
    memset(p, 0, bytes);
    return p;
}

void *pod_arena_get_array(pod_arena *a, size_t align, size_t element_bytes, size_t n)
{
    if (n <= SIZE_MAX / element_bytes) return pod_arena_get(a, align, n * element_bytes);
    (void)pod_fail(POD_E_NOMEM, "arena: no memory for %zu elements of %zu bytes", n, element_bytes);
    return NULL;
}

void *pod_arena_grow(pod_arena *a, void *array, size_t align, size_t element_bytes, size_t n)
{
    enum { LEAST = 16 };
    const bool is_full = n == 0 || (n >= LEAST && (n & (n - 1)) == 0);
    if (!is_full) return array;
    void *larger = pod_arena_get_array(a, align, element_bytes, n < LEAST ? LEAST : 2 * n);
    if (larger && n > 0) memcpy(larger, array, n * element_bytes);
    return larger;
}

void *pod_arena_copy(pod_arena *a, const void *src, size_t align, size_t bytes)
{
    void *p = pod_arena_get(a, align, bytes);
    if (p && bytes) memcpy(p, src, bytes);
    return p;
}

char *pod_arena_vtext(pod_arena *a, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *p = n < 0 ? NULL : pod_arena_get(a, 1, (size_t)n + 1);
    if (p) vsnprintf(p, (size_t)n + 1, fmt, args);
    return p;
}

char *pod_arena_text(pod_arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *p = pod_arena_vtext(a, fmt, args);
    va_end(args);
    return p;
}

size_t pod_arena_bytes(const pod_arena *a) { return a->total; }
