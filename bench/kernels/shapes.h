/* The files of bench/shapes, as the build put them into the program. */
#ifndef MINIPOD_BENCH_KERNELS_SHAPES_H
#define MINIPOD_BENCH_KERNELS_SHAPES_H

typedef struct pod__shapes {
    const char *name; /* the file's, without .txt */
    const char *text;
} pod__shapes;

extern const pod__shapes pod__shape_sets[]; /* ends with a NULL name */

#endif
