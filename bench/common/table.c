#include "bench/common/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/assert.h"
#include "runtime/core/file.h"

typedef struct text_list {
    const char **text;
    int n, room;
} text_list;

struct pod_table {
    pod_arena *arena;
    const pod_column *column;
    int n_columns;
    text_list notes, cells;
    int n_head_notes; /* -1: all stand before the rows */
    pod_log *log;     /* of a stream; else NULL */
    const int *widths;
    bool has_names; /* the stream has them */
    pod_status status;
};

pod_status pod_table_create(const pod_column columns[], int n_columns, pod_table **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_table *t = POD_ARENA_NEW(arena, pod_table, 1);
    if (!t) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    *t = (pod_table){.arena = arena, .column = columns, .n_columns = n_columns, .n_head_notes = -1};
    *out = t;
    return POD_OK;
}

void pod_table_destroy(pod_table *t)
{
    if (t) pod_arena_destroy(t->arena);
}

static void append(pod_table *t, text_list *list, const char *fmt, va_list args) POD_PRINTF(3, 0);

static void append(pod_table *t, text_list *list, const char *fmt, va_list args)
{
    if (t->status != POD_OK) return;
    if (list->n == list->room) {
        const int room = list->room ? 2 * list->room : 16;
        const char **larger = POD_ARENA_NEW(t->arena, const char *, room);
        if (!larger) {
            t->status = POD_E_NOMEM;
            return;
        }
        if (list->n) memcpy(larger, list->text, (size_t)list->n * sizeof larger[0]);
        list->text = larger;
        list->room = room;
    }
    list->text[list->n] = pod_arena_vtext(t->arena, fmt, args);
    if (list->text[list->n])
        list->n++;
    else
        t->status = POD_E_NOMEM;
}

static int n_rows(const pod_table *t)
{
    POD_ASSERT(t->cells.n % t->n_columns == 0, "%d cells in %d columns", t->cells.n, t->n_columns);
    return t->cells.n / t->n_columns;
}

static const char *cell(const pod_table *t, int row, int column)
{
    return t->cells.text[row * t->n_columns + column];
}

static int width_of(const pod_table *t, int column)
{
    size_t width = strlen(t->column[column].name);
    if (strlen(t->column[column].unit) > width) width = strlen(t->column[column].unit);
    if (t->widths) return (int)width > t->widths[column] ? (int)width : t->widths[column];
    for (int row = 0; row < n_rows(t); row++)
        if (strlen(cell(t, row, column)) > width) width = strlen(cell(t, row, column));
    return (int)width;
}

static void print_cell(const pod_table *t, int column, const char *text, FILE *to)
{
    const int width = width_of(t, column);
    const bool last = column + 1 == t->n_columns;
    if (column > 0) fputs("  ", to);
    if (!t->column[column].is_text)
        fprintf(to, "%*s", width, text);
    else
        fprintf(to, "%-*s", last ? 0 : width, text);
}

static bool has_units(const pod_table *t)
{
    for (int c = 0; c < t->n_columns; c++)
        if (t->column[c].unit[0] != '\0') return true;
    return false;
}

typedef void line_fn(const pod_table *t, int number, FILE *to);

/* Number 0 has the names, 1 the units. */
static void print_names(const pod_table *t, int number, FILE *to)
{
    fputs("# ", to);
    for (int c = 0; c < t->n_columns; c++)
        print_cell(t, c, number ? t->column[c].unit : t->column[c].name, to);
}

static void print_row(const pod_table *t, int number, FILE *to)
{
    fputs("  ", to);
    for (int c = 0; c < t->n_columns; c++) print_cell(t, c, cell(t, number, c), to);
}

static void stream_line(pod_table *t, line_fn *print, int number)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (to) print(t, number, to);
    if (!to || fclose(to) != 0)
        t->status = pod_fail(POD_E_NOMEM, "table: no memory for a line");
    else
        pod_log_say(t->log, POD_LOG_RESULT, "%s", text);
    free(text);
}

static void stream_names(pod_table *t)
{
    t->has_names = true;
    for (int line = 0; line < (has_units(t) ? 2 : 1); line++) stream_line(t, print_names, line);
}

void pod_table_note(pod_table *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    append(t, &t->notes, fmt, args);
    va_end(args);
    if (t->log && t->status == POD_OK)
        pod_log_say(t->log, POD_LOG_RESULT, "# %s", t->notes.text[t->notes.n - 1]);
}

