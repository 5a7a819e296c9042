/* Finds the known name nearest to a name that does not exist. */
#ifndef MINIPOD_RUNTIME_CORE_NEAREST_H
#define MINIPOD_RUNTIME_CORE_NEAREST_H

/* The only one among `names` that begins so; else the one that takes the fewest letters to insert,
 * delete or change; NULL when even that one takes more than three, or more than half of the letters
 * given. */
const char *pod_nearest_name(const char *given, const char *const names[], int n);

#endif
