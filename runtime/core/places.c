#include "runtime/core/places.h"

#include <stdio.h>
#include <string.h>

enum { LEAST = 4, MOST = 17 };

int pod_places_apart(double accuracy, double target)
{
    int places = LEAST;
    if (!(target > 0) || !(accuracy < target || accuracy > target)) return places;
    for (; places < MOST; places++) {
        char a[64], b[64];
        snprintf(a, sizeof a, "%.*f", places, accuracy);
        snprintf(b, sizeof b, "%.*f", places, target);
        if (strcmp(a, b) != 0) break;
    }
    return places;
}
