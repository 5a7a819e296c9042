#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "runtime/checkpoint/parts.h"

enum { LINE_BYTES = 96, EVAL_BYTES = 224, HEAD_BYTES = 288, MAX_EXACT = 53, TAIL_BYTES = 33 };

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

/* An evaluation's numbers, in the order in which they are printed, behind its step. */
static const struct number {
    const char *key;
    size_t at; /* in pod_eval_row */
} numbers[] = {{"epochs", offsetof(pod_eval_row, epochs)},
               {"time_s", offsetof(pod_eval_row, at_s)},
               {"loss", offsetof(pod_eval_row, loss)},
               {"accuracy", offsetof(pod_eval_row, accuracy)}};
enum { N_NUMBERS = sizeof numbers / sizeof numbers[0] };

static double *number_of(pod_eval_row *e, int i)
{
    return (double *)(void *)((char *)e + numbers[i].at);
}

bool pod_eval_rows_end_best(const pod_eval_rows *evals, int64_t step)
{
    const int64_t n = evals->n;
    if (n == 0 || evals->row[n - 1].n_done != step) return false;
    for (int64_t i = 0; i + 1 < n; i++)
        if (!(evals->row[n - 1].accuracy > evals->row[i].accuracy)) return false;
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
static size_t print_eval(char *text, size_t room, pod_eval_row *e, const char *behind)
{
    size_t n = (size_t)snprintf(text, room, "    {\"step\": %" PRId64, e->n_done);
    for (int i = 0; i < N_NUMBERS; i++) {
        const double v = *number_of(e, i);
        n +=
            (size_t)snprintf(text + n, room - n, isfinite(v) ? ", \"%s\": %.17g" : ", \"%s\": null",
                             numbers[i].key, v);
    }
    return n + (size_t)snprintf(text + n, room - n, "}%s\n", behind);
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
        n += print_eval(text + n, room - n, &m->evals.row[i], i + 1 < m->evals.n ? "," : "");
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

static bool get_eval(const cJSON *eval, pod_eval_row *out)
{
    bool ok = get_whole(eval, "step", INT64_C(1) << MAX_EXACT, &out->n_done);
    for (int i = 0; i < N_NUMBERS; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(eval, numbers[i].key);
        const double v = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
        ok = ok && (isfinite(v) || cJSON_IsNull(item));
        *number_of(out, i) = v;
    }
    return ok;
}

static pod_status get_evals(const char *path, const cJSON *evals, pod_arena *a, pod__manifest *m)
{
    int64_t n = 0;
    const cJSON *eval;
    cJSON_ArrayForEach(eval, evals) n++;
    if (n > POD__CHECKPOINT_MAX_EVALS) return wrong(path, "too many 'evaluations'");
    pod_eval_rows rows = {.row = POD_ARENA_NEW(a, pod_eval_row, n), .room = n};
    if (!rows.row) return POD_E_NOMEM;
    cJSON_ArrayForEach(eval, evals)
    {
        if (!get_eval(eval, &rows.row[rows.n++]))
            return wrong(path,
                         "'evaluations' are not step, epochs, time_s, loss and accuracy each");
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
