#include "bench/simulate/options.h"

static bool is_typed(const pod_config *c, pod_opt o)
{
    return pod_config_source(c, o) == POD_FROM_COMMAND_LINE;
}

static const char *name_of(pod_opt o)
{
    int n;
    return pod_options(&n)[o].name;
}

static pod_status check_job(const pod_config *c)
{
    static const pod_opt ours[] = {POD_OPT_MTBF, POD_OPT_FAULTS_FROM, POD_OPT_INTERVAL,
                                   POD_OPT_NODES, POD_OPT_MESHES},
                         shared[] = {POD_OPT_SCALING, POD_OPT_WATCHDOG, POD_OPT_CHECKPOINT};
    pod_opt found = POD_N_OPTS;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (pod_config_is_set(c, ours[i])) found = ours[i];
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        if (is_typed(c, shared[i])) found = shared[i];
    if (found == POD_N_OPTS) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: of a long job: with --job days=30, say", name_of(found));
}

static pod_status check_target(const pod_config *c)
{
    static const pod_opt lengths[] = {POD_OPT_EPOCHS, POD_OPT_STEPS};
    if (!pod_config_bool(c, POD_OPT_TO_TARGET)) {
        if (!pod_config_is_set(c, POD_OPT_START_UP)) return POD_OK;
        return pod_fail(POD_E_INVALID, "start-up: of a training: with --to-target or --job");
    }
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (is_typed(c, lengths[i]))
            return pod_fail(POD_E_INVALID,
                            "%s: --to-target takes as many epochs as the batch is known to need",
                            name_of(lengths[i]));
    return POD_OK;
}

pod_status pod_simulate_options_of_step(const pod_config *c)
{
    static const pod_opt of_course[] = {
        POD_OPT_LR,     POD_OPT_LR_PER,     POD_OPT_LR_SCHEDULE, POD_OPT_WARMUP,
        POD_OPT_END_LR, POD_OPT_POLY_POWER, POD_OPT_DECAY_RATE,  POD_OPT_DECAY_EPOCHS,
        POD_OPT_EPOCHS, POD_OPT_STEPS};
    for (size_t i = 0; i < sizeof of_course / sizeof of_course[0]; i++)
        if (is_typed(c, of_course[i]))
            return pod_fail(POD_E_INVALID,
                            "%s: of a training's course: a step takes as long whatever it is%s",
                            name_of(of_course[i]),
                            of_course[i] == POD_OPT_STEPS ? "; --repeat simulates several" : "");
    return POD_OK;
}

pod_status pod_simulate_options_check(const pod_config *c)
{
    POD_TRY(check_job(c));
    POD_TRY(check_target(c));
    return pod_simulate_options_of_step(c);
}

pod_status pod_simulate_options_suit(const pod_config *c, const pod_planned *p)
{
    static const pod_opt of_host[] = {POD_OPT_FUSION, POD_OPT_TILE, POD_OPT_IMPL};
    if (!pod_machine_is_virtual(&p->machine)) return POD_OK;
    for (size_t i = 0; i < sizeof of_host / sizeof of_host[0]; i++)
        if (is_typed(c, of_host[i]))
            return pod_fail(POD_E_INVALID,
                            "%s: of the kernels of --machine host; %s has a compiler's",
                            name_of(of_host[i]), p->machine.name);
    return POD_OK;
}

static bool has_link_fault(const pod_planned *p)
{
    for (int i = 0; i < p->n_faults; i++)
        if (p->fault[i].kind == POD_FAULT_LINK) return true;
    return false;
}

pod_status pod_simulate_options_used(const pod_planned *p, const pod_simulated *s)
{
    const char *found = NULL;
    if (s->use.n_messages > 0) return POD_OK;
    if (has_link_fault(p)) found = "fault: link";
    if (p->link_latency != 1) found = name_of(POD_OPT_LINK_LATENCY);
    if (p->link_bandwidth != 1) found = name_of(POD_OPT_LINK_BANDWIDTH);
    if (!found) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: nothing goes over a link: %s", found,
                    s->cores == 1 ? "there is one core"
                                  : "the ranks of a host share its memory, but with --algo ring, "
                                    "say, they send messages");
}
