#include "runtime/task/setup.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/parse.h"

static pod_mesh near_square(int n_ranks)
{
    int y = (int)sqrt((double)n_ranks);
    while (n_ranks % y != 0) y--;
    return (pod_mesh){.n_dims = 2, .extent = {n_ranks / y, y}, .wraps = {true, true}};
}

pod_status pod_setup_mesh(const char *text, int n_ranks, pod_mesh *out)
{
    pod_mesh mesh = near_square(n_ranks);
    if (strcmp(text, "auto") != 0) POD_TRY(pod_mesh_parse(text, &mesh));
    if (pod_mesh_size(&mesh) != n_ranks)
        return pod_fail(
            POD_E_INVALID, "mesh: %s has %d core%s, but there %s %d rank%s (mpirun -n %d)", text,
            pod_mesh_size(&mesh), pod_mesh_size(&mesh) == 1 ? "" : "s", n_ranks == 1 ? "is" : "are",
            n_ranks, n_ranks == 1 ? "" : "s", pod_mesh_size(&mesh));
    *out = mesh;
    return POD_OK;
}

static unsigned spares_from(const char *exclude)
{
    if (strcmp(exclude, "none") == 0) return 0;
    return POD_SPARES_DECAY | (strcmp(exclude, "both") == 0 ? POD_SPARES_TRUST : 0u);
}

static pod_hparams hparams_from(const pod_config *c)
{
    return (pod_hparams){
        .momentum = (float)pod_optim_number(c, POD_OPT_MOMENTUM),
        .nesterov = pod_config_bool(c, POD_OPT_NESTEROV),
        .weight_decay = (float)pod_optim_number(c, POD_OPT_WEIGHT_DECAY),
        .trust = (float)pod_optim_number(c, POD_OPT_TRUST),
        .beta1 = (float)pod_optim_number(c, POD_OPT_BETA1),
        .beta2 = (float)pod_optim_number(c, POD_OPT_BETA2),
        .uncorrected = !pod_config_bool(c, POD_OPT_BIAS_CORRECTION),
        .spares = spares_from(pod_config_text(c, POD_OPT_EXCLUDE)),
        .rho = (float)pod_optim_number(c, POD_OPT_RHO),
        .epsilon = (float)pod_optim_number(c, POD_OPT_EPSILON),
    };
}

/* "1.0" or "local:1.0" */
static pod_status parse_clip(const char *text, pod_hparams *hp)
{
    static const char local[] = "local:";
    double norm = 0;
    if (!*text) return POD_OK;
    hp->clip_local = strncmp(text, local, sizeof local - 1) == 0;
    const char *number = hp->clip_local ? text + sizeof local - 1 : text;
    POD_TRY(pod_parse_double("clip-norm", number, 1e-30, 1e30, &norm));
    hp->clip_norm = (float)norm;
    return POD_OK;
}

static pod_status check_optimizer(const pod_setup *s)
{
    const pod_optim *o = s->optim;
    if (s->hparams.nesterov && !(o->traits & POD_OPTIM_NESTEROV))
        return pod_fail(POD_E_INVALID, "nesterov: %s has no such form", o->name);
    if (s->hparams.epsilon == 0 && o->traits & POD_OPTIM_ROOTS)
        return pod_fail(POD_E_INVALID,
                        "epsilon: 0 with %s, which divides by 0 where there was no gradient yet",
                        o->name);
    return POD_OK;
}

pod_status pod_setup_target(const pod_config *c, double *value)
{
    const char *text = pod_config_text(c, POD_OPT_TARGET), *number = strchr(text, '=');
    if (number && !number[1])
        return pod_fail(POD_E_INVALID, "target: wants a value after '%s', such as %s0.9", text,
                        text);
    return pod_parse_double("target", number ? number + 1 : text, 0, 1e9, value);
}

