/* Published times of TPU pods, the rows of published.def. `simulate --preset` simulates one of
 * them, every simulation of a pod shows the nearest one, and `simulate --validate` predicts all. */
#ifndef MINIPOD_BENCH_COMMON_PUBLISHED_H
#define MINIPOD_BENCH_COMMON_PUBLISHED_H

#include <stdio.h>

#include "bench/common/planned.h"
#include "runtime/core/json.h"

typedef enum pod_row_kind { POD_ROW_FITTED, POD_ROW_PREDICTED, POD_N_ROW_KINDS } pod_row_kind;

typedef struct pod_published {
    const char *preset; /* unique */
    const char *name;
    int group;
    pod_row_kind kind;
    const char *settings;
    double steps, evaluations, seconds, share; /* share in % */
    const char *source;
} pod_published;

enum { POD_N_PUBLISHED = 19 };
extern const pod_published pod_published_rows[POD_N_PUBLISHED];

/* Creates the settings of a row, with all gradients in one bucket after backward. */
POD_MUST pod_status pod_published_config(const pod_published *r, pod_config **out);
/* Prints a line per row: preset, published time, name. */
void pod_published_list(FILE *to);

/* Creates the settings with --preset and --cores applied: options of the preset that were not
 * given, and the mesh of the slice with that number of cores; takes_several: --cores may list
 * several numbers, which become --meshes. Fails with E_INVALID, naming the nearest, for a preset or
 * slice that does not exist, and if both --cores and a mesh are on the command line. The caller
 * destroys `out`. */
POD_MUST pod_status pod_published_settle(const pod_config *given, bool takes_several,
                                         pod_config **out);

typedef struct pod_nearest {
    const pod_published *row; /* NULL if the machine is a host */
    double step_s;            /* published, evaluations included */
    const char *differs; /* "mesh 2x8x8, not 2x4x4; ...", in the arena; "" if nothing differs */
} pod_nearest;

/* Finds the row that is nearest to the simulation: first by model, then by machine, then by cores
 * and samples per core. */
POD_MUST pod_status pod_published_nearest(const pod_config *c, const pod_planned *p,
                                          pod_arena *arena, pod_nearest *out);

/* Puts the key "published": null, or an object with preset, published_s and differs. */
void pod_published_put(const pod_nearest *n, pod_json *j);

#endif
