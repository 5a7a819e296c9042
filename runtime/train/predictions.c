#include "runtime/train/predictions.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "runtime/core/file.h"

struct pod_predictions {
    pod_comm *comm;
    pod_arena *arena;
    pod_file *file; /* rank 0's */
    int64_t n_classes, local_batch;
    bool is_unlabelled;
    const char *const *class_names;
    const char *const *files; /* of the samples; NULL: not known */
    /* Of a whole batch, on rank 0: a part a rank. */
    int64_t *samples;
    int32_t *labels;
    float *logits;
};

static pod_status take_memory(pod_predictions *p)
{
    const int64_t n_rows = p->local_batch * pod_comm_size(p->comm);
    p->samples = POD_ARENA_NEW(p->arena, int64_t, n_rows);
    p->labels = POD_ARENA_NEW(p->arena, int32_t, n_rows);
    p->logits = POD_ARENA_NEW(p->arena, float, n_rows * p->n_classes);
    return p->samples && p->labels && p->logits ? POD_OK : POD_E_NOMEM;
}

static pod_status open_file(pod_predictions *p, const char *path, const pod_dataset *data)
{
    POD_TRY(take_memory(p));
    POD_TRY(pod_dataset_files(data, POD_SPLIT_TEST, p->arena, &p->files));
    POD_TRY(pod_file_open_result(path, &p->file));
    FILE *to = pod_file_stream(p->file);
    fprintf(to, "index,label,answer,label_name,answer_name%s", p->files ? ",file" : "");
    for (int64_t c = 0; c < p->n_classes; c++) fprintf(to, ",logit%" PRId64, c);
    fprintf(to, "\n");
    return POD_OK;
}

static pod_status create(pod_comm *comm, pod_predictions **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_predictions *p = POD_ARENA_NEW(arena, pod_predictions, 1);
    if (!p) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    *p = (pod_predictions){.comm = comm, .arena = arena};
    *out = p;
    return POD_OK;
}

pod_status pod_predictions_open(const char *path, const pod_dataset *data, int64_t local_batch,
                                pod_comm *comm, pod_predictions **out)
{
    pod_predictions *p = NULL;
    pod_status mine = create(comm, &p);
    if (p) {
        p->n_classes = data->info.n_classes;
        p->class_names = data->info.class_names;
        p->local_batch = local_batch;
        p->is_unlabelled = data->is_unlabelled;
        if (pod_comm_rank(comm) == 0) mine = open_file(p, path, data);
    }
    const pod_status status = pod_comm_agree(comm, mine);
    if (status == POD_OK)
        *out = p;
    else
        pod_predictions_abandon(p);
    return status;
}

static int64_t largest(const float *logits, int64_t n)
{
    int64_t at = 0;
    for (int64_t c = 1; c < n; c++)
        if (logits[c] > logits[at]) at = c;
    return at;
}

/* Writes a comma and the text, as RFC 4180 has it, and in quotes where a reader might take # for a
 * remark. */
static void write_text(FILE *to, const char *text)
{
    const bool is_quoted = strpbrk(text, ",\"\r\n#") != NULL;
    fputs(is_quoted ? ",\"" : ",", to);
    for (; *text; text++) {
        if (*text == '"') fputc('"', to);
        fputc(*text, to);
    }
    if (is_quoted) fputc('"', to);
}

static void write_row(const pod_predictions *p, int64_t row)
{
    FILE *to = pod_file_stream(p->file);
    const float *logits = p->logits + row * p->n_classes;
    const int64_t answer = largest(logits, p->n_classes);
    fprintf(to, "%" PRId64 ",", p->samples[row]);
    if (!p->is_unlabelled) fprintf(to, "%" PRId32, p->labels[row]);
    fprintf(to, ",%" PRId64, answer);
    write_text(to, p->is_unlabelled ? "" : p->class_names[p->labels[row]]);
    write_text(to, p->class_names[answer]);
    if (p->files) write_text(to, p->files[p->samples[row]]);
    for (int64_t c = 0; c < p->n_classes; c++) fprintf(to, ",%.9g", (double)logits[c]);
    fprintf(to, "\n");
}

/* Parts of a batch follow each other in the order of the ranks. */
void pod_predictions_add(pod_predictions *p, const pod_batch *batch, const float *logits)
{
    const size_t n = (size_t)p->local_batch;
    pod_comm_gather(p->comm, batch->samples, n * sizeof *p->samples, p->samples);
    pod_comm_gather(p->comm, batch->field[POD_FIELD_LABELS], n * sizeof *p->labels, p->labels);
    pod_comm_gather(p->comm, logits, n * (size_t)p->n_classes * sizeof *logits, p->logits);
    if (!p->file) return;
    for (int64_t row = 0; row < p->local_batch * pod_comm_size(p->comm); row++)
        if (p->samples[row] != POD_PADDING_ROW) write_row(p, row);
}

pod_status pod_predictions_close(pod_predictions *p)
{
    pod_file *file = p->file;
    p->file = NULL;
    const pod_status status = pod_comm_agree(p->comm, file ? pod_file_close(file) : POD_OK);
    pod_predictions_abandon(p);
    return status;
}

void pod_predictions_abandon(pod_predictions *p)
{
    if (!p) return;
    pod_file_abandon(p->file);
    pod_arena_destroy(p->arena);
}