static pod_status training_from(const pod_config *c, pod_setup *s)
{
    const char *name = pod_config_text(c, POD_OPT_OPTIMIZER);
    s->optim = pod_optim_find(name);
    POD_ASSERT(s->optim, "optimizer '%s' is a choice but not in the table", name);
    s->hparams = hparams_from(c);
    POD_TRY(parse_clip(pod_config_text(c, POD_OPT_CLIP_NORM), &s->hparams));
    POD_TRY(check_optimizer(s));
    const int64_t per = pod_config_int(c, POD_OPT_LR_PER);
    const double scale = per > 0 ? (double)s->batch / (double)per : 1;
    s->lr = (pod_lr){.base = scale * pod_optim_number(c, POD_OPT_LR),
                     .end = pod_config_double(c, POD_OPT_END_LR),
                     .power = pod_config_double(c, POD_OPT_POLY_POWER),
                     .decay_rate = pod_config_double(c, POD_OPT_DECAY_RATE),
                     .warmup_start = pod_config_int(c, POD_OPT_WARMUP_START),
                     .from_start = strcmp(pod_config_text(c, POD_OPT_DECAY_FROM), "start") == 0};
    POD_TRY(pod_lr_parse(pod_config_text(c, POD_OPT_LR_SCHEDULE), &s->lr.kind));
    s->warmup_epochs = pod_config_double(c, POD_OPT_WARMUP);
    s->warmup_steps = pod_config_int(c, POD_OPT_WARMUP_STEPS);
    s->decay_epochs = pod_config_double(c, POD_OPT_DECAY_EPOCHS);
    s->epochs = pod_config_double(c, POD_OPT_EPOCHS);
    s->steps = pod_config_int(c, POD_OPT_STEPS);
    s->eval_every = pod_config_double(c, POD_OPT_EVAL_EVERY);
    s->target_of = pod_config_text(c, POD_OPT_TARGET);
    POD_TRY(pod_setup_target(c, &s->target));
    s->label_smoothing = (float)pod_config_double(c, POD_OPT_LABEL_SMOOTHING);
    return POD_OK;
}

static pod_status images_from(const pod_config *c, pod_setup *s)
{
    const char *size = pod_config_text(c, POD_OPT_IMAGE_SIZE);
    if (*size) POD_TRY(pod_image_size_parse(size, &s->image_height, &s->image_width));
    return pod_augment_parse(pod_config_text(c, POD_OPT_AUGMENT),
                             (int)pod_config_int(c, POD_OPT_CROP_PAD),
                             pod_config_double(c, POD_OPT_CROP_AREA), &s->augment);
}

/* -1 is the model's or the task's own; between it and 0 nothing is. */
static pod_status check_share(const char *name, double value)
{
    if (value >= 0 || value == -1) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: %g is neither -1, for the model's own, nor 0 or more", name,
                    value);
}

static pod_dtype wire_from(const pod_config *c)
{
    const char *wire = pod_config_text(c, POD_OPT_WIRE);
    if (strcmp(wire, "exact") == 0) return POD_BINNED;
    return strcmp(wire, "bf16") == 0 ? POD_BF16 : POD_F32;
}

/* All options of train, a line each. */
static const char *settings_of(const pod_config *c, pod_arena *arena)
{
    char *lines = NULL;
    size_t bytes;
    FILE *to = open_memstream(&lines, &bytes);
    if (!to) return NULL;
    for (int i = 0; i < POD_N_OPTS; i++)
        if (pod_options[i].commands & POD_CMD_TRAIN && !pod_options[i].only_typed)
            fprintf(to, "%s = %s\n", pod_options[i].name, pod_optim_value(c, (pod_opt)i));
    const char *text = fclose(to) == 0 ? pod_arena_text(arena, "%s", lines) : NULL;
    free(lines);
    return text;
}

static pod_compile_args compile_from(const pod_config *c, int node_size)
{
    return (pod_compile_args){
        .fusion = pod_config_bool(c, POD_OPT_FUSION),
        .tile_bytes = (size_t)pod_config_size(c, POD_OPT_TILE),
        .recompute = pod_config_bool(c, POD_OPT_RECOMPUTE),
        .bucket_bytes = pod_config_size(c, POD_OPT_BUCKET),
        .wire = wire_from(c),
        .wait_at_once = !pod_config_bool(c, POD_OPT_OVERLAP),
        .shard_update = pod_config_bool(c, POD_OPT_SHARD_UPDATE),
        .accumulate = (int)pod_config_int(c, POD_OPT_ACCUMULATE),
        .node_size = node_size,
    };
}

