/* Shared by the files of this folder: arrays that grow. */
#ifndef MINIPOD_RUNTIME_TEXT_INNER_H
#define MINIPOD_RUNTIME_TEXT_INNER_H

#include <stdint.h>
#include <stdlib.h>

#include "kernels/base/status.h"

/* Makes room for n elements in *array, which malloc made or which is NULL; *room counts elements.
 * E_NOMEM. */
POD_MUST static inline pod_status pod__make_room(void **array, size_t element_bytes, size_t *room,
                                                 size_t n)
{
    if (n <= *room) return POD_OK;
    const size_t wanted = n < 64 ? 64 : n > SIZE_MAX / 4 ? n : n + n / 2;
    void *larger =
        wanted <= SIZE_MAX / element_bytes ? realloc(*array, wanted * element_bytes) : NULL;
    if (!larger) return pod_fail(POD_E_NOMEM, "no memory for %zu elements of text", wanted);
    *array = larger;
    *room = wanted;
    return POD_OK;
}

#endif
