/* The orientation that a camera noted: tag 0x0112 of EXIF's first directory, and nothing else of
 * EXIF. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_EXIF_H
#define MINIPOD_RUNTIME_DATA_IMPORT_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* tiff: the EXIF data from the byte order ("II" or "MM") on. Answers 1 to 8; 1, upright, where the
 * tag is missing, has another value, or the data are damaged. */
int pod__exif_orientation(const uint8_t *tiff, size_t bytes);

#endif