/* What needs no check and no arithmetic. Texts are the configuration's. */
static pod_setup settings_from(const pod_config *c, int node_size)
{
    return (pod_setup){
        .model = pod_config_text(c, POD_OPT_MODEL),
        .data = pod_config_text(c, POD_OPT_DATA),
        .seed = (uint64_t)pod_config_int(c, POD_OPT_SEED),
        .batch = pod_config_int(c, POD_OPT_BATCH),
        .compile = compile_from(c, node_size),
        .plain_attention = !pod_config_bool(c, POD_OPT_FUSION),
        .bn_momentum = (float)pod_config_double(c, POD_OPT_BN_MOMENTUM),
        .bn_epsilon = (float)pod_config_double(c, POD_OPT_BN_EPSILON),
        .dropout = (float)pod_config_double(c, POD_OPT_DROPOUT),
        .survival = (float)pod_config_double(c, POD_OPT_SURVIVAL),
        .width = pod_config_double(c, POD_OPT_WIDTH),
        .depth = pod_config_double(c, POD_OPT_DEPTH),
        .ema = (float)pod_config_double(c, POD_OPT_EMA),
        .seq_len = pod_config_int(c, POD_OPT_SEQ_LEN),
        .max_masked = pod_config_int(c, POD_OPT_MAX_MASKED),
        .pack = pod_config_int(c, POD_OPT_PACK),
        .static_masks = (int)pod_config_int(c, POD_OPT_STATIC_MASKS),
        .beam = (int)pod_config_int(c, POD_OPT_BEAM),
        .length_penalty = pod_config_double(c, POD_OPT_LENGTH_PENALTY),
        .prefetch = (int)pod_config_int(c, POD_OPT_PREFETCH),
        .input_threads = (int)pod_config_int(c, POD_OPT_INPUT_THREADS),
        .data_cache_bytes = pod_config_size(c, POD_OPT_DATA_CACHE),
        .reads_logits = *pod_config_text(c, POD_OPT_PREDICTIONS),
    };
}

static pod_status cores_from(const pod_config *c, int n_ranks, pod_setup *s)
{
    POD_TRY(pod_setup_mesh(pod_config_text(c, POD_OPT_MESH), n_ranks, &s->compile.mesh));
    const int64_t bn_group = pod_config_int(c, POD_OPT_BN_GROUP);
    const pod_status tiled = pod_group_tiles(&s->compile.mesh, (int)bn_group, &s->compile.bn_group);
    if (tiled != POD_OK) return pod_fail(tiled, "bn-group: %s", pod_error_text());
    return POD_OK;
}

/* Every core and micro-step has as many samples. */
static pod_status check_batch(const pod_setup *s, int n_ranks)
{
    if (s->batch % n_ranks != 0)
        return pod_fail(POD_E_INVALID,
                        "batch: %" PRId64 " is not divisible by the %d cores of the mesh", s->batch,
                        n_ranks);
    if (s->batch / n_ranks % s->compile.accumulate != 0)
        return pod_fail(POD_E_INVALID,
                        "accumulate: a batch of %" PRId64
                        " is not divisible by %d cores times %d micro-steps",
                        s->batch, n_ranks, s->compile.accumulate);
    return POD_OK;
}

static pod_status rules_from(const pod_config *c, pod_arena *arena, pod_setup *s)
{
    const char *rules = pod_config_text(c, POD_OPT_ALGO);
    s->has_algo = *rules;
    pod_coll_rules *loaded_rules = NULL;
    const pod_status loaded =
        pod_coll_rules_load(arena, *rules ? rules : POD_COLL_RULES_DEFAULT, &loaded_rules);
    s->compile.rules = loaded_rules;
    return loaded == POD_OK ? POD_OK : pod_fail(loaded, "algo: %s", pod_error_text());
}

pod_status pod_setup_to_evaluate(const pod_config *c, int n_ranks, int node_size, pod_arena *arena,
                                 pod_setup *out)
{
    pod_setup s = settings_from(c, node_size);
    s.precision_name = pod_config_text(c, POD_OPT_PRECISION);
    s.precision = strcmp(s.precision_name, "bf16") == 0 ? POD_BF16 : POD_F32;
    s.bf16_products = strcmp(s.precision_name, "bf16-conv") == 0;
    POD_TRY(cores_from(c, n_ranks, &s));
    s.settings = settings_of(c, arena);
    if (!s.settings) return POD_E_NOMEM;
    POD_TRY(rules_from(c, arena, &s));
    POD_TRY(training_from(c, &s));
    POD_TRY(images_from(c, &s));
    POD_TRY(check_share("dropout", (double)s.dropout));
    POD_TRY(check_share("survival", (double)s.survival));
    POD_TRY(check_share("label-smoothing", (double)s.label_smoothing));
    *out = s;
    return POD_OK;
}

