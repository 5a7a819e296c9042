/* Buddies: halves of halves. A slice has a power of two of cells in each direction and lies at a
 * multiple of its sides, so that two neighbours that are free make a free box of twice the size.
 * What a job did not ask for of it is rounding. */
#include "runtime/fleet/place/grid.h"

bool pod__choose_buddy(pod__choice *c) { return pod__choose_free(c, true); }
