#include "bench/common/table.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/assert.h"
#include "runtime/core/file.h"
#include "runtime/core/words.h"

typedef struct text_list {
    const char **text;
    int n;
} text_list;

enum { MAX_GROUPS = 2 };

typedef struct group {
    int first, n; /* columns */
    const char *title, *prefix;
} group;

struct pod_table {
    pod_arena *arena;
    const pod_column *column;
    int n_columns;
    text_list notes, cells;
    size_t *longest;  /* (n_columns), the cells so far, in bytes */
    int n_head_notes; /* -1: all stand before the rows */
    pod_log *log;     /* of a stream; else NULL */
    const int *widths;
    bool has_names; /* the stream has them */
    group groups[MAX_GROUPS];
    int n_groups;
    int csv_only_first, csv_only_end;
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
    t->longest = POD_ARENA_NEW(arena, size_t, n_columns);
    if (!t->longest) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
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
    const char **text = POD_ARENA_GROW(t->arena, list->text, list->n);
    if (!text) {
        t->status = POD_E_NOMEM;
        return;
    }
    list->text = text;
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
    return (int)(t->longest[column] > width ? t->longest[column] : width);
}

static bool is_printed(const pod_table *t, int column)
{
    return column < t->csv_only_first || column >= t->csv_only_end;
}

