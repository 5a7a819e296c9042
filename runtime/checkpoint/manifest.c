#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "runtime/checkpoint/parts.h"

enum {
    LINE_BYTES = 96,
    EVAL_BYTES = 384,
    METRIC_BYTES = 32,
    HEAD_BYTES = 288,
    MAX_EXACT = 53,
    TAIL_BYTES = 33
};

#define SCHEMA "minipod.checkpoint"

size_t pod__manifest_room(int ranks, int64_t n_evals)
{
    return HEAD_BYTES + LINE_BYTES * ((size_t)ranks + 1) + EVAL_BYTES * (size_t)n_evals;
}

/* The last lines, which vouch for all before them: of one length, so that they are found from the
 * end. */
static void print_tail(uint32_t crc, char tail[TAIL_BYTES + 1])
{
    snprintf(tail, TAIL_BYTES + 1, "  \"manifest_crc32\": \"%08" PRIx32 "\"\n}\n", crc);
}

/* An evaluation's numbers, in the order in which they are printed, between its step and its
 * metrics. */
static const struct number {
    const char *key;
    size_t at; /* in pod_eval_row */
} numbers[] = {{"epochs", offsetof(pod_eval_row, epochs)},
               {"time_s", offsetof(pod_eval_row, at_s)},
               {"loss", offsetof(pod_eval_row, loss)}};
enum { N_NUMBERS = sizeof numbers / sizeof numbers[0] };

static double *number_of(pod_eval_row *e, int i)
{
    return (double *)(void *)((char *)e + numbers[i].at);
}

bool pod_eval_rows_end_best(const pod_eval_rows *evals, int64_t step)
{
    const int64_t n = evals->n;
    const int m = evals->target_metric;
    if (n == 0 || evals->row[n - 1].n_done != step) return false;
    const double last = evals->row[n - 1].metric[m];
    for (int64_t i = 0; i + 1 < n; i++)
        if (!pod_metric_is_better(&evals->metric[m], last, evals->row[i].metric[m])) return false;
    return true;
}

/* ---- printing ---- */

static size_t print_file(char *text, size_t room, const char *name, const pod_checkpoint_receipt *f,
                         const char *behind)
{
    return (size_t)snprintf(
        text, room, "    {\"name\": \"%s\", \"bytes\": %zu, \"crc32\": \"%08" PRIx32 "\"}%s\n",
        name, f->bytes, f->crc, behind);
}

/* Numbers read back equal; what is not finite is null. */
static size_t print_number(char *text, size_t room, const char *key, double v)
{
    return (size_t)snprintf(text, room, isfinite(v) ? ", \"%s\": %.17g" : ", \"%s\": null", key, v);
}

static size_t print_eval(char *text, size_t room, const pod_eval_rows *evals, int64_t row)
{
    pod_eval_row *e = &evals->row[row];
    size_t n = (size_t)snprintf(text, room, "    {\"step\": %" PRId64, e->n_done);
    for (int i = 0; i < N_NUMBERS; i++)
        n += print_number(text + n, room - n, numbers[i].key, *number_of(e, i));
    for (int i = 0; i < evals->n_metrics; i++)
        n += print_number(text + n, room - n, evals->metric[i].name, e->metric[i]);
    return n + (size_t)snprintf(text + n, room - n, "}%s\n", row + 1 < evals->n ? "," : "");
}

static const char *file_name(int i, int ranks, char name[POD__CHECKPOINT_FOLDER_BYTES])
{
    if (i == ranks)
        snprintf(name, POD__CHECKPOINT_FOLDER_BYTES, "index.h5");
    else
        pod__checkpoint_shard(i, ".h5", name);
    return name;
}

