#include "bench/common/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/file.h"

pod_status pod_record_open(const char *schema, int line_depth, const pod_column columns[],
                           int n_columns, pod_record *out)
{
    pod_record r = {0};
    POD_TRY(pod_table_create(columns, n_columns, &r.table));
    *out = r;
    FILE *to = open_memstream(&out->text, &out->bytes);
    if (!to) {
        pod_table_destroy(r.table);
        *out = (pod_record){0};
        return pod_fail(POD_E_NOMEM, "%s: no memory for a record", schema);
    }
    pod_json *j = &out->json;
    *j = pod_json_start(to, line_depth);
    pod_json_open_object(j, NULL);
    pod_json_text(j, "schema", schema);
    pod_json_int(j, "version", 1);
    pod_json_text(j, "minipod", POD_VERSION);
    pod_json_text(j, "git", POD_GIT_ID);
    return POD_OK;
}

void pod_record_close(pod_record *r)
{
    pod_table_destroy(r->table);
    if (r->json.to) fclose(r->json.to);
    free(r->text);
    *r = (pod_record){0};
}

/* From SI units to `unit`. */
static double scale_of(const char *unit)
{
    static const struct {
        const char *unit;
        double scale;
    } units[] = {{"ms", 1e3},     {"us", 1e6},
                 {"%", 100},      {"MB", 1e-6},
                 {"GFLOP", 1e-9}, {"MiB", 1.0 / (1 << 20)},
                 {"GB/s", 1e-9},  {"GiB", 1.0 / (1 << 30)}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].unit, unit) == 0) return units[i].scale;
    return 1;
}

/* Digits behind the point, or below 0 so many that count; no -0.00. */
static const char *print(const char *unit, int digits, double value, char text[64])
{
    const double scaled = scale_of(unit) * value;
    if (!isfinite(value))
        snprintf(text, 64, "-");
    else if (digits < 0)
        snprintf(text, 64, "%.*g", -digits, scaled);
    else
        snprintf(text, 64, "%.*f", digits, fabs(scaled) < 0.5 * pow(10, -digits) ? 0 : scaled);
    return text;
}

void pod_record_text(pod_record *r, const char *key, const char *name, const char *value)
{
    pod_table_quantity(r->table, name, "", "", "%s", value ? value : "-");
    if (key) pod_json_text(&r->json, key, value);
}

void pod_record_int(pod_record *r, const char *key, const char *name, const char *unit,
                    int64_t value)
{
    pod_table_quantity(r->table, name, unit, "", "%" PRId64, value);
    if (key) pod_json_int(&r->json, key, value);
}

void pod_record_real(pod_record *r, const char *key, const char *name, const char *unit, int digits,
                     double value)
{
    char text[64];
    pod_table_quantity(r->table, name, unit, "", "%s", print(unit, digits, value, text));
    if (key) pod_json_double(&r->json, key, value);
}

void pod_record_note(pod_record *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    pod_table_extend(r->table, fmt, args);
    va_end(args);
}

void pod_cell_text(pod_record *r, const char *key, const char *value)
{
    pod_table_add(r->table, "%s", value ? value : "-");
    if (key) pod_json_text(&r->json, key, value);
}

void pod_cell_int(pod_record *r, const char *key, int64_t value)
{
    pod_table_add(r->table, "%" PRId64, value);
    if (key) pod_json_int(&r->json, key, value);
}

void pod_cell_real(pod_record *r, const char *key, int digits, double value)
{
    char text[64];
    const char *unit = pod_table_next(r->table)->unit;
    pod_table_add(r->table, "%s", print(unit, digits, value, text));
    if (key) pod_json_double(&r->json, key, value);
}

pod_status pod_record_write_json(pod_record *r, const char *path)
{
    enum { PIECE = 512 };
    if (!*path) return POD_OK;
    while (r->json.depth > 0) pod_json_close(&r->json);
    if (fflush(r->json.to) != 0) return pod_fail(POD_E_NOMEM, "%s: no memory for it", path);
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    /* In pieces that the stream keeps until they are written, so that closing it knows why not. */
    for (size_t at = 0, n; at < r->bytes; at += n) {
        n = r->bytes - at < PIECE ? r->bytes - at : PIECE;
        fwrite(r->text + at, 1, n, pod_file_stream(f));
    }
    return pod_file_close(f);
}

pod_status pod_record_write_csv(const pod_record *r, const char *path)
{
    return *path ? pod_table_write_csv(r->table, path) : POD_OK;
}

pod_status pod_record_finish(pod_record *r, const pod_config *c, FILE *to)
{
    pod_status s = to ? pod_table_print(r->table, to) : POD_OK;
    if (s == POD_OK) s = pod_record_write_csv(r, pod_config_text(c, POD_OPT_CSV));
    if (s == POD_OK) s = pod_record_write_json(r, pod_config_text(c, POD_OPT_JSON));
    pod_record_close(r);
    return s;
}

pod_status pod_json_file_write(const char *path, int line_depth,
                               void (*put)(const void *what, pod_json *j), const void *what)
{
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    pod_json j = pod_json_start(pod_file_stream(f), line_depth);
    put(what, &j);
    return pod_file_close(f);
}
