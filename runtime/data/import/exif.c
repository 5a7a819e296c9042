#include "runtime/data/import/exif.h"

#include <stdbool.h>
#include <string.h>

enum { UPRIGHT = 1, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, HEADER_BYTES = 8, ENTRY_BYTES = 12 };

static uint32_t number(const uint8_t *p, int n_bytes, bool is_little)
{
    uint32_t value = 0;
    for (int i = 0; i < n_bytes; i++) value = value << 8 | p[is_little ? n_bytes - 1 - i : i];
    return value;
}

/* Header: byte order, 42, position of the first directory; a directory: the number of its entries,
 * then of each the tag (2 bytes), type (2), count (4) and value (4, a short in the first two). */
int pod__exif_orientation(const uint8_t *tiff, size_t bytes)
{
    if (bytes < HEADER_BYTES) return UPRIGHT;
    const bool is_little = memcmp(tiff, "II", 2) == 0;
    if (!is_little && memcmp(tiff, "MM", 2) != 0) return UPRIGHT;
    if (number(tiff + 2, 2, is_little) != 42) return UPRIGHT;
    size_t at = number(tiff + 4, 4, is_little);
    if (at > bytes - 2) return UPRIGHT;
    uint32_t n = number(tiff + at, 2, is_little);
    at += 2;
    for (; n > 0 && bytes - at >= ENTRY_BYTES; n--, at += ENTRY_BYTES) {
        const uint8_t *entry = tiff + at;
        if (number(entry, 2, is_little) != TAG_ORIENTATION) continue;
        const uint32_t value = number(entry + 8, 2, is_little);
        const bool is_good = number(entry + 2, 2, is_little) == TYPE_SHORT && value >= 1;
        return is_good && value <= 8 ? (int)value : UPRIGHT;
    }
    return UPRIGHT;
}
