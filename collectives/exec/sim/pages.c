/* Memory of which each event needs a little, elsewhere: in large pages, where the system has some,
 * it is found sooner. What is not touched is not taken. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include <sys/mman.h>

#include "collectives/exec/sim/core.h"

void *pod__sim_take_pages(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    (void)madvise(at, bytes, MADV_HUGEPAGE);
#endif
    return at;
}

void pod__sim_put_pages(void *at, size_t bytes)
{
    if (at) (void)munmap(at, bytes);
}
