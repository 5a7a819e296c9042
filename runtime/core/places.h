/* The number of decimals to print. */
#ifndef MINIPOD_RUNTIME_CORE_PLACES_H
#define MINIPOD_RUNTIME_CORE_PLACES_H

/* Returns the decimals with which to print an accuracy: 4, or more if it would otherwise look equal
 * to a different target. Target 0: none. */
int pod_places_apart(double accuracy, double target);

#endif
