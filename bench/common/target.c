#include "bench/common/target.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/base/limits.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "runtime/core/words.h"
#include "runtime/data/images/image_samples.h"

/* ---- the network ---- */

enum {
    N_MODELS = 0
#define POD_MODEL(...) +1
#include "models/models.def"
#undef POD_MODEL
#define POD_LANGUAGE(...) +1
#include "models/languages.def"
#undef POD_LANGUAGE
};

static pod_network_out build_images(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    const pod_network_choice *choice = ctx;
    const pod_setup *s = choice->setup;
    pod_model_args args = {.n_classes = in->data->n_classes,
                           .train = in->train,
                           .bn_momentum = s->bn_momentum,
                           .bn_epsilon = s->bn_epsilon,
                           .bf16_products = s->bf16_products,
                           .draws = in->draws,
                           .dropout = s->dropout,
                           .survival = s->survival,
                           .width = s->width,
                           .depth = s->depth,
                           .plain_attention = s->plain_attention};
    const pod_value images = in->field[POD_FIELD_IMAGES];
    return (pod_network_out){.logits =
                                 choice->model->build(g, choice->model->param, images, &args)};
}

static pod_language_args language_args(const pod_setup *s, const pod_dataset_info *data,
                                       pod_value draws)
{
    return (pod_language_args){.n_tokens = data->n_tokens,
                               .travel = s->precision,
                               .bf16_products = s->bf16_products,
                               .draws = draws,
                               .dropout = s->dropout,
                               .plain_attention = s->plain_attention};
}

static pod_network_out build_language(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    const pod_network_choice *choice = ctx;
    const pod_setup *s = choice->setup;
    const pod_language *model = choice->language;
    const pod_language_in read = pod_language_read(g);
    const pod_language_args args = language_args(s, in->data, in->draws);
    const pod_language_out y = model->build(g, &model->size, &read, &args);
    return (pod_network_out){.hidden = y.hidden, .table = y.table, .bias = y.bias, .next = y.next};
}

static void encode_language(const void *ctx, pod_graph *g, const pod_network_in *in,
                            pod_value source[])
{
    const pod_network_choice *choice = ctx;
    const pod_language *model = choice->language;
    const pod_language_in read = pod_language_read(g);
    const pod_language_args args = language_args(choice->setup, in->data, in->draws);
    model->search->encode(g, &model->size, &read, &args, source);
}

static pod_value step_language(const void *ctx, pod_graph *g, const pod_network_step *in,
                               pod_value rows[])
{
    const pod_network_choice *choice = ctx;
    const pod_language *model = choice->language;
    const pod_language_step read = {.token = in->token,
                                    .count = in->count,
                                    .lengths = in->lengths,
                                    .source = in->source,
                                    .earlier = in->earlier};
    const pod_language_args args = language_args(choice->setup, in->data, (pod_value){0});
    return model->search->step(g, &model->size, &read, &args, rows);
}

static pod_network_search search_of(const pod_language *model)
{
    if (!model || !model->search) return (pod_network_search){0};
    return (pod_network_search){.n_values = (int)(2 * model->size.layers),
                                .hidden = model->size.hidden,
                                .encode = encode_language,
                                .step = step_language};
}

static pod_status fail_unknown(const char *name)
{
    int n, n_languages;
    const pod_model *models = pod_models(&n);
    const pod_language *languages = pod_languages(&n_languages);
    const char *names[N_MODELS];
    for (int i = 0; i < n; i++) names[i] = models[i].name;
    for (int i = 0; i < n_languages; i++) names[n + i] = languages[i].name;
    const char *near = pod_nearest_name(name, names, N_MODELS);
    if (near)
        return pod_fail(POD_E_INVALID, "model: there is no '%s'; did you mean %s?", name, near);
    return pod_fail(POD_E_INVALID,
                    "model: there is no '%.80s'; `minipod train --help-all` lists them", name);
}

