/* The machine files of runtime/machine/presets, as the build put them into the program. */
#ifndef MINIPOD_RUNTIME_MACHINE_MACHINE_PRESETS_H
#define MINIPOD_RUNTIME_MACHINE_MACHINE_PRESETS_H

#include <stddef.h>

typedef struct pod__machine_preset {
    const char *name; /* name of the file without .conf */
    const char *text;
} pod__machine_preset;

extern const pod__machine_preset pod__machine_presets[]; /* ends with a NULL name */

#endif
