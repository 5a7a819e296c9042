/* First fit. */
#include "runtime/fleet/place/grid.h"

bool pod__choose_first(pod__choice *c) { return pod__choose_free(c, false); }