pod_status pod_setup_from(const pod_config *c, int n_ranks, int node_size, pod_arena *arena,
                          pod_setup *out)
{
    POD_TRY(pod_setup_to_evaluate(c, n_ranks, node_size, arena, out));
    return check_batch(out, n_ranks);
}

pod_dataset_info pod_setup_seen(const pod_setup *s, const pod_dataset_info *stored)
{
    pod_dataset_info seen = *stored;
    if (s->image_height) seen.height = s->image_height;
    if (s->image_width) seen.width = s->image_width;
    return seen;
}

static int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

pod_setup pod_setup_evaluation(const pod_setup *s, int64_t n_samples)
{
    POD_ASSERT(n_samples > 0, "an evaluation of %" PRId64 " samples", n_samples);
    pod_setup evaluation = *s;
    const int64_t unit = (int64_t)pod_mesh_size(&s->compile.mesh) * s->compile.accumulate;
    const int64_t full = divide_up(n_samples, divide_up(n_samples, s->batch));
    evaluation.batch = divide_up(full, unit) * unit;
    evaluation.pack = 1;
    return evaluation;
}

pod_loader_options pod_setup_loader(const pod_setup *s, bool train, int rank, int size)
{
    return (pod_loader_options){.global_batch = s->batch,
                                .rank = rank,
                                .size = size,
                                .seed = s->seed,
                                .shuffle = train,
                                .keep_tail = !train,
                                .depth = s->prefetch,
                                .n_threads = s->input_threads};
}

pod_status pod_setup_schedule(pod_setup *s, int64_t n_train, pod_schedule *out)
{
    if (s->batch > n_train)
        return pod_fail(POD_E_INVALID,
                        "batch: %" PRId64 " is more than the %" PRId64 " training samples",
                        s->batch, n_train);
    pod_schedule r = {.steps_per_epoch = n_train / s->batch};
    const double per_epoch = (double)r.steps_per_epoch;
    r.n_steps = s->steps > 0 ? s->steps : (int64_t)llround(s->epochs * per_epoch);
    if (r.n_steps < 1)
        return pod_fail(POD_E_INVALID, "epochs: %g epochs of %" PRId64 " steps are no step",
                        s->epochs, r.steps_per_epoch);
    int64_t every = (int64_t)llround(s->eval_every * per_epoch);
    r.eval_every = s->eval_every > 0 ? (every > 0 ? every : 1) : r.n_steps;
    s->lr.train_steps = r.n_steps;
    if (s->warmup_steps > 0) s->warmup_epochs = (double)s->warmup_steps / per_epoch;
    s->lr.warmup_steps = (int64_t)llround(s->warmup_epochs * per_epoch);
    if (s->lr.warmup_start != 0 && s->lr.warmup_steps == 0)
        return pod_fail(POD_E_INVALID,
                        "warmup-start: there is no warm-up: --warmup-steps gives its length");
    s->lr.decay_steps = s->decay_epochs * per_epoch;
    *out = r;
    return POD_OK;
}

bool pod_schedule_evaluates_as_asked(const pod_schedule *schedule, const pod_setup *s)
{
    const double rounding = 1e-9; /* 0.7 x 10 is no 7 */
    const double asked = s->eval_every * (double)schedule->steps_per_epoch;
    return asked <= 0 || fabs((double)schedule->eval_every / asked - 1) < rounding;
}

int64_t pod_schedule_place(const pod_schedule *s, int64_t n_done) { return n_done + s->ahead; }

double pod_schedule_epochs(const pod_schedule *s, int64_t n_done)
{
    return (double)pod_schedule_place(s, n_done) / (double)s->steps_per_epoch;
}

void pod_setup_go_on(pod_setup *s, int64_t first_step, double epochs, pod_schedule *schedule)
{
    const int64_t place =
        isnan(epochs) ? first_step : llround(epochs * (double)schedule->steps_per_epoch);
    schedule->ahead = place - first_step;
    if (s->steps <= 0) schedule->n_steps -= schedule->ahead;
    const int64_t end = pod_schedule_place(schedule, schedule->n_steps);
    s->lr.train_steps = end;
    if (s->eval_every <= 0) schedule->eval_every = end > 0 ? end : 1;
}
