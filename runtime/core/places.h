/* How many decimals a number is printed with. */
#ifndef MINIPOD_RUNTIME_CORE_PLACES_H
#define MINIPOD_RUNTIME_CORE_PLACES_H

/* 4, or as many more as it takes to print the accuracy apart from a target that it is not; a target
 * of 0 is none. */
int pod_places_apart(double accuracy, double target);

#endif