static void print_cell(const pod_table *t, int column, const char *text, FILE *to)
{
    const int width = width_of(t, column);
    const bool last = column + 1 == t->n_columns;
    if (!is_printed(t, column)) return;
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

/* Where a column begins, in characters behind the "# " of its line. */
static int begin_of(const pod_table *t, int column)
{
    int begin = column > 0 ? 2 : 0;
    for (int c = 0; c < column; c++)
        if (is_printed(t, c)) begin += width_of(t, c) + (c > 0 ? 2 : 0);
    return begin;
}

/* So that no row is read again for a width: a fleet's table has a row a job. */
static void measure_last_cell(pod_table *t)
{
    if (t->status != POD_OK) return;
    const int last = t->cells.n - 1;
    const size_t bytes = strlen(t->cells.text[last]);
    size_t *longest = &t->longest[last % t->n_columns];
    if (bytes > *longest) *longest = bytes;
}

typedef void line_fn(const pod_table *t, int number, FILE *to);

/* Each title in the middle above its columns. */
static void print_titles(const pod_table *t, FILE *to)
{
    int at = 0;
    for (int g = 0; g < t->n_groups; g++) {
        const group *of = &t->groups[g];
        const int last = of->first + of->n - 1, bytes = (int)strlen(of->title);
        const int begin = begin_of(t, of->first), end = begin_of(t, last) + width_of(t, last);
        const int pad = (begin + end - bytes) / 2 - at;
        fprintf(to, "%*s%s", pad > 0 ? pad : 0, "", of->title);
        at += pad + bytes;
    }
}

/* Line 0 has the titles of groups, 1 the names, 2 the units. */
static void print_names(const pod_table *t, int number, FILE *to)
{
    fputs("# ", to);
    if (number == 0) print_titles(t, to);
    for (int c = 0; number > 0 && c < t->n_columns; c++)
        print_cell(t, c, number == 2 ? t->column[c].unit : t->column[c].name, to);
}

static int first_line(const pod_table *t) { return t->n_groups > 0 ? 0 : 1; }
static int end_line(const pod_table *t) { return has_units(t) ? 3 : 2; }

static void print_row(const pod_table *t, int number, FILE *to)
{
    fputs("  ", to);
    for (int c = 0; c < t->n_columns; c++) print_cell(t, c, cell(t, number, c), to);
}

static void stream_line(pod_table *t, line_fn *print, int number)
{
    if (t->csv_only_first == 0 && t->csv_only_end == t->n_columns) return;
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
    for (int line = first_line(t); line < end_line(t); line++) stream_line(t, print_names, line);
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

void pod_table_group(pod_table *t, int first, int n, const char *title, const char *prefix)
{
    POD_ASSERT(t->n_groups < MAX_GROUPS, "a table has at most %d groups", MAX_GROUPS);
    t->groups[t->n_groups++] = (group){first, n, title, prefix};
}

void pod_table_csv_only(pod_table *t, int first, int n)
{
    t->csv_only_first = first;
    t->csv_only_end = first + n;
}

void pod_table_add(pod_table *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    append(t, &t->cells, fmt, args);
    va_end(args);
    measure_last_cell(t);
    if (!t->log || t->status != POD_OK || t->cells.n % t->n_columns != 0) return;
    if (!t->has_names) stream_names(t);
    stream_line(t, print_row, t->cells.n / t->n_columns - 1);
}

void pod_table_number(pod_table *t, double x)
{
    const int digits = x >= 1000 ? 0 : x >= 100 ? 1 : x >= 10 ? 2 : x >= 1 ? 3 : 4;
    if (isfinite(x))
        pod_table_add(t, "%.*f", digits, x);
    else
        pod_table_add(t, "-");
}

const pod_column *pod_table_next(const pod_table *t)
{
    return &t->column[t->cells.n % t->n_columns];
}

void pod_table_extend(pod_table *t, const char *fmt, va_list args)
{
    if (t->status != POD_OK) return;
    const char **last = &t->cells.text[t->cells.n - 1],
               *more = pod_arena_vtext(t->arena, fmt, args);
    const char *whole = more ? pod_arena_text(t->arena, "%s%s", *last, more) : NULL;
    if (whole)
        *last = whole;
    else
        t->status = POD_E_NOMEM;
    measure_last_cell(t);
}

void pod_table_row(pod_table *t, const char *fmt, ...)
{
    enum { CELL_BYTES = 8192 };
    char cells[CELL_BYTES], *cell = cells;
    va_list args;
    va_start(args, fmt);
    vsnprintf(cells, sizeof cells, fmt, args);
    va_end(args);
    for (const char *tab = fmt; tab; cell += strlen(cell) + 1) {
        tab = strchr(tab, '\t');
        if (tab) tab++;
        if (tab) cell[strcspn(cell, "\t")] = '\0';
        const char *number = *cell == '-' ? cell + 1 : cell;
        const bool is_known = strcmp(number, "nan") != 0 && strcmp(number, "inf") != 0;
        pod_table_add(t, "%s", is_known ? cell : "-");
    }
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
    for (int line = first_line(t); line < end_line(t); line++) {
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

/* ---- CSV ---- */

/* What a unit adds to a name, where that is not the unit itself. */
static const char *unit_suffix(const char *unit)
{
    static const char *const words[][2] = {
        {"(B)", "bytes"}, {"(elements)", ""}, {"(1e9/s)", ""}, {"x", ""},
        {"1/s", "per_s"}, {"%", "pct"},       {"+- %", "pct"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], unit) == 0) return words[i][1];
    return unit;
}

static void add_text(char *key, size_t room, const char *text)
{
    const size_t n = strlen(key);
    const bool is_apart = *text == '_' && (n == 0 || key[n - 1] == '_');
    snprintf(key + n, room - n, "%s", text + is_apart);
}

/* Letters and digits stay; what else stands between them becomes "_" or a word. */
static void add_word(char *key, size_t room, const char *text, const char *slash)
{
    for (; *text != '\0'; text++) {
        const char letter[2] = {(char)tolower((unsigned char)*text), '\0'};
        if (isalnum((unsigned char)*text))
            add_text(key, room, letter);
        else if (*text == '%')
            add_text(key, room, "_pct");
        else if (*text == '/')
            add_text(key, room, slash);
        else if (!strchr("#()", *text))
            add_text(key, room, "_");
    }
}

const char *pod_table_key(const pod_column *column, const char *prefix, char *key, size_t room)
{
    char unit[POD_TABLE_KEY_BYTES] = "";
    snprintf(key, room, "%s", prefix);
    add_word(key, room, column->name, pod_text_ends_in(column->name, "/s") ? "_per_" : "_over_");
    add_word(unit, sizeof unit, unit_suffix(column->unit), "_per_");
    if (unit[0] != '\0' && !pod_text_ends_in(key, unit)) {
        add_text(key, room, "_");
        add_text(key, room, unit);
    }
    return key;
}

/* "-", and any other word among numbers. */
static bool is_unknown(const pod_column *column, const char *text)
{
    char *end;
    if (column->is_text) return strcmp(text, "-") == 0;
    (void)strtod(text, &end);
    return end == text || *end != '\0';
}

/* RFC 4180: quoted where it must be, and where a reader might take # for a remark. Blanks before
 * it are there for the eye. */
static void print_csv_cell(const char *text, FILE *to)
{
    text += strspn(text, " ");
    if (!strpbrk(text, ",\"\n\r#")) {
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

static const char *prefix_of(const pod_table *t, int column)
{
    for (int g = 0; g < t->n_groups; g++)
        if (column >= t->groups[g].first && column < t->groups[g].first + t->groups[g].n)
            return t->groups[g].prefix;
    return "";
}

/* Row -1 has the names. */
static void print_csv_row(const pod_table *t, int row, FILE *to)
{
    for (int c = 0; c < t->n_columns; c++) {
        char key[POD_TABLE_KEY_BYTES];
        if (row < 0)
            fputs(pod_table_key(&t->column[c], prefix_of(t, c), key, sizeof key), to);
        else if (!is_unknown(&t->column[c], cell(t, row, c)))
            print_csv_cell(cell(t, row, c), to);
        fputc(c + 1 < t->n_columns ? ',' : '\n', to);
    }
}

pod_status pod_table_write_csv(const pod_table *t, const char *path)
{
    if (t->status != POD_OK) return t->status;
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    FILE *to = pod_file_stream(f);
    print_notes(t, 0, t->notes.n, to);
    for (int row = -1; row < n_rows(t); row++) print_csv_row(t, row, to);
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
    va_list args;
    pod_table_add(t, "%s", quantity);
    va_start(args, fmt);
    append(t, &t->cells, fmt, args);
    va_end(args);
    pod_table_add(t, "%s", unit);
    pod_table_add(t, "%s", note);
}

pod_status pod_table_finish(pod_table *t, FILE *to, const char *csv)
{
    pod_status s = pod_table_print(t, to);
    if (s == POD_OK && *csv) s = pod_table_write_csv(t, csv);
    pod_table_destroy(t);
    return s;
}
