/* From a model's name to the network that the runtime trains. */
#ifndef MINIPOD_BENCH_COMMON_MODELS_H
#define MINIPOD_BENCH_COMMON_MODELS_H

#include "models/model.h"
#include "runtime/train/network.h"

typedef struct pod_network_choice { /* what the network's builder needs */
    const pod_model *model;
    const pod_setup *setup;
} pod_network_choice;

/* E_INVALID with the nearest name when the setup's model is none of the table. `choice` and the
 * setup must stay where they are as long as the network is used. */
POD_MUST pod_status pod_network_choose(const pod_setup *s, pod_network_choice *choice,
                                       pod_network *out);

#endif
