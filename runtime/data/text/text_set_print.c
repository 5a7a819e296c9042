#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/json.h"
#include "runtime/data/text/text_set.h"

enum { N_POINTS = 5, BLOCK_IDS = 65536 };
static const int point[N_POINTS] = {1, 25, 50, 75, 99};

typedef struct lengths { /* of a field in a split */
    int64_t percentile[N_POINTS], shortest, longest;
    int64_t n_unknown;
} lengths;

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static pod_status count_unknown(const pod_text_set *t, pod_split split, int field, int32_t *block,
                                int64_t *n)
{
    const pod_text_info *info = pod_text_set_info(t);
    const int64_t n_tokens = info->n_tokens[split][field];
    for (int64_t first = 0, count; first < n_tokens; first += count) {
        count = n_tokens - first < BLOCK_IDS ? n_tokens - first : BLOCK_IDS;
        POD_TRY(pod_text_set_read_flat(t, split, field, first, count, block));
        for (int64_t i = 0; i < count; i++) *n += block[i] == info->vocab->special[POD_UNK];
    }
    return POD_OK;
}

/* The percentile p of n sorted lengths is the one at position ceil(p n / 100), from 1. */
static pod_status measure(const pod_text_set *t, pod_split split, int field, lengths *out)
{
    const int64_t n = pod_text_set_info(t)->n_rows[split];
    int64_t *length = malloc((size_t)(n > 0 ? n : 1) * sizeof *length);
    int32_t *block = malloc(BLOCK_IDS * sizeof *block);
    pod_status s = length && block ? POD_OK : pod_fail(POD_E_NOMEM, "no memory for lengths");
    *out = (lengths){0};
    for (int64_t i = 0; s == POD_OK && i < n; i++)
        length[i] = pod_text_set_length(t, split, field, i);
    if (s == POD_OK && n > 0) {
        qsort(length, (size_t)n, sizeof *length, by_value);
        for (int i = 0; i < N_POINTS; i++)
            out->percentile[i] = length[(n * point[i] + 99) / 100 - 1];
        out->shortest = length[0];
        out->longest = length[n - 1];
        s = count_unknown(t, split, field, block, &out->n_unknown);
    }
    free(length);
    free(block);
    return s;
}

static double share(int64_t part, int64_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static void print_field(const pod_text_info *info, int split, int field, const lengths *l, FILE *to)
{
    const int64_t n_tokens = info->n_tokens[split][field];
    fprintf(to, "%-9s %s: %" PRId64 " tokens, %.2f %% [UNK]\n", pod_split_name((pod_split)split),
            info->field[field], n_tokens, share(l->n_unknown, n_tokens));
    if (n_tokens == 0) return;
    fprintf(to, "          length: shortest %" PRId64, l->shortest);
    for (int i = 0; i < N_POINTS; i++) fprintf(to, ", %d %% %" PRId64, point[i], l->percentile[i]);
    fprintf(to, ", longest %" PRId64 "\n", l->longest);
}

pod_status pod_text_set_print(const pod_text_set *t, FILE *to)
{
    const pod_text_info *info = pod_text_set_info(t);
    fprintf(to, "name      %s\nkind      %s\n", info->name, info->has_documents ? "text" : "pairs");
    fprintf(to, "words     %s, vocabulary of %" PRId32 " tokens\n",
            info->is_cased ? "cased" : "uncased", info->vocab->n);
    for (int s = 0; s < POD_N_SPLITS; s++) {
        fprintf(to, "%-9s ", pod_split_name((pod_split)s));
        if (info->has_documents)
            fprintf(to, "%" PRId64 " documents, %" PRId64 " sentences, %.1f a document\n",
                    info->n_documents[s], info->n_rows[s],
                    info->n_documents[s] > 0
                        ? (double)info->n_rows[s] / (double)info->n_documents[s]
                        : 0.0);
        else
            fprintf(to, "%" PRId64 " pairs\n", info->n_rows[s]);
        for (int f = 0; f < info->n_fields; f++) {
            lengths l;
            POD_TRY(measure(t, (pod_split)s, f, &l));
            print_field(info, s, f, &l, to);
        }
    }
    fprintf(to, "origin    %s\n", info->origin);
    fprintf(to, "licence   %.*s\n", (int)strcspn(info->licence, "\r\n"), info->licence);
    return POD_OK;
}

static pod_status put_split(pod_json *j, const pod_text_set *t, pod_split s)
{
    const pod_text_info *info = pod_text_set_info(t);
    pod_json_open_object(j, pod_split_name(s));
    if (info->has_documents) pod_json_int(j, "n_documents", info->n_documents[s]);
    for (int f = 0; f < info->n_fields; f++) {
        lengths l;
        POD_TRY(measure(t, s, f, &l));
        pod_json_open_object(j, info->field[f]);
        pod_json_int(j, "n_tokens", info->n_tokens[s][f]);
        pod_json_int(j, "n_unknown", l.n_unknown);
        pod_json_int(j, "shortest", l.shortest);
        for (int i = 0; i < N_POINTS; i++) {
            char key[16];
            snprintf(key, sizeof key, "p%d", point[i]);
            pod_json_int(j, key, l.percentile[i]);
        }
        pod_json_int(j, "longest", l.longest);
        pod_json_close(j);
    }
    pod_json_close(j);
    return POD_OK;
}

pod_status pod_text_set_print_json(const pod_text_set *t, FILE *to)
{
    const pod_text_info *info = pod_text_set_info(t);
    pod_json j = pod_json_start(to, 2);
    pod_json_open_object(&j, NULL);
    pod_json_text(&j, "name", info->name);
    pod_json_text(&j, "kind", info->has_documents ? "text" : "pairs");
    pod_json_bool(&j, "is_cased", info->is_cased);
    pod_json_int(&j, "vocabulary", info->vocab->n);
    pod_json_int(&j, "n_train", info->n_rows[POD_SPLIT_TRAIN]);
    pod_json_int(&j, "n_test", info->n_rows[POD_SPLIT_TEST]);
    for (int s = 0; s < POD_N_SPLITS; s++) POD_TRY(put_split(&j, t, (pod_split)s));
    pod_json_text(&j, "origin", info->origin);
    pod_json_text(&j, "licence", info->licence);
    pod_json_close(&j);
    return POD_OK;
}
