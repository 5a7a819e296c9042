/* FNV-1a, 64 bits (draft-eastlake-fnv), for fingerprints; not secure against an adversary. Start
 * with POD_HASH_START; hashing pieces one after the other gives the hash of their concatenation. */
#ifndef MINIPOD_KERNELS_BASE_HASH_H
#define MINIPOD_KERNELS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define POD_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t pod_hash_bytes(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Hashes a text with its closing 0, so that "ab", "c" and "a", "bc" differ. */
static inline uint64_t pod_hash_text(uint64_t h, const char *text)
{
    return pod_hash_bytes(h, text, strlen(text) + 1);
}

#endif
