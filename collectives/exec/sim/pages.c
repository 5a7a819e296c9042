#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "collectives/exec/sim/pages.h"

#include <sys/mman.h>

void *pod__sim_take_pages(size_t bytes)
{
    void *at = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    (void)madvise(at, bytes, MADV_HUGEPAGE);
#endif
    return at;
}

void pod__sim_put_pages(void *at, size_t bytes)
{
    if (at) (void)munmap(at, bytes + 1);
}
