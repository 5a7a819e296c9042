#include "tests/tools/mllog_check.h"

#include <cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/status.h"

typedef enum occurs { ANY_TIMES, ONE, SOME } occurs;

/* In the order that a run writes them; a later stage never precedes an earlier one. */
static const struct rule {
    const char *key;
    occurs occurs;
    int stage; /* 0: anywhere */
} rules[] = {
    {"submission_benchmark", ONE, 1},
    {"submission_division", ONE, 1},
    {"submission_org", ONE, 1},
    {"submission_platform", ONE, 1},
    {"submission_status", ONE, 1},
    {"minipod_model", ONE, 1},
    {"minipod_data", ONE, 1},
    {"minipod_claim", ONE, 1},
    {"cache_clear", SOME, 1},
    {"init_start", ONE, 2},
    {"seed", ONE, 3},
    {"global_batch_size", ONE, 3},
    {"init_stop", ONE, 4},
    {"run_start", ONE, 5},
    {"train_samples", ONE, 6},
    {"eval_samples", ONE, 6},
    {"epoch_start", SOME, 7},
    {"epoch_stop", SOME, 7},
    {"eval_start", SOME, 7},
    {"eval_stop", SOME, 7},
    {"eval_accuracy", SOME, 7},
    {"run_stop", ONE, 8},
};

enum { N_RULES = sizeof rules / sizeof rules[0] };

typedef struct judge {
    int line, count[N_RULES], stage;
    double last_time, init_time, last_epoch, last_eval;
    bool epoch_open, eval_open, accuracy_due, aborted;
    char *why;
    size_t why_bytes;
} judge;

static bool fault(judge *g, const char *fmt, ...) POD_PRINTF(2, 3);
static bool fault(judge *g, const char *fmt, ...)
{
    const int used = snprintf(g->why, g->why_bytes, "line %d: ", g->line);
    va_list args;
    va_start(args, fmt);
    vsnprintf(g->why + used, g->why_bytes - (size_t)used, fmt, args);
    va_end(args);
    return false;
}