void pod_table_footer(pod_table *t)
{
    t->n_head_notes = t->notes.n;
    if (t->log && !t->has_names) stream_names(t);
}

void pod_table_stream(pod_table *t, pod_log *log, const int widths[])
{
    t->log = log;
    t->widths = widths;
}

void pod_table_add(pod_table *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    append(t, &t->cells, fmt, args);
    va_end(args);
    if (!t->log || t->status != POD_OK || t->cells.n % t->n_columns != 0) return;
    if (!t->has_names) stream_names(t);
    stream_line(t, print_row, t->cells.n / t->n_columns - 1);
}

static void print_notes(const pod_table *t, int from, int end, FILE *to)
{
    for (int i = from; i < end; i++) fprintf(to, "# %s\n", t->notes.text[i]);
}

pod_status pod_table_print(const pod_table *t, FILE *to)
{
    if (t->status != POD_OK || t->log) return t->status;
    const int n_head = t->n_head_notes < 0 ? t->notes.n : t->n_head_notes;
    print_notes(t, 0, n_head, to);
    for (int line = 0; line < (has_units(t) ? 2 : 1); line++) {
        print_names(t, line, to);
        fputc('\n', to);
    }
    for (int row = 0; row < n_rows(t); row++) {
        print_row(t, row, to);
        fputc('\n', to);
    }
    print_notes(t, n_head, t->notes.n, to);
    return POD_OK;
}

/* RFC 4180: quoted where it must be. Blanks before it are there for the eye. */
static void print_csv_cell(const char *text, FILE *to)
{
    text += strspn(text, " ");
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"') fputc('"', to);
        fputc(*p, to);
    }
    fputc('"', to);
}

static void print_units(const pod_table *t, FILE *to)
{
    fputs("# units:", to);
    for (int c = 0, n = 0; c < t->n_columns; c++)
        if (t->column[c].unit[0] != '\0')
            fprintf(to, "%s %s %s", n++ > 0 ? "," : "", t->column[c].name, t->column[c].unit);
    fputc('\n', to);
}

pod_status pod_table_write_csv(const pod_table *t, const char *path)
{
    if (t->status != POD_OK) return t->status;
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    FILE *to = pod_file_stream(f);
    print_notes(t, 0, t->notes.n, to);
    if (has_units(t)) print_units(t, to);
    for (int row = -1; row < n_rows(t); row++)
        for (int c = 0; c < t->n_columns; c++) {
            print_csv_cell(row < 0 ? t->column[c].name : cell(t, row, c), to);
            fputc(c + 1 < t->n_columns ? ',' : '\n', to);
        }
    POD_TRY(pod_file_close(f));
    return POD_OK;
}

/* Digits alone stay a whole number; what is not known ("-") is null, any other text stays one. */
static void put_number(pod_json *j, const char *key, const char *text)
{
    char *end;
    const double number = strtod(text, &end);
    if (strcmp(text, "-") == 0)
        pod_json_null(j, key);
    else if (end == text || *end != '\0')
        pod_json_text(j, key, text);
    else if (text[strspn(text, "-0123456789")] == '\0')
        pod_json_int(j, key, strtoll(text, NULL, 10));
    else
        pod_json_double(j, key, number);
}

void pod_table_json(const pod_table *t, pod_json *j, const char *key)
{
    pod_json_open_array(j, key);
    for (int row = 0; row < n_rows(t); row++) {
        pod_json_open_object(j, NULL);
        for (int c = 0; c < t->n_columns; c++) {
            if (t->column[c].is_text)
                pod_json_text(j, t->column[c].name, cell(t, row, c));
            else
                put_number(j, t->column[c].name, cell(t, row, c));
        }
        pod_json_close(j);
    }
    pod_json_close(j);
}

const pod_column pod_quantity_columns[POD_QUANTITY_COLUMNS] = {
    {"quantity", "", true}, {"value", "", true}, {"unit", "", true}, {"note", "", true}};

void pod_table_quantity(pod_table *t, const char *quantity, const char *unit, const char *note,
                        const char *fmt, ...)
{
    char value[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(value, sizeof value, fmt, args);
    va_end(args);
    pod_table_add(t, "%s", quantity);
    pod_table_add(t, "%s", value);
    pod_table_add(t, "%s", unit);
    pod_table_add(t, "%s", note);
}
