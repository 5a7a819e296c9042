/* explain samples: the batches of the first --steps steps of training (of one step without), as the
 * loader gives them to the program: a row for each of the first samples of a batch, texts as
 * tokens, with what stood where a token is to be predicted. --json has all samples with all
 * fields. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/record.h"
#include "bench/explain/explain.h"
#include "bench/result_files.h"
#include "kernels/base/assert.h"
#include "runtime/data/loader.h"
#include "runtime/data/text/masked_pairs.h"
#include "runtime/data/text/text_set.h"

enum { N_SHOWN = 8, LINE_DEPTH = 3, MAX_COLUMNS = POD_MAX_FIELDS + 2 + POD_MAX_TEXTS };

typedef struct shown {
    pod_samples samples;
    int64_t n_rows; /* of a batch */
    const pod_task *task;
    const pod_vocab *vocab; /* NULL: images */
    pod_arena *arena;
    pod_column column[MAX_COLUMNS];
    int n_columns;
    pod_record record;
    bool has_json;
} shown;

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_value(pod_json *j, const char *key, pod_dtype type, const void *data, int64_t i)
{
    switch (type) {
    case POD_I32: pod_json_int(j, key, ((const int32_t *)data)[i]); return;
    case POD_U8: pod_json_int(j, key, ((const uint8_t *)data)[i]); return;
    case POD_F32: pod_json_double(j, key, (double)((const float *)data)[i]); return;
    default: POD_ASSERT(false, "a field of type %s", pod_dtype_name(type));
    }
}

/* A value at `*at`, or an array of them for each further dimension; passes over what it puts. */
static void put_row(pod_json *j, const pod_field *f, int dim, const void *data, int64_t *at)
{
    if (dim == f->n_dims || dim == POD_MAX_ROW_DIMS) {
        put_value(j, NULL, f->dtype, data, (*at)++);
        return;
    }
    pod_json_open_array(j, NULL);
    for (int64_t i = 0; i < f->dim[dim]; i++) put_row(j, f, dim + 1, data, at);
    pod_json_close(j);
}