/* What says no more than what every model does is taken by all. */
static pod_status check_scaling(const pod_model *model, const pod_setup *s)
{
    const bool has_dropout = model == NULL;
    const char *given = s->width != 0 && s->width != 1        ? "width"
                        : s->depth != 0 && s->depth != 1      ? "depth"
                        : s->dropout > 0 && !has_dropout      ? "dropout"
                        : s->survival >= 0 && s->survival < 1 ? "survival"
                                                              : NULL;
    if ((model && model->scales) || !given) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: of EfficientNets and vit-tiny, found --model %s", given,
                    s->model);
}

pod_status pod_network_choose(pod_setup *s, pod_network_choice *choice, pod_network *out)
{
    const pod_model *model = pod_model_find(s->model);
    const pod_language *language = pod_language_find(s->model);
    if (!model && !language) return fail_unknown(s->model);
    POD_TRY(check_scaling(model, s));
    *choice = (pod_network_choice){.model = model, .language = language, .setup = s};
    *out = (pod_network){.name = s->model,
                         .task =
                             model ? &pod_task_image_classification : pod_task_find(language->task),
                         .build = model ? build_images : build_language,
                         .ctx = choice,
                         .search = search_of(language)};
    if (!*s->data) s->data = out->task->default_data;
    return POD_OK;
}

const char *pod_network_about(const pod_network_choice *choice)
{
    return choice->model ? choice->model->about : choice->language->about;
}

/* ---- kernels and rates ---- */

enum { WORD_BYTES = 64 };

int pod_target_kernels(const char *name[POD_TARGET_MAX_KERNELS])
{
    int n, count = 0;
    const pod_gemm_kernel *gemm = pod_gemm_kernels(&n);
    for (int i = 0; i < n; i++) name[count++] = gemm[i].name;
    const pod_conv_kernel *conv = pod_conv_kernels(&n);
    for (int i = 0; i < n; i++) name[count++] = conv[i].name;
    return count;
}

pod_status pod_target_check_impls(const char *impl, const char *const name[], int n)
{
    char word[WORD_BYTES];
    for (const char *at = impl; *at;) {
        int i = 0;
        POD_TRY(pod_word_take("impl", &at, word, sizeof word));
        while (i < n && strcmp(name[i], word) != 0) i++;
        const char *near = i < n ? NULL : pod_nearest_name(word, name, n);
        if (near)
            return pod_fail(POD_E_INVALID, "impl: there is no kernel '%s'; did you mean '%s'?",
                            word, near);
        if (i == n)
            return pod_fail(POD_E_INVALID,
                            "impl: there is no kernel '%s' (minipod explain kernels)", word);
    }
    return POD_OK;
}

pod_status pod_target_machine(pod_comm *comm, const pod_config *c, pod_machine *out)
{
    const char *name = pod_config_text(c, POD_OPT_MACHINE);
    pod_status mine = POD_OK;
    if (pod_comm_rank(comm) == 0) mine = pod_machine_load(name, out);
    if (mine == POD_OK && pod_comm_rank(comm) == 0 && pod_machine_is_virtual(out))
        mine = pod_fail(POD_E_INVALID, "machine: %s is not this host: minipod simulate", name);
    POD_TRY(pod_comm_agree(comm, mine));
    pod_comm_broadcast(comm, 0, out, sizeof *out);
    return POD_OK;
}

pod_status pod_target_from(const pod_config *c, const pod_machine *machine, pod_target *out)
{
    const char *impl = pod_config_text(c, POD_OPT_IMPL);
    const char *name[POD_TARGET_MAX_KERNELS];
    POD_TRY(pod_target_check_impls(impl, name, pod_target_kernels(name)));
    *out = (pod_target){
        .name = "host", .cpu = pod_cpu_features(), .impl = impl, .rates = &machine->kernel_rate};
    return POD_OK;
}

bool pod_quota_note(int cores, char *note, size_t bytes)
{
    const double quota = pod_limit_cpus();
    if (!(quota < cores)) return false;
    snprintf(
        note, bytes,
        "a quota allows the ranks of a host %.3g of them: times are the operating system's too",
        quota);
    return true;
}
