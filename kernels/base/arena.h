/* An arena: many allocations, one release. For data that live as long as a graph or a program. */
#ifndef MINIPOD_KERNELS_BASE_ARENA_H
#define MINIPOD_KERNELS_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "kernels/base/status.h"

/* The allocator of an arena. A test can pass one whose n-th request fails. `get` returns NULL when
 * there is no memory. `align` is a power of two. */
typedef struct pod_alloc {
    void *(*get)(void *ctx, size_t align, size_t bytes);
    void (*put)(void *ctx, void *p);
    void *ctx;
} pod_alloc;

extern const pod_alloc pod_alloc_default; /* aligned_alloc and free */

/* Returns how often this process has requested memory from pod_alloc_default. A training step must
 * not change it. */
long pod_alloc_count(void);

typedef struct pod_arena pod_arena;

/* Creates an arena. `from` is copied, and its ctx must outlive the arena; NULL:
 * pod_alloc_default. */
POD_MUST pod_status pod_arena_create(const pod_alloc *from, pod_arena **out);
void pod_arena_destroy(pod_arena *a); /* frees all its memory; NULL is allowed */
/* Makes all memory that the arena returned invalid, and reuses it for later requests. */
void pod_arena_reset(pod_arena *a);

/* Returns zeroed memory aligned to `align` (a power of two), valid until the arena is destroyed.
 * `bytes` may be 0. Returns NULL, with an error text, if there is no memory: the caller then
 * returns POD_E_NOMEM. */
void *pod_arena_get(pod_arena *a, size_t align, size_t bytes);

/* The same for n elements of `element_bytes`. Returns NULL also if the product overflows a size_t,
 * as it does for a negative count that was cast. */
void *pod_arena_get_array(pod_arena *a, size_t align, size_t element_bytes, size_t n);

/* Return copies in the arena, or NULL as above. */
void *pod_arena_copy(pod_arena *a, const void *src, size_t align, size_t bytes);
char *pod_arena_text(pod_arena *a, const char *fmt, ...) POD_PRINTF(2, 3);
char *pod_arena_vtext(pod_arena *a, const char *fmt, va_list args) POD_PRINTF(2, 0);

size_t pod_arena_bytes(const pod_arena *a); /* allocated so far */

/* Call it before appending element n to an array of n elements. If n is 0 or a power of two from 16
 * on, returns a copy with room for more elements (2 n for n > 0), else the array itself. Returns
 * NULL without memory. */
void *pod_arena_grow(pod_arena *a, void *array, size_t align, size_t element_bytes, size_t n);
#define POD_ARENA_GROW(arena, array, n) \
    pod_arena_grow((arena), (array), _Alignof(max_align_t), sizeof((array)[0]), (size_t)(n))

#define POD_ARENA_NEW(arena, type, n) \
    ((type *)pod_arena_get_array((arena), _Alignof(type), sizeof(type), (size_t)(n)))

#endif