static void put_batch(shown *x, const pod_batch *b)
{
    pod_json *j = &x->record.json;
    pod_json_open_object(j, NULL);
    pod_json_int(j, "step", b->step + 1);
    pod_json_int(j, "epoch", b->epoch);
    pod_json_open_array(j, "samples");
    for (int64_t i = 0; i < x->n_rows; i++) pod_json_int(j, NULL, b->samples[i]);
    pod_json_close(j);
    for (int k = 0; k < x->samples.form.n_fields; k++) {
        const pod_field *f = &x->samples.form.field[k];
        int64_t at = 0;
        pod_json_open_array(j, f->name);
        for (int64_t i = 0; i < x->n_rows; i++) put_row(j, f, 0, b->field[k], &at);
        pod_json_close(j);
    }
    pod_json_close(j);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The token that stood at a place of a row and is to be predicted; -1: none is. */
static int32_t answer_at(const shown *x, const pod_batch *b, int64_t row, int32_t place)
{
    if (x->task != &pod_task_masked_lm) return -1;
    const int64_t n = x->samples.form.field[POD_MASKED_POSITIONS].dim[0];
    const int32_t *places = (const int32_t *)b->field[POD_MASKED_POSITIONS] + row * n;
    const int32_t *answers = (const int32_t *)b->field[POD_MASKED_ANSWERS] + row * n;
    const float *weights = (const float *)b->field[POD_MASKED_WEIGHTS] + row * n;
    for (int64_t i = 0; i < n; i++)
        if (places[i] == place && weights[i] > 0) return answers[i];
    return -1;
}

/* Texts that share a row have an end each; the last one ends the row. */
static int32_t length_of(const shown *x, const pod_batch *b, int64_t row, int field)
{
    const pod_field *f = &x->samples.form.field[field];
    const int64_t parts = f->n_dims > 0 ? f->dim[0] : 1;
    return ((const int32_t *)b->field[field])[(row + 1) * parts - 1];
}

static pod_status text_of(const shown *x, const pod_batch *b, int64_t row, int which,
                          const char **out)
{
    const int ids = x->task->text[which].ids, lengths = x->task->text[which].lengths;
    const int64_t room = x->samples.form.field[ids].dim[0];
    const int32_t *id = (const int32_t *)b->field[ids] + row * room;
    const int32_t length = length_of(x, b, row, lengths);
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (!to) return POD_E_NOMEM;
    for (int32_t i = 0; i < length; i++) {
        const int32_t answer = answer_at(x, b, row, i);
        fprintf(to, "%s%s", i ? " " : "", x->vocab->token[id[i]]);
        if (answer >= 0) fprintf(to, "{%s}", x->vocab->token[answer]);
    }
    const bool is_written = fclose(to) == 0;
    *out = is_written ? pod_arena_text(x->arena, "%s", text) : NULL;
    free(text);
    return *out ? POD_OK : POD_E_NOMEM;
}

/* step, sample, the fields that are one number each, texts. */
static void choose_columns(shown *x)
{
    x->column[x->n_columns++] = (pod_column){"step", "", false};
    x->column[x->n_columns++] = (pod_column){"sample", "", false};
    for (int k = 0; k < x->samples.form.n_fields; k++)
        if (x->samples.form.field[k].n_dims == 0)
            x->column[x->n_columns++] = (pod_column){x->samples.form.field[k].name, "", false};
    for (int k = 0; k < x->task->n_texts; k++)
        x->column[x->n_columns++] = (pod_column){
            x->task->n_texts == 1 ? "text" : x->samples.form.field[x->task->text[k].ids].name, "",
            true};
}

static pod_status add_row(const shown *x, const pod_batch *b, int64_t row)
{
    pod_table *t = x->record.table;
    const char *text;
    pod_table_add(t, "%" PRId64, b->step + 1);
    pod_table_add(t, "%" PRId64, b->samples[row]);
    for (int k = 0; k < x->samples.form.n_fields; k++)
        if (x->samples.form.field[k].n_dims == 0)
            pod_table_add(t, "%" PRId32, ((const int32_t *)b->field[k])[row]);
    for (int k = 0; k < x->task->n_texts; k++) {
        POD_TRY(text_of(x, b, row, k, &text));
        pod_table_add(t, "%s", text);
    }
    return POD_OK;
}

static void add_notes(const shown *x, const pod_planned *p)
{
    pod_table *t = x->record.table;
    pod_table_note(t, "%s of %s: %" PRId64 " samples an epoch, %" PRId64 " a step%s", x->task->name,
                   p->setup.data, x->samples.n, x->n_rows,
                   x->n_rows > N_SHOWN ? ", the first 8 of which are shown" : "");
    if (x->task == &pod_task_masked_lm)
        pod_table_note(t, "{word}: is predicted there; next: 0, the second part follows the first, "
                          "or 1, is of another document");
    for (int k = 0; k < x->samples.form.n_fields; k++) {
        const pod_field *f = &x->samples.form.field[k];
        char shape[64] = "";
        for (int d = 0; d < f->n_dims; d++) {
            const size_t used = strlen(shape);
            snprintf(shape + used, sizeof shape - used, "%s%" PRId64, d ? "x" : " ", f->dim[d]);
        }
        pod_table_note(t, "field %s: %s%s", f->name, pod_dtype_name(f->dtype), shape);
    }
}

/* ---- the subject ----------------------------------------------------------------------------- */

static void put_form(shown *x, const pod_planned *p)
{
    pod_json *j = &x->record.json;
    pod_json_text(j, "model", p->setup.model);
    pod_json_text(j, "task", x->task->name);
    pod_json_text(j, "data", p->setup.data);
    pod_json_int(j, "samples_per_epoch", x->samples.n);
    pod_json_open_array(j, "fields");
    for (int k = 0; k < x->samples.form.n_fields; k++) {
        const pod_field *f = &x->samples.form.field[k];
        pod_json_open_object(j, NULL);
        pod_json_text(j, "name", f->name);
        pod_json_text(j, "dtype", pod_dtype_name(f->dtype));
        pod_json_open_array(j, "shape");
        for (int d = 0; d < f->n_dims; d++) pod_json_int(j, NULL, f->dim[d]);
        pod_json_close(j);
        pod_json_close(j);
    }
    pod_json_close(j);
    pod_json_open_array(j, "batches");
}

static pod_status show(shown *x, pod_loader *l, int64_t n_steps)
{
    for (int64_t k = 0; k < n_steps; k++) {
        pod_batch b;
        POD_TRY(pod_loader_next(l, &b));
        if (x->has_json) put_batch(x, &b);
        for (int64_t i = 0; i < x->n_rows && i < N_SHOWN; i++) POD_TRY(add_row(x, &b, i));
    }
    return POD_OK;
}

static pod_status run(shown *x, pod_explain *e)
{
    pod_setup *s = &e->planned.setup;
    pod_loader *l;
    pod_schedule schedule;
    s->steps = s->steps > 0 ? s->steps : 1;
    POD_TRY(pod_setup_schedule(s, x->samples.n, &schedule));
    pod_loader_options o = pod_setup_loader(s, true, 0, 1);
    o.depth = o.n_threads = 0;
    choose_columns(x);
    POD_TRY(pod_record_open("minipod.samples", LINE_DEPTH, x->column, x->n_columns, &x->record));
    add_notes(x, &e->planned);
    put_form(x, &e->planned);
    pod_status status = pod_loader_open(&x->samples, &o, &l);
    if (status == POD_OK) {
        status = show(x, l, s->steps);
        pod_loader_close(l);
    }
    if (status == POD_OK)
        return pod_record_finish(&x->record, e->config,
                                 pod_result_files_take_stdout(e->config) ? stderr : stdout);
    pod_record_close(&x->record);
    return status;
}

pod_status pod_explain_samples(pod_explain *e)
{
    POD_TRY(pod_explain_plan(e));
    pod_planned *p = &e->planned;
    const pod_dataset_options options = {.cache_bytes = p->setup.data_cache_bytes};
    if (!p->dataset)
        POD_TRY(pod_dataset_open_with(p->setup.data, p->setup.seed, &options, &p->dataset));
    shown x = {.n_rows = p->setup.batch,
               .task = p->net.task,
               .vocab = p->dataset->text ? pod_text_set_info(p->dataset->text)->vocab : NULL,
               .arena = e->arena,
               .has_json = pod_config_is_set(e->config, POD_OPT_JSON)};
    POD_TRY(x.task->samples(&p->setup, p->dataset, true, e->arena, &x.samples));
    return run(&x, e);
}
