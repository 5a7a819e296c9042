/* The phases of a training step; the tables that a run prints have one row for each. */
#ifndef MINIPOD_RUNTIME_GRAPH_PHASE_H
#define MINIPOD_RUNTIME_GRAPH_PHASE_H

typedef enum pod_phase {
    POD_PHASE_INPUT,
    POD_PHASE_FORWARD,
    POD_PHASE_BACKWARD,
    POD_PHASE_REDUCE,
    POD_PHASE_UPDATE,
    POD_N_PHASES
} pod_phase;

static inline const char *pod_phase_name(pod_phase p)
{
    static const char *const name[POD_N_PHASES] = {"input", "forward", "backward", "reduce",
                                                   "update"};
    return name[p];
}

#endif