size_t pod__manifest_print(const pod__manifest *m, char *text, size_t room)
{
    char name[POD__CHECKPOINT_FOLDER_BYTES], tail[TAIL_BYTES + 1];
    const int64_t n_kept = POD__CHECKPOINT_KEPT_EVALS;
    size_t n = (size_t)snprintf(text, room,
                                "{\n  \"schema\": \"" SCHEMA "\",\n  \"version\": %d,\n"
                                "  \"step\": %" PRId64 ",\n  \"ranks\": %d,\n  \"files\": [\n",
                                POD_CHECKPOINT_VERSION, m->step, m->ranks);
    for (int i = 0; i <= m->ranks; i++)
        n += print_file(text + n, room - n, file_name(i, m->ranks, name),
                        i < m->ranks ? &m->shard[i] : &m->index, i < m->ranks ? "," : "");
    n += (size_t)snprintf(text + n, room - n, "  ],\n  \"evaluations\": [\n");
    for (int64_t i = m->evals.n > n_kept ? m->evals.n - n_kept : 0; i < m->evals.n; i++)
        n += print_eval(text + n, room - n, &m->evals, i);
    n += (size_t)snprintf(text + n, room - n, "  ],\n");
    print_tail(pod__checkpoint_crc(0, text, n), tail);
    return n + (size_t)snprintf(text + n, room - n, "%s", tail);
}

/* ---- reading ---- */

static pod_status wrong(const char *path, const char *what)
{
    return pod_fail(POD_E_FORMAT, "%s: is no manifest of a checkpoint: %s", path, what);
}

/* A whole number that a double holds exactly. */
static bool get_whole(const cJSON *object, const char *key, int64_t max, int64_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item)) return false;
    const double v = item->valuedouble;
    if (!(v >= 0 && v <= (double)max) || v != (double)(int64_t)v) return false;
    *out = (int64_t)v;
    return true;
}

