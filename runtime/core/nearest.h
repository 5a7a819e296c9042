/* Finds the known name nearest to a name that does not exist. */
#ifndef MINIPOD_RUNTIME_CORE_NEAREST_H
#define MINIPOD_RUNTIME_CORE_NEAREST_H

/* Returns the only one of `names` that begins with `given`; else the one that is the fewest letters
 * (inserted, deleted or changed) away; NULL if these are more than three, or more than half of the
 * letters given. */
const char *pod_nearest_name(const char *given, const char *const names[], int n);

#endif
