/* The number of decimals to print. */
#ifndef MINIPOD_RUNTIME_CORE_PLACES_H
#define MINIPOD_RUNTIME_CORE_PLACES_H

/* Returns 4, or as many as it takes to print an accuracy differently from a target that it does not
 * equal; a target of 0 is none. */
int pod_places_apart(double accuracy, double target);

#endif
