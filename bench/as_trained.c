#include "bench/as_trained.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bench/config_share.h"
#include "bench/no_effect.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/data/dataset.h"
#include "runtime/optim/optim.h"

static bool is_length(pod_opt o) { return o == POD_OPT_STEPS || o == POD_OPT_EPOCHS; }
static bool is_batch(pod_opt o) { return o == POD_OPT_BATCH || o == POD_OPT_ACCUMULATE; }

/* ---- which options are taken ---- */

static int choose(const pod_call *call, uint32_t command, int ranks, pod_opt which[POD_N_OPTS])
{
    const pod_config *c = call->config;
    const bool has_length =
        pod_config_is_set(c, POD_OPT_STEPS) || pod_config_is_set(c, POD_OPT_EPOCHS);
    const bool has_other_ranks = pod_comm_size(call->comm) != ranks;
    int n = 0;
    for (int i = 0; i < POD_N_OPTS; i++) {
        const pod_opt o = (pod_opt)i;
        if (!pod_options[o].shapes || !(pod_options[o].commands & command)) continue;
        if (is_length(o) && has_length) continue;
        if (is_batch(o) && command == POD_CMD_EVAL && has_other_ranks) continue;
        which[n++] = o;
    }
    return n;
}

/* ---- what is told ---- */

const char *pod_as_trained_print(const pod_config *c, pod_arena *a)
{
    const char *text = "";
    for (int i = 0; i < POD_N_OPTS && text; i++) {
        const char *value = pod_config_value(c, (pod_opt)i);
        if (pod_config_source(c, (pod_opt)i) == POD_FROM_CHECKPOINT &&
            strcmp(value, pod_optim_default_of(c, (pod_opt)i)) != 0)
            text = pod_arena_text(a, "%s --%s %s", text, pod_options[(pod_opt)i].name, value);
    }
    return text ? text : "";
}

/* Whether `o` was given, and is not as the checkpoint `was`. Of a file the contents are compared
 * where it is read; a longer run is what resuming is for. */
static bool differs(const pod_config *c, const pod_config *was, pod_opt o)
{
    /* No image size is one; a hyper-parameter that the optimizer does not read is none. */
    const bool is_known = pod_config_is_set(was, o) ||
                          (pod_options[o].type == POD_OPTION_TEXT && !*pod_config_value(was, o));
    return is_known && pod_config_source(c, o) > POD_FROM_CHECKPOINT && !is_length(o) &&
           o != POD_OPT_DATA && !pod_config_is_same(c, was, o);
}

static pod_status list_differences(const pod_config *given, const pod_config *was, pod_arena *a,
                                   const char **out)
{
    const char *text = "";
    for (int i = 0; i < POD_N_OPTS && text; i++) {
        const pod_opt o = (pod_opt)i;
        const char *before = pod_config_value(was, o);
        if (!pod_options[o].shapes || !differs(given, was, o)) continue;
        text = pod_arena_text(a, "%s%s %s %s (was %s)", text, *text ? "," : "", pod_options[o].name,
                              pod_config_value(given, o), *before ? before : "not given");
    }
    *out = text;
    return text ? POD_OK : POD_E_NOMEM;
}

pod_status pod_as_trained_differs(const pod_config *given, const char *path, pod_arena *a,
                                  const char **out)
{
    pod_checkpoint_info info;
    pod_config *none, *was;
    pod_opt which[POD_N_OPTS];
    *out = "";
    POD_TRY(pod_checkpoint_find_info(path, a, &info));
    if (!*info.settings) return POD_OK; /* nothing is known */
    int n = 0;
    for (int i = 0; i < POD_N_OPTS; i++)
        if (pod_options[(pod_opt)i].shapes) which[n++] = (pod_opt)i;
    POD_TRY(pod_config_parse("", &none));
    pod_status s = pod_config_fill(none, info.settings, which, n, &was);
    pod_config_destroy(none);
    POD_TRY(s);
    s = list_differences(given, was, a, out);
    pod_config_destroy(was);
    return s;
}

/* ---- rank 0 ---- */

/* A relative path in a checkpoint is of the folder that training ran in. */
static pod_status check_data(const pod_config *c)
{
    const char *data = pod_config_text(c, POD_OPT_DATA);
    if (pod_config_source(c, POD_OPT_DATA) != POD_FROM_CHECKPOINT ||
        pod_dataset_is_synthetic(data) || access(data, F_OK) == 0)
        return POD_OK;
    return pod_fail(POD_E_IO,
                    "%s: %s; the checkpoint has a path from where training ran: --data FILE says "
                    "where it is",
                    data, strerror(errno));
}

static pod_status fill(const pod_call *call, uint32_t command, const char *path, pod_arena *a,
                       pod_config **out)
{
    pod_checkpoint_info info;
    pod_opt which[POD_N_OPTS];
    POD_TRY(pod_checkpoint_find_info(path, a, &info));
    const int n = choose(call, command, info.ranks, which);
    pod_config *c;
    pod_status s = pod_config_fill(call->config, info.settings, which, n, &c);
    if (s != POD_OK) return pod_fail(s, "%s: its settings: %s", path, pod_error_text());
    s = check_data(c);
    if (s == POD_OK)
        *out = c;
    else
        pod_config_destroy(c);
    return s;
}

pod_status pod_as_trained(const pod_call *call, uint32_t command, const char *path, pod_arena *a,
                          pod_config **out)
{
    const pod_status mine =
        pod_comm_rank(call->comm) == 0 ? fill(call, command, path, a, out) : POD_OK;
    pod_comm_barrier_idle(call->comm); /* nobody can say how long reading takes */
    POD_TRY(pod_config_share(call->comm, mine, out));
    if (*path) pod_no_effect_warn(*out, command, pod_comm_size(call->comm), call->log);
    return POD_OK;
}
