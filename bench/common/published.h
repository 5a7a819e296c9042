/* Published times of TPU pods, the rows of published.def: a simulation can be one of them
 * (--preset), is held against the nearest, and `simulate --validate` predicts all. */
#ifndef MINIPOD_BENCH_COMMON_PUBLISHED_H
#define MINIPOD_BENCH_COMMON_PUBLISHED_H

#include <stdio.h>

#include "bench/common/planned.h"
#include "runtime/core/json.h"

typedef enum pod_row_kind {
    POD_ROW_FITTED,
    POD_ROW_PREDICTED,
    POD_ROW_APART,
    POD_N_ROW_KINDS
} pod_row_kind;

typedef struct pod_published {
    const char *preset; /* unique */
    const char *name;
    int group;
    pod_row_kind kind;
    const char *settings;
    double steps, evaluations, seconds, share; /* share in % */
    const char *source;
} pod_published;

enum { POD_N_PUBLISHED = 11 };
extern const pod_published pod_published_rows[POD_N_PUBLISHED];

/* The settings of a row and nothing else: gradients go in one bucket and nothing hides it. */
POD_MUST pod_status pod_published_config(const pod_published *r, pod_config **out);
/* A line a row: preset, published time, what it is of. */
void pod_published_list(FILE *to);

/* The settings with what --preset and --cores ask for: those of the preset where nobody has set
 * others, and the mesh of the slice with so many cores; `takes_several`: --cores may list several,
 * which become --meshes. E_INVALID for a preset or slice that there is none of, with the nearest, and
 * where --cores and a mesh are both typed. The caller destroys `out`. */
POD_MUST pod_status pod_published_settle(const pod_config *given, bool takes_several,
                                         pod_config **out);

typedef struct pod_nearest {
    const pod_published *row; /* NULL: none, the machine is a host */
    double step_s;            /* published, evaluations included */
    const char *differs;      /* "mesh 2x8x8, not 2x4x4; ...", in the arena; "": in nothing */
} pod_nearest;

/* The row that is nearest to what is simulated: of the same model and machine, then of as many cores
 * and samples a core. */
POD_MUST pod_status pod_published_nearest(const pod_config *c, const pod_planned *p,
                                          pod_arena *arena, pod_nearest *out);

/* Key "published": null, or preset, published_s and what differs. */
void pod_published_put(const pod_nearest *n, pod_json *j);

#endif
