/* Weight gradient of 3x3 windows of 16 channels by 16 filters on lines of 32 pixels, for
 * amx_dw/lines.c. The layout is that of amx_dw/lines.h for two images: a pair is one column of
 * both, so the next tap of a filter's row reads the pairs one row further on. Lines are packed in
 * pieces between the products of the previous lines. */
#ifndef MINIPOD_KERNELS_CONV_AMX_DW_PAIRS_H
#define MINIPOD_KERNELS_CONV_AMX_DW_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/conv/conv.h"

bool pod__dw_pairs_takes(const pod_conv_call *call);
size_t pod__dw_pairs_scratch_bytes(void);
void pod__dw_pairs_run(const pod_conv_call *call, void *scratch);

#endif
