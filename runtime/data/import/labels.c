#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/core/file.h"
#include "runtime/data/import/list.h"

enum { MAX_FIELDS = 64, MAX_CSV_BYTES = 1 << 30, MAX_LEFT_OUT = 8 };
enum { FILE_COLUMN, LABEL_COLUMN, SPLIT_COLUMN, N_COLUMNS };

typedef struct reader {
    const char *path;
    char *next;             /* of the text, which is taken apart in place */
    int64_t line, row_line; /* of what comes next; where the row begins */
    char *field[MAX_FIELDS];
    int n_fields, n_first; /* of this row, and of the first */
    int column[N_COLUMNS]; /* of each; -1: there is none */
} reader;

typedef struct left_out { /* rows of a split that is neither */
    const char *split;
    int64_t n;
} left_out;

typedef struct lister {
    pod_arena *arena;
    const char *test_name;
    const char **label; /* (n), of each file */
    pod_image_list list;
    left_out left[MAX_LEFT_OUT];
    int n_left;
} lister;

/* ---- rows ------------------------------------------------------------------------------------ */

/* A field in quotes, from behind the first one on; a quote in it stands twice. */
static pod_status take_quoted(reader *r, char **end)
{
    char *to = r->next;
    for (char *p = r->next; *p; p++) {
        if (*p == '\n') r->line++;
        if (*p == '"' && p[1] != '"') {
            *end = p + 1;
            *to = '\0';
            return POD_OK;
        }
        if (*p == '"') p++;
        *to++ = *p;
    }
    return pod_fail(POD_E_FORMAT, "%s: line %" PRId64 ": a quote that does not end", r->path,
                    r->line);
}