static bool is_one_of(const cJSON *value, const char *words)
{
    if (!cJSON_IsString(value) || value->valuestring[0] == '\0') return false;
    const char *at = strstr(words, value->valuestring);
    const size_t n = strlen(value->valuestring);
    return at && (at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0');
}

static bool check_value(judge *g, const char *key, const cJSON *value)
{
    static const struct {
        const char *key, *words;
    } choices[] = {
        {"submission_division", "open"},
        {"submission_status", "cloud onprem preview research"},
    };
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        if (strcmp(key, choices[i].key) == 0 && !is_one_of(value, choices[i].words))
            return fault(g, "%s is none of '%s'", key, choices[i].words);
    const bool is_name = !strcmp(key, "submission_benchmark") || !strcmp(key, "submission_org") ||
                         !strcmp(key, "submission_platform") || !strcmp(key, "minipod_model") ||
                         !strcmp(key, "minipod_data") || !strcmp(key, "minipod_claim");
    if (is_name && (!cJSON_IsString(value) || value->valuestring[0] == '\0'))
        return fault(g, "%s is no text", key);
    const bool is_whole = !strcmp(key, "seed") || strstr(key, "_samples") || strstr(key, "_size");
    if (is_whole && (!cJSON_IsNumber(value) || value->valuedouble != floor(value->valuedouble)))
        return fault(g, "%s is no whole number", key);
    if (strcmp(key, "eval_accuracy") == 0 &&
        !(cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < 1))
        return fault(g, "eval_accuracy is no fraction below 1");
    const size_t n = strlen(key);
    const bool is_span =
        (n > 6 && !strcmp(key + n - 6, "_start")) || (n > 5 && !strcmp(key + n - 5, "_stop"));
    if (is_span && !cJSON_IsNull(value)) return fault(g, "%s has a value", key);
    return true;
}

static bool check_event_type(judge *g, const char *key, const cJSON *type)
{
    const size_t n = strlen(key);
    const char *want = n > 6 && !strcmp(key + n - 6, "_start")  ? "INTERVAL_START"
                       : n > 5 && !strcmp(key + n - 5, "_stop") ? "INTERVAL_END"
                                                                : "POINT_IN_TIME";
    if (!cJSON_IsString(type) || strcmp(type->valuestring, want) != 0)
        return fault(g, "event_type of %s is not %s", key, want);
    return true;
}

/* Epochs and evaluations open and close in turn; each evaluation has its accuracy. Epochs are
 * numbered from 1; an evaluation says how many have passed, so one within epoch 2 has 1.4. */
static bool check_pairs(judge *g, const char *key, const cJSON *metadata)
{
    const bool is_epoch = strncmp(key, "epoch_", 6) == 0, is_eval = strncmp(key, "eval_", 5) == 0;
    if (strcmp(key, "eval_samples") == 0 || (!is_epoch && !is_eval)) return true;
    const cJSON *epoch = cJSON_GetObjectItem(metadata, "epoch_num");
    if (!cJSON_IsNumber(epoch)) return fault(g, "%s has no epoch_num", key);
    double *last = is_epoch ? &g->last_epoch : &g->last_eval;
    if (epoch->valuedouble < *last)
        return fault(g, "epoch_num %g after %g", epoch->valuedouble, *last);
    *last = epoch->valuedouble;
    if (is_eval && (*last <= g->last_epoch - 1 || *last > g->last_epoch))
        return fault(g, "an evaluation at epoch %g in epoch %g", *last, g->last_epoch);
    if (strcmp(key, "eval_accuracy") == 0) {
        if (!g->accuracy_due) return fault(g, "eval_accuracy without an evaluation before it");
        g->accuracy_due = false;
        return true;
    }
    bool *open = is_epoch ? &g->epoch_open : &g->eval_open;
    const bool starts = strstr(key, "_start") != NULL;
    if (*open == starts) return fault(g, "%s twice", key);
    if (is_eval && starts && g->accuracy_due)
        return fault(g, "eval_start before the last evaluation's accuracy");
    *open = starts;
    if (is_eval && !starts) g->accuracy_due = true;
    return true;
}

static bool check_order(judge *g, const char *key, double time_ms)
{
    for (int i = 0; i < N_RULES; i++) {
        if (strcmp(key, rules[i].key) != 0) continue;
        if (rules[i].occurs == ONE && g->count[i] > 0) return fault(g, "a second %s", key);
        if (rules[i].stage < g->stage) return fault(g, "%s comes too late", key);
        g->stage = rules[i].stage;
        g->count[i]++;
    }
    if (strcmp(key, "init_start") == 0) g->init_time = time_ms;
    if (strcmp(key, "init_stop") == 0 && time_ms - g->init_time >= 1200000)
        return fault(g, "init_stop %g ms after init_start", time_ms - g->init_time);
    if (time_ms < g->last_time) return fault(g, "time_ms goes back");
    g->last_time = time_ms;
    return true;
}

static bool check_record(judge *g, const cJSON *record)
{
    const cJSON *time_ms = cJSON_GetObjectItem(record, "time_ms");
    const cJSON *key = cJSON_GetObjectItem(record, "key");
    const cJSON *value = cJSON_GetObjectItem(record, "value");
    const cJSON *metadata = cJSON_GetObjectItem(record, "metadata");
    if (!cJSON_IsString(cJSON_GetObjectItem(record, "namespace"))) return fault(g, "no namespace");
    if (!cJSON_IsNumber(time_ms) || time_ms->valuedouble != floor(time_ms->valuedouble))
        return fault(g, "time_ms is no whole number");
    if (!cJSON_IsString(key) || !value) return fault(g, "no key or no value");
    const cJSON *file = cJSON_GetObjectItem(metadata, "file");
    if (!cJSON_IsString(file) || strchr(file->valuestring, '/') ||
        !cJSON_IsNumber(cJSON_GetObjectItem(metadata, "lineno")))
        return fault(g, "metadata without a plain file and lineno");
    const char *name = key->valuestring;
    if (strcmp(name, "run_stop") == 0 &&
        !is_one_of(cJSON_GetObjectItem(metadata, "status"), "success aborted"))
        return fault(g, "run_stop without status success or aborted");
    if (strcmp(name, "run_stop") == 0)
        g->aborted = is_one_of(cJSON_GetObjectItem(metadata, "status"), "aborted");
    return check_event_type(g, name, cJSON_GetObjectItem(record, "event_type")) &&
           check_value(g, name, value) && check_order(g, name, time_ms->valuedouble) &&
           check_pairs(g, name, metadata);
}

static bool check_line(judge *g, const char *text)
{
    static const char token[] = ":::MLLOG {";
    g->line++;
    if (strncmp(text, token, sizeof token - 1) != 0) return fault(g, "no record");
    const char *end = NULL;
    cJSON *record = cJSON_ParseWithOpts(text + sizeof token - 2, &end, false);
    const bool whole = record && strcmp(end, "\n") == 0;
    const bool ok = whole ? check_record(g, record) : fault(g, "not one JSON object");
    cJSON_Delete(record);
    return ok;
}

static bool may_lack(const judge *g, const char *key)
{
    return g->aborted && strncmp(key, "eval_", 5) == 0 && strcmp(key, "eval_samples") != 0;
}

bool pod_mllog_check(const char *path, char *why, size_t bytes)
{
    judge g = {.why = why, .why_bytes = bytes};
    FILE *f = fopen(path, "r");
    if (!f) return fault(&g, "cannot read %s", path);
    char *text = NULL;
    size_t room = 0;
    bool ok = true;
    while (ok && getline(&text, &room, f) > 0) ok = check_line(&g, text);
    free(text);
    fclose(f);
    for (int i = 0; i < N_RULES && ok; i++)
        if (rules[i].occurs != ANY_TIMES && g.count[i] == 0 && !may_lack(&g, rules[i].key))
            ok = fault(&g, "%s is missing", rules[i].key);
    if (ok && (g.epoch_open || g.eval_open || (g.accuracy_due && !g.aborted)))
        ok = fault(&g, "an epoch or an evaluation is not closed");
    return ok;
}
