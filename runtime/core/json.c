#include "runtime/core/json.h"

#include <inttypes.h>
#include <math.h>

#include "kernels/base/assert.h"
#include "kernels/base/parse.h"

pod_json pod_json_start(FILE *to, int line_depth)
{
    return (pod_json){.to = to, .line_depth = line_depth};
}

/* Bytes of the UTF-8 sequence at p, or 0 when there is none: RFC 3629, section 4. */
static int utf8_length(const unsigned char *p)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        int length;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (p[0] < forms[i].first_low || p[0] > forms[i].first_high) continue;
        if (forms[i].length == 1) return 1;
        if (p[1] < forms[i].second_low || p[1] > forms[i].second_high) return 0;
        for (int k = 2; k < forms[i].length; k++)
            if (p[k] < 0x80 || p[k] > 0xbf) return 0;
        return forms[i].length;
    }
    return 0;
}

void pod_json_quote(FILE *to, const char *text)
{
    fputc('"', to);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0';) {
        const int length = utf8_length(p);
        if (length == 0)
            fputs("\\ufffd", to);
        else if (*p == '"' || *p == '\\')
            fprintf(to, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(to, "\\u%04x", *p);
        else
            fwrite(p, 1, (size_t)length, to);
        p += length ? length : 1;
    }
    fputc('"', to);
}

static void print_line_end(const pod_json *j)
{
    fputc('\n', j->to);
    for (int i = 0; i < j->depth; i++) fputs("  ", j->to);
}

/* Writes what precedes a value: comma, line end, key. */
static void begin_item(pod_json *j, const char *key)
{
    const bool in_object = j->depth > 0 && j->closing[j->depth] == '}';
    POD_ASSERT(in_object == (key != NULL), "key '%s' at depth %d", key ? key : "", j->depth);
    const bool own_line = j->depth > 0 && j->depth <= j->line_depth;
    if (j->has_items[j->depth]) fputs(own_line ? "," : ", ", j->to);
    if (own_line) print_line_end(j);
    j->has_items[j->depth] = true;
    if (!key) return;
    pod_json_quote(j->to, key);
    fputs(": ", j->to);
}

static void open_container(pod_json *j, const char *key, char opening, char closing)
{
    begin_item(j, key);
    POD_ASSERT(j->depth < POD_JSON_MAX_DEPTH, "JSON deeper than %d", POD_JSON_MAX_DEPTH);
    fputc(opening, j->to);
    j->depth++;
    j->closing[j->depth] = closing;
    j->has_items[j->depth] = false;
}

void pod_json_open_object(pod_json *j, const char *key) { open_container(j, key, '{', '}'); }

void pod_json_open_array(pod_json *j, const char *key) { open_container(j, key, '[', ']'); }

void pod_json_close(pod_json *j)
{
    POD_ASSERT(j->depth > 0, "nothing is open at depth %d", j->depth);
    const char closing = j->closing[j->depth];
    const bool own_line = j->depth <= j->line_depth && j->has_items[j->depth];
    j->depth--;
    if (own_line) print_line_end(j);
    fputc(closing, j->to);
    if (j->depth == 0 && j->line_depth > 0) fputc('\n', j->to);
}

void pod_json_double(pod_json *j, const char *key, double value)
{
    char text[32];
    begin_item(j, key);
    fputs(isfinite(value) ? pod_print_double(value, text, sizeof text) : "null", j->to);
}

void pod_json_int(pod_json *j, const char *key, int64_t value)
{
    begin_item(j, key);
    fprintf(j->to, "%" PRId64, value);
}

void pod_json_decimal(pod_json *j, const char *key, int64_t value, int places)
{
    begin_item(j, key);
    uint64_t scale = 1;
    for (int i = 0; i < places; i++) scale *= 10;
    const uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    fprintf(j->to, "%s%" PRIu64, value < 0 ? "-" : "", magnitude / scale);
    if (places > 0) fprintf(j->to, ".%0*" PRIu64, places, magnitude % scale);
}

void pod_json_bool(pod_json *j, const char *key, bool value)
{
    begin_item(j, key);
    fputs(value ? "true" : "false", j->to);
}

void pod_json_text(pod_json *j, const char *key, const char *value)
{
    begin_item(j, key);
    if (value)
        pod_json_quote(j->to, value);
    else
        fputs("null", j->to);
}

void pod_json_null(pod_json *j, const char *key) { pod_json_text(j, key, NULL); }