/* The next row that is not empty; n_fields 0: the end. */
static pod_status read_row(reader *r)
{
    r->n_fields = 0;
    while (*r->next == '\n' || *r->next == '\r') r->line += *r->next++ == '\n';
    r->row_line = r->line;
    while (*r->next) {
        const bool is_quoted = *r->next == '"';
        if (r->n_fields == MAX_FIELDS)
            return pod_fail(POD_E_FORMAT, "%s: line %" PRId64 ": more than %d fields", r->path,
                            r->line, MAX_FIELDS);
        r->next += is_quoted;
        char *end = r->next;
        r->field[r->n_fields++] = r->next;
        if (is_quoted) POD_TRY(take_quoted(r, &end));
        if (!is_quoted) end += strcspn(end, ",\r\n");
        const char joint = *end;
        if (joint && !strchr(",\r\n", joint))
            return pod_fail(POD_E_FORMAT, "%s: line %" PRId64 ": '%c' behind a quote", r->path,
                            r->line, joint);
        *end = '\0';
        r->next = end + (joint != '\0');
        if (joint == ',' && *r->next) continue;
        if (joint == ',' && r->n_fields < MAX_FIELDS) r->field[r->n_fields++] = r->next;
        if (joint == '\r' && *r->next == '\n') r->next++;
        r->line += joint != '\0' && joint != ',';
        return POD_OK;
    }
    return POD_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

static int find_column(const reader *r, const char *const names[])
{
    for (int k = 0; names[k]; k++)
        for (int i = 0; i < r->n_fields; i++)
            if (strcasecmp(r->field[i], names[k]) == 0) return i;
    return -1;
}

/* The first row: a header, which may neither leave two columns to choose from nor none for the files,
 * or a row of two or three fields. */
static pod_status take_columns(reader *r, bool *is_header)
{
    static const char *const names[N_COLUMNS][10] = {
        {"file", "filename", "file_name", "filepath", "file_path", "path", "image", "image_path",
         "image_name"},
        {"label", "class", "class_name", "label_name", "category", "target"},
        {"split", "set", "subset", "partition"}};
    bool has_dot = false;
    for (int c = 0; c < N_COLUMNS; c++) r->column[c] = find_column(r, names[c]);
    const int file = r->column[FILE_COLUMN], label = r->column[LABEL_COLUMN];
    for (int i = 0; i < r->n_fields; i++) {
        has_dot = has_dot || strchr(r->field[i], '.');
        for (int c = 0; c < N_COLUMNS; c++)
            if (r->column[c] >= 0 && i != r->column[c] &&
                strcasecmp(r->field[i], r->field[r->column[c]]) == 0)
                return pod_fail(POD_E_FORMAT, "%s: line %" PRId64 ": two columns are called '%s'",
                                r->path, r->row_line, r->field[i]);
    }
    if (file < 0 && label >= 0 && !has_dot)
        return pod_fail(POD_E_FORMAT,
                        "%s: line %" PRId64 " has a column '%s' and none of the files: call it "
                        "'file'",
                        r->path, r->row_line, r->field[label]);
    r->n_first = r->n_fields;
    *is_header = file >= 0 && label >= 0;
    if (*is_header) return POD_OK;
    if (r->n_fields < 2 || r->n_fields > N_COLUMNS)
        return pod_fail(POD_E_FORMAT,
                        "%s: line 1 has %d fields joined by commas, want file,label or "
                        "file,label,split, or a header with columns called so",
                        r->path, r->n_fields);
    for (int c = 0; c < N_COLUMNS; c++) r->column[c] = c < r->n_fields ? c : -1;
    return POD_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void leave_out(lister *l, const char *split)
{
    int i = 0;
    while (i < l->n_left && strcmp(l->left[i].split, split) != 0) i++;
    if (i == MAX_LEFT_OUT) i--; /* counted with the last one */
    if (i == l->n_left) l->left[l->n_left++].split = split;
    l->left[i].n++;
}

/* A comma in a name without quotes would move what follows into another column. */
static pod_status check_length(const reader *r)
{
    for (int i = r->n_first; i < r->n_fields; i++)
        if (*r->field[i])
            return pod_fail(POD_E_FORMAT,
                            "%s: line %" PRId64 " has %d fields, the first row has %d: a name with "
                            "a comma needs quotes",
                            r->path, r->row_line, r->n_fields, r->n_first);
    return POD_OK;
}

static pod_status add_row(lister *l, const reader *r)
{
    const char *text[N_COLUMNS];
    POD_TRY(check_length(r));
    for (int c = 0; c < N_COLUMNS; c++) {
        if (r->column[c] >= r->n_fields)
            return pod_fail(POD_E_FORMAT, "%s: line %" PRId64 " has %d fields, need %d", r->path,
                            r->row_line, r->n_fields, r->column[c] + 1);
        text[c] = r->column[c] < 0 ? "train" : r->field[r->column[c]];
        if (!*text[c])
            return pod_fail(POD_E_FORMAT, "%s: line %" PRId64 ": the %s is empty", r->path,
                            r->row_line,
                            c == FILE_COLUMN    ? "file"
                            : c == LABEL_COLUMN ? "label"
                                                : "split");
    }
    const bool is_train = strcasecmp(text[SPLIT_COLUMN], "train") == 0 ||
                          strcasecmp(text[SPLIT_COLUMN], "training") == 0;
    if (!is_train && strcasecmp(text[SPLIT_COLUMN], l->test_name) != 0) {
        leave_out(l, text[SPLIT_COLUMN]);
        return POD_OK;
    }
    l->label[l->list.n] = text[LABEL_COLUMN];
    l->list.file[l->list.n++] =
        (pod_image_file){.path = text[FILE_COLUMN],
                         .name = pod_path_name(text[FILE_COLUMN]),
                         .split = is_train ? POD_SPLIT_TRAIN : POD_SPLIT_TEST};
    return POD_OK;
}

static pod_status add_rows(lister *l, reader *r)
{
    bool is_header;
    POD_TRY(read_row(r));
    POD_TRY(take_columns(r, &is_header));
    if (is_header) POD_TRY(read_row(r));
    while (r->n_fields > 0) {
        POD_TRY(add_row(l, r));
        POD_TRY(read_row(r));
    }
    l->list.is_split = r->column[SPLIT_COLUMN] >= 0;
    return POD_OK;
}

/* ---- classes, and what is wrong with the whole ----------------------------------------------- */

static pod_status number_labels(lister *l)
{
    const int64_t n = l->list.n;
    const char **name = POD_ARENA_NEW(l->arena, const char *, n + 1);
    int64_t n_names = 0;
    if (!name) return POD_E_NOMEM;
    for (int64_t i = 0; i < n; i++) name[i] = l->label[i];
    if (n > 1) qsort(name, (size_t)n, sizeof *name, pod__by_bytes);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || strcmp(name[n_names - 1], name[i]) != 0) name[n_names++] = name[i];
    l->list.by_number = pod__class_names_sort(name, n_names);
    const bool is_numeric = pod__are_numbers(name, n_names);
    for (int64_t i = 0; i < n; i++)
        l->list.file[i].label =
            (int32_t)pod__class_name_find(name, n_names, is_numeric, l->label[i]);
    l->list.n_classes = (int)n_names;
    l->list.class_names = name;
    return POD_OK;
}

/* A file in two rows would be in both splits, or of two classes. */
static pod_status check_twice(const lister *l, const char *csv_path)
{
    const char **path = POD_ARENA_NEW(l->arena, const char *, l->list.n + 1);
    if (!path) return POD_E_NOMEM;
    for (int64_t i = 0; i < l->list.n; i++) path[i] = l->list.file[i].path;
    if (l->list.n > 1) qsort(path, (size_t)l->list.n, sizeof *path, pod__by_bytes);
    for (int64_t i = 1; i < l->list.n; i++)
        if (strcmp(path[i - 1], path[i]) == 0)
            return pod_fail(POD_E_FORMAT, "%s: '%s' stands in two rows, need one", csv_path,
                            path[i]);
    return POD_OK;
}

static pod_status check_splits(const lister *l, const char *csv_path)
{
    for (int s = 0; s < POD_N_SPLITS && l->list.is_split; s++)
        if (l->list.n > 0 && l->list.n_split[s] == 0)
            return pod_fail(POD_E_FORMAT,
                            "%s: no row has the split '%s'; without a column of splits "
                            "--test-share of the rows are the test",
                            csv_path, s == POD_SPLIT_TEST ? l->test_name : "train");
    return l->list.n > 0
               ? POD_OK
               : pod_fail(POD_E_FORMAT, "%s: has no rows of images, want file,label", csv_path);
}

static pod_status tell_left_out(lister *l, const char *csv_path)
{
    for (int i = 0; i < l->n_left; i++)
        POD_TRY(pod__image_list_leave_out(&l->list, l->left[i].split, l->left[i].n, l->arena));
    if (l->n_left > 0 && l->list.n_split[POD_SPLIT_TEST] == 0)
        return pod_fail(POD_E_FORMAT,
                        "%s: no row has the split '%s'; there are %s: --test-folder %s takes one",
                        csv_path, l->test_name, l->list.left_out, l->left[0].split);
    return POD_OK;
}

pod_status pod__image_labels_list(const char *csv_path, const char *folder, const char *test_name,
                                  pod_arena *a, pod_image_list *out)
{
    lister l = {.arena = a, .test_name = test_name, .list = {.folder = folder}};
    reader r = {.path = csv_path, .line = 1};
    int64_t n_lines = 2;
    POD_TRY(pod_file_read_text(a, csv_path, MAX_CSV_BYTES, &r.next));
    for (const char *p = r.next; *p; p++) n_lines += *p == '\n' || *p == '\r';
    if (strncmp(r.next, "\xef\xbb\xbf", 3) == 0) r.next += 3; /* UTF-8's mark, of spreadsheets */
    l.list.file = POD_ARENA_NEW(a, pod_image_file, n_lines);
    l.label = POD_ARENA_NEW(a, const char *, n_lines);
    if (!l.list.file || !l.label) return POD_E_NOMEM;
    POD_TRY(add_rows(&l, &r));
    POD_TRY(check_twice(&l, csv_path));
    POD_TRY(number_labels(&l));
    pod__image_list_sort(&l.list);
    POD_TRY(tell_left_out(&l, csv_path));
    POD_TRY(check_splits(&l, csv_path));
    *out = l.list;
    return POD_OK;
}
