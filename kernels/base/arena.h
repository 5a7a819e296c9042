/* An arena: many allocations, one release. For what lives as long as a graph or a program. */
#ifndef MINIPOD_KERNELS_BASE_ARENA_H
#define MINIPOD_KERNELS_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "kernels/base/status.h"

/* Where memory comes from; injectable, so that a test can fail the n-th request. `get` answers NULL
 * when there is none. `align` is a power of two. */
typedef struct pod_alloc {
    void *(*get)(void *ctx, size_t align, size_t bytes);
    void (*put)(void *ctx, void *p);
    void *ctx;
} pod_alloc;

extern const pod_alloc pod_alloc_default; /* aligned_alloc and free */

/* How often this process has asked pod_alloc_default for memory: a training step must not move
 * it. */
long pod_alloc_count(void);

typedef struct pod_arena pod_arena;

/* `from` may be NULL: pod_alloc_default. It is copied; its ctx must outlive the arena. */
POD_MUST pod_status pod_arena_create(const pod_alloc *from, pod_arena **out);
void pod_arena_destroy(pod_arena *a); /* frees all that came out of it; NULL is allowed */

/* Zeroed memory aligned to `align` (a power of two), or NULL with the failure recorded: the caller
 * returns POD_E_NOMEM. `bytes` may be 0. Alive until the arena is destroyed. */
void *pod_arena_get(pod_arena *a, size_t align, size_t bytes);

/* The same for n elements of `element_bytes`; NULL as above, also where their product is more than
 * a size_t holds (a negative count that was cast is such an n). */
void *pod_arena_get_array(pod_arena *a, size_t align, size_t element_bytes, size_t n);

/* Copies; NULL as above. */
void *pod_arena_copy(pod_arena *a, const void *src, size_t align, size_t bytes);
char *pod_arena_text(pod_arena *a, const char *fmt, ...) POD_PRINTF(2, 3);
char *pod_arena_vtext(pod_arena *a, const char *fmt, va_list args) POD_PRINTF(2, 0);

size_t pod_arena_bytes(const pod_arena *a); /* what has been handed out so far */

/* The array of n elements, or a copy with room for twice as many where n is 0 or a power of two from 16
 * on: an array that has grown by one at a time has room for one more. NULL without memory. */
void *pod_arena_grow(pod_arena *a, void *array, size_t align, size_t element_bytes, size_t n);
#define POD_ARENA_GROW(arena, array, n) \
    pod_arena_grow((arena), (array), _Alignof(max_align_t), sizeof((array)[0]), (size_t)(n))

#define POD_ARENA_NEW(arena, type, n) \
    ((type *)pod_arena_get_array((arena), _Alignof(type), sizeof(type), (size_t)(n)))

#endif