static const char *get_text(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

static bool get_file(const cJSON *file, const char *name, pod_checkpoint_receipt *out)
{
    char printed[16];
    int64_t bytes;
    uint32_t crc;
    const char *hex = get_text(file, "crc32");
    if (strcmp(get_text(file, "name"), name) != 0) return false;
    if (!get_whole(file, "bytes", INT64_C(1) << MAX_EXACT, &bytes)) return false;
    if (strlen(hex) != 8 || sscanf(hex, "%8" SCNx32, &crc) != 1) return false;
    snprintf(printed, sizeof printed, "%08" PRIx32, crc);
    *out = (pod_checkpoint_receipt){.is_there = true, .bytes = (size_t)bytes, .crc = crc};
    return strcmp(printed, hex) == 0;
}

static pod_status get_files(const char *path, const cJSON *files, int ranks, pod_arena *a,
                            pod__manifest *m)
{
    char name[POD__CHECKPOINT_FOLDER_BYTES];
    pod_checkpoint_receipt *found = POD_ARENA_NEW(a, pod_checkpoint_receipt, ranks + 1);
    if (!found) return POD_E_NOMEM;
    int i = 0;
    const cJSON *file;
    cJSON_ArrayForEach(file, files)
    {
        if (i > ranks || !get_file(file, file_name(i, ranks, name), &found[i]))
            return wrong(path, "'files' are not a shard a rank and index.h5");
        i++;
    }
    if (i != ranks + 1) return wrong(path, "'files' are not a shard a rank and index.h5");
    m->shard = found;
    m->index = found[ranks];
    return POD_OK;
}

static bool get_number(const cJSON *item, double *out)
{
    *out = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
    return isfinite(*out) || cJSON_IsNull(item);
}

static bool get_eval(const cJSON *eval, const pod_eval_rows *rows, pod_eval_row *out)
{
    bool ok = get_whole(eval, "step", INT64_C(1) << MAX_EXACT, &out->n_done);
    for (int i = 0; i < N_NUMBERS; i++)
        ok = ok &&
             get_number(cJSON_GetObjectItemCaseSensitive(eval, numbers[i].key), number_of(out, i));
    for (int i = 0; i < rows->n_metrics; i++)
        ok = ok && get_number(cJSON_GetObjectItemCaseSensitive(eval, rows->metric[i].name),
                              &out->metric[i]);
    return ok;
}

/* As the program names metrics. */
static bool is_word(const char *name)
{
    const size_t n = strlen(name);
    return n > 0 && n <= METRIC_BYTES && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

/* What an evaluation has behind its numbers: all have as many, of the same names. */
static pod_status get_metrics(const cJSON *eval, pod_arena *a, pod_eval_rows *rows)
{
    const int before = 1 + N_NUMBERS, n = cJSON_GetArraySize(eval) - before;
    const cJSON *item = eval ? eval->child : NULL;
    rows->n_metrics = 0;
    for (int i = 0; item && i < before; i++) item = item->next;
    if (n < 1 || n > POD_MAX_METRICS) return POD_OK;
    for (; item; item = item->next) {
        const char *name = pod_arena_text(a, "%s", item->string ? item->string : "");
        if (!name) return POD_E_NOMEM;
        if (!is_word(name)) break;
        rows->metric[rows->n_metrics++].name = name;
    }
    return POD_OK;
}

static pod_status get_evals(const char *path, const cJSON *evals, pod_arena *a, pod__manifest *m)
{
    int64_t n = 0;
    const cJSON *eval;
    cJSON_ArrayForEach(eval, evals) n++;
    if (n > POD__CHECKPOINT_MAX_EVALS) return wrong(path, "too many 'evaluations'");
    pod_eval_rows rows = {.row = POD_ARENA_NEW(a, pod_eval_row, n), .room = n};
    if (!rows.row) return POD_E_NOMEM;
    POD_TRY(get_metrics(evals ? evals->child : NULL, a, &rows));
    cJSON_ArrayForEach(eval, evals)
    {
        if (rows.n_metrics == 0 || cJSON_GetArraySize(eval) != 1 + N_NUMBERS + rows.n_metrics ||
            !get_eval(eval, &rows, &rows.row[rows.n++]))
            return wrong(path, "'evaluations' are not step, epochs, time_s, loss and metrics each");
    }
    m->evals = rows;
    return POD_OK;
}

static pod_status get_all(const char *path, const cJSON *json, pod_arena *a, pod__manifest *out)
{
    pod__manifest m;
    int64_t version, ranks;
    if (strcmp(get_text(json, "schema"), SCHEMA) != 0) return wrong(path, "no 'schema' of " SCHEMA);
    if (!get_whole(json, "version", INT32_MAX, &version)) return wrong(path, "no 'version'");
    if (version != POD_CHECKPOINT_VERSION)
        return pod_fail(POD_E_FORMAT, "%s: checkpoint of version %" PRId64 ", need %d", path,
                        version, POD_CHECKPOINT_VERSION);
    if (!get_whole(json, "step", INT64_C(1) << MAX_EXACT, &m.step)) return wrong(path, "no 'step'");
    if (!get_whole(json, "ranks", POD__CHECKPOINT_MAX_RANKS, &ranks) || ranks < 1)
        return wrong(path, "no 'ranks'");
    m.ranks = (int)ranks;
    POD_TRY(get_files(path, cJSON_GetObjectItemCaseSensitive(json, "files"), m.ranks, a, &m));
    POD_TRY(get_evals(path, cJSON_GetObjectItemCaseSensitive(json, "evaluations"), a, &m));
    *out = m;
    return POD_OK;
}

pod_status pod__manifest_parse(const char *path, const char *text, size_t bytes, pod_arena *a,
                               pod__manifest *out)
{
    char tail[TAIL_BYTES + 1];
    if (bytes < TAIL_BYTES) return wrong(path, "too short");
    print_tail(pod__checkpoint_crc(0, text, bytes - TAIL_BYTES), tail);
    if (memcmp(text + bytes - TAIL_BYTES, tail, TAIL_BYTES) != 0)
        return pod_fail(POD_E_FORMAT, "%s: damaged: its CRC-32 is not what its last line says",
                        path);
    cJSON *json = cJSON_ParseWithLength(text, bytes);
    if (!json) return wrong(path, "no JSON");
    const pod_status s = get_all(path, json, a, out);
    cJSON_Delete(json);
    return s;
}
