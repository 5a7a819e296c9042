#include "tests/harness/checkpoints.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>

#include "kernels/base/assert.h"
#include "kernels/base/rng.h"

static const double mean[] = {1.0 / 3, 0.5}, std[] = {0x1p-30, 1};
static const char *const class_names[] = {"cat", "a \"dog\" \xc3\xa4", "x"};

const pod_checkpoint_info pod_test_info = {.model = "resnet20",
                                           .data = "glyphs \xc3\xa4 'x' \"y\"",
                                           .optimizer = "lars",
                                           .seed = UINT64_MAX - 7,
                                           .batch = 1024,
                                           .steps_per_epoch = 40,
                                           .mesh = "2x2",
                                           .settings = "lr = 0.1\nbatch = 1024\n",
                                           .picks = "conv2d = amx\nallreduce = ring\n",
                                           .fingerprint = UINT64_C(0xfedcba9876543210),
                                           .data_fingerprint = 42,
                                           .set = {.height = 48,
                                                   .width = 64,
                                                   .channels = 2,
                                                   .n_classes = 3,
                                                   .class_names = class_names,
                                                   .mean = mean,
                                                   .std = std}};

static pod_eval_row evals[] = {
    {.n_done = 40, .epochs = 1, .loss = 1.0 / 3, .metric = {0.1, 2}, .at_s = 1e-9},
    {.n_done = 41, .epochs = 1.025, .loss = DBL_MAX, .metric = {1, -0.5}, .at_s = -1.25e3},
};
const pod_eval_rows pod_test_evals = {.row = evals,
                                      .n = 2,
                                      .room = 2,
                                      .n_metrics = 2,
                                      .metric = {{"accuracy", false}, {"error", true}}};

static bool same_evals(const pod_eval_rows *got)
{
    bool same = got->n == pod_test_evals.n && got->n_metrics == pod_test_evals.n_metrics;
    for (int i = 0; same && i < got->n_metrics; i++)
        same = strcmp(got->metric[i].name, pod_test_evals.metric[i].name) == 0;
    for (int64_t i = 0; same && i < got->n; i++)
        same = memcmp(&got->row[i], &evals[i], sizeof evals[i]) == 0;
    return same;
}

static int64_t draw(pod_rng *rng, int64_t below)
{
    return (int64_t)(pod_rng_u32(rng) % (uint32_t)below);
}

static pod_rng rng_of(uint64_t seed)
{
    return pod_rng_at(seed, (pod_place){.stream = POD_STREAM_WEIGHTS});
}

static void fill(pod_tensor *t, uint64_t seed)
{
    static const float odd[] = {-0.0f, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45f, 1.0f / 3.0f};
    const int64_t n = pod_tensor_count(t);
    pod_test_fill(seed, n, POD_F32, t->data);
    for (int64_t k = 0; k < n / 2 && k < 6; k++) t->data[n - 1 - k] = odd[k];
}

void pod_test_model_make(pod_arena *a, uint64_t seed, uint64_t values, pod_test_model *out)
{
    static const int64_t longest[] = {0, 700, 30, 12, 6, 5};
    pod_rng rng = rng_of(seed);
    pod_test_model m = {.n = 1 + (int)draw(&rng, POD_TEST_MAX_TENSORS)};
    for (int i = 0; i < m.n; i++) {
        pod_tensor *t = &m.tensor[i];
        t->is_state = i > 0 && draw(&rng, 2) == 1;
        t->n_dims = 1 + (int)draw(&rng, POD_CHECKPOINT_MAX_DIMS);
        for (int d = 0; d < t->n_dims; d++) t->dim[d] = 1 + draw(&rng, longest[t->n_dims]);
        if (draw(&rng, 6) == 0) t->dim[0] = t->n_dims = 1; /* a scalar */
        m.is_dealt[i] = draw(&rng, 3) == 0;
        t->name = pod_arena_text(a, i % 2 ? "scope%d/u/w" : "v%d", i);
        t->data = POD_ARENA_NEW(a, float, pod_tensor_count(t));
        fill(t, values * 100 + (uint64_t)i);
    }
    *out = m;
}

void pod_test_model_blank(pod_arena *a, const pod_test_model *m, pod_test_model *out)
{
    *out = *m;
    for (int i = 0; i < m->n; i++) {
        const int64_t n = pod_tensor_count(&m->tensor[i]);
        out->tensor[i].data = POD_ARENA_NEW(a, float, n);
        memset(out->tensor[i].data, 0x55, (size_t)n * sizeof(float));
    }
}

bool pod_test_model_same(const pod_test_model *a, const pod_test_model *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = memcmp(a->tensor[i].data, b->tensor[i].data,
                      (size_t)pod_tensor_count(&a->tensor[i]) * sizeof(float)) == 0;
    return same;
}

/* Parts of uneven length, some of them empty. */
static void deal(const pod_test_model *m, const pod_checkpoint_form *f)
{
    for (int i = 0; i < m->n; i++) {
        pod_rng rng = rng_of((uint64_t)i + 77);
        int64_t first = 0, left = pod_tensor_count(&m->tensor[i]);
        for (int r = 0; r < f->ranks; r++) {
            const int64_t count = r + 1 == f->ranks ? left : draw(&rng, left + 1);
            f->range[i * f->ranks + r] = (pod_checkpoint_range){first, count};
            first += count;
            left -= count;
        }
    }
}

