#include "bench/simulate/simulate.h"

typedef struct refusal {
    pod_opt option;
    bool if_typed; /* else wherever it is set */
    const char *why;
} refusal;

static bool is_typed(const pod_config *c, pod_opt o)
{
    return pod_config_source(c, o) == POD_FROM_COMMAND_LINE;
}

static pod_status check(const pod_config *c, const refusal r[], int n)
{
    int n_options;
    for (int i = 0; i < n; i++)
        if (r[i].if_typed ? is_typed(c, r[i].option) : pod_config_is_set(c, r[i].option))
            return pod_fail(POD_E_INVALID, "%s: %s", pod_options(&n_options)[r[i].option].name,
                            r[i].why);
    return POD_OK;
}

#define CHECK(config, refusals) check(config, refusals, (int)(sizeof refusals / sizeof refusals[0]))

#define COURSE "of a training's course: a step takes as long whatever it is"

pod_status pod_simulate_options_of_step(const pod_config *c)
{
    static const refusal of_course[] = {
        {POD_OPT_LR, true, COURSE},
        {POD_OPT_LR_PER, true, COURSE},
        {POD_OPT_LR_SCHEDULE, true, COURSE},
        {POD_OPT_WARMUP, true, COURSE},
        {POD_OPT_END_LR, true, COURSE},
        {POD_OPT_POLY_POWER, true, COURSE},
        {POD_OPT_DECAY_RATE, true, COURSE},
        {POD_OPT_DECAY_EPOCHS, true, COURSE},
        {POD_OPT_EPOCHS, true, COURSE},
        {POD_OPT_STEPS, true, COURSE "; --repeat simulates several"}};
    return CHECK(c, of_course);
}

#define LONG    "of a long job: with --job days=30, say"
#define AS_MANY "--to-target takes as many epochs as the batch is known to need"

pod_status pod_simulate_options_check(const pod_config *c)
{
    static const refusal of_jobs[] = {
        {POD_OPT_MTBF, false, LONG},     {POD_OPT_FAULTS_FROM, false, LONG},
        {POD_OPT_INTERVAL, false, LONG}, {POD_OPT_NODES, false, LONG},
        {POD_OPT_MESHES, false, LONG},   {POD_OPT_SCALING, true, LONG},
        {POD_OPT_WATCHDOG, true, LONG},  {POD_OPT_CHECKPOINT, true, LONG}};
    static const refusal of_target[] = {{POD_OPT_EPOCHS, true, AS_MANY},
                                        {POD_OPT_STEPS, true, AS_MANY}};
    static const refusal of_training[] = {
        {POD_OPT_START_UP, false, "of a training: with --to-target or --job"}};
    POD_TRY(CHECK(c, of_jobs));
    POD_TRY(pod_config_bool(c, POD_OPT_TO_TARGET) ? CHECK(c, of_target) : CHECK(c, of_training));
    return pod_simulate_options_of_step(c);
}

pod_status pod_simulate_options_suit(const pod_config *c, const pod_planned *p)
{
    static const refusal of_host[] = {
        {POD_OPT_FUSION, true, "of the kernels of --machine host; a pod has a compiler's"},
        {POD_OPT_TILE, true, "of the kernels of --machine host; a pod has a compiler's"},
        {POD_OPT_IMPL, true, "of the kernels of --machine host; a pod has a compiler's"}};
    return pod_machine_is_virtual(&p->machine) ? CHECK(c, of_host) : POD_OK;
}

pod_status pod_simulate_options_used(const pod_planned *p, const pod_simulated *s)
{
    const char *found = pod_simulate_has_fault(p, POD_FAULT_LINK) ? "fault: link" : NULL;
    if (p->link_latency != 1) found = "link-latency";
    if (p->link_bandwidth != 1) found = "link-bandwidth";
    if (!found || s->use.n_messages > 0) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: nothing goes over a link: %s", found,
                    s->cores == 1 ? "there is one core"
                                  : "the ranks of a host share its memory, but with --algo ring, "
                                    "say, they send messages");
}