static pod_status save_part(const pod_test_model *m, const pod_checkpoint_form *f,
                            const pod_checkpoint_save *s, pod_arena *a)
{
    pod_checkpoint_shard shard;
    POD_TRY(pod_checkpoint_build_shard(f, s->rank, a, &shard));
    for (int i = 0; i < m->n; i++) {
        const pod_checkpoint_range r = f->range[i * f->ranks + s->rank];
        POD_ASSERT((r.count > 0) == (shard.at[i] != NULL), "variable %d of rank %d", i, s->rank);
        if (r.count > 0)
            memcpy(shard.at[i], m->tensor[i].data + r.first, (size_t)r.count * sizeof(float));
    }
    const pod_status status = pod_checkpoint_put_shard(s, shard.image, shard.bytes);
    if (status != POD_OK) pod_checkpoint_put_failure(s, status, pod_error_text());
    return status;
}

static pod_status save_in(const pod_test_model *m, const char *dir, int64_t step, int ranks,
                          pod_disk disk[], const pod_checkpoint_save *as, pod_arena *a)
{
    static uint64_t id = 1000;
    pod_checkpoint_range range[POD_TEST_MAX_TENSORS * POD_TEST_MAX_RANKS];
    pod_disk plain = {.is_memory = true};
    const pod_checkpoint_form form = {m->n, ranks, m->tensor, range};
    pod_checkpoint_save s = *as;
    s.dir = dir;
    s.step = step;
    s.id = ++id;
    s.ranks = ranks;
    s.evals = pod_test_evals;
    pod_checkpoint_desk desk;
    pod_checkpoint_index index;
    pod_status own = POD_OK;
    deal(m, &form);
    pod_checkpoint_cut(&form, m->is_dealt);
    for (s.rank = ranks - 1; s.rank >= 0; s.rank--) {
        s.disk = disk ? &disk[s.rank] : &plain;
        s.disk->is_memory = true;
        own = save_part(m, &form, &s, a);
        if (own == POD_E_INVALID) return own; /* there was nothing to write */
    }
    s.rank = 0;
    char why[512];
    snprintf(why, sizeof why, "%s", pod_error_text());
    POD_TRY(pod_checkpoint_desk_create(a, ranks, pod_test_evals.n, &desk));
    POD_TRY(pod_checkpoint_open_index(&form, &pod_test_info, a, &index));
    if (own == POD_OK)
        own = pod_checkpoint_move_index(&index, step);
    else
        pod_error_set(why);
    bool is_whole;
    const pod_status status = pod_checkpoint_complete(&s, own, &index, 0, &desk, &is_whole);
    POD_CHECK(is_whole == (status == POD_OK || strstr(pod_error_text(), "is whole")), "%s: %s",
              is_whole ? "whole" : "not whole", pod_error_text());
    pod_checkpoint_close_index(&index);
    return status;
}

pod_status pod_test_save(const pod_test_model *m, const char *dir, int64_t step, int ranks,
                         pod_disk disk[])
{
    return pod_test_save_as(m, dir, step, ranks, disk, &(pod_checkpoint_save){0});
}

pod_status pod_test_save_as(const pod_test_model *m, const char *dir, int64_t step, int ranks,
                            pod_disk disk[], const pod_checkpoint_save *as)
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status s = save_in(m, dir, step, ranks, disk, as, a);
    pod_arena_destroy(a);
    return s;
}

static bool same_set(const pod_dataset_info *a, const pod_dataset_info *b)
{
    bool same = a->height == b->height && a->width == b->width && a->channels == b->channels &&
                a->n_classes == b->n_classes;
    for (int64_t c = 0; same && c < a->channels; c++)
        same = a->mean[c] == b->mean[c] && a->std[c] == b->std[c];
    for (int i = 0; same && i < a->n_classes; i++)
        same = strcmp(a->class_names[i], b->class_names[i]) == 0;
    return same;
}

static void check_info(const pod_checkpoint_info *got)
{
    const pod_checkpoint_info *want = &pod_test_info;
    POD_CHECK(
        strcmp(got->model, want->model) == 0 && strcmp(got->data, want->data) == 0 &&
            strcmp(got->optimizer, want->optimizer) == 0 && got->seed == want->seed &&
            got->batch == want->batch && same_evals(&got->evals) &&
            got->steps_per_epoch == want->steps_per_epoch && strcmp(got->mesh, want->mesh) == 0 &&
            strcmp(got->settings, want->settings) == 0 && strcmp(got->picks, want->picks) == 0 &&
            got->fingerprint == want->fingerprint &&
            got->data_fingerprint == want->data_fingerprint && same_set(&got->set, &want->set),
        "another info");
}

static int64_t load(const char *dir, pod_test_model_of *of, const void *ctx, pod_arena *a,
                    pod_log *log)
{
    pod_test_model got;
    pod_checkpoint_info info;
    pod_test_model_blank(a, of(ctx, 0), &got);
    if (pod_checkpoint_load(dir, &pod_test_info, true, got.tensor, got.n, a, log, &info) != POD_OK)
        return -1;
    check_info(&info);
    POD_CHECK(pod_test_model_same(&got, of(ctx, info.step)), "step %" PRId64 ": other values",
              info.step);
    return info.step;
}

int64_t pod_test_load(const char *dir, pod_test_model_of *of, const void *ctx, char *said,
                      size_t said_bytes)
{
    pod_arena *a;
    FILE *err = said ? tmpfile() : NULL;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    pod_log log = pod_log_start(0, err, err, "off", true);
    const int64_t step = load(dir, of, ctx, a, err ? &log : NULL);
    if (err) {
        rewind(err);
        said[fread(said, 1, said_bytes - 1, err)] = '\0';
        fclose(err);
    }
    pod_arena_destroy(a);
    return step;
}
