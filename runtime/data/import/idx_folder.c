#include "runtime/data/import/idx_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { IMAGES, LABELS, N_KINDS };
enum { MAX_SETS = 64, FOUND_BYTES = 384 };

typedef struct set { /* files of one prefix */
    const char *prefix;
    const char *path[POD_N_SPLITS][N_KINDS];
    int rank[POD_N_SPLITS][N_KINDS]; /* of the name; of several the least is taken */
} set;

typedef struct finder {
    pod_arena *arena;
    const char *folder;
    set *sets; /* (MAX_SETS) */
    int n_sets;
    char found[FOUND_BYTES]; /* names that stand there, joined by commas */
} finder;

/* ---- names ----------------------------------------------------------------------------------- */

typedef struct name {
    int prefix_bytes, split, kind, rank;
} name;

/* Takes a word off the end of text[0 .. *n); false where it does not end so. */
static bool take_end(const char *text, size_t *n, const char *word)
{
    const size_t length = strlen(word);
    if (*n < length || strncmp(text + *n - length, word, length) != 0) return false;
    *n -= length;
    return true;
}

static bool parse_split(const char *text, size_t *n, name *out)
{
    static const struct {
        const char *word;
        int split, rank;
    } words[] = {
        {"train", POD_SPLIT_TRAIN, 0}, {"t10k", POD_SPLIT_TEST, 0}, {"test", POD_SPLIT_TEST, 1}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!take_end(text, n, words[i].word)) continue;
        out->split = words[i].split;
        out->rank = 16 * words[i].rank;
        return true;
    }
    return false;
}

/* From the end on: .gz, the type, the joint, images or labels, the split, the prefix. */
static bool parse_name(const char *text, name *out)
{
    static const struct {
        const char *end;
        int kind, rank;
    } ends[] = {{"images-idx3-ubyte", IMAGES, 0}, {"images.idx3-ubyte", IMAGES, 2},
                {"images-idx4-ubyte", IMAGES, 4}, {"images.idx4-ubyte", IMAGES, 6},
                {"labels-idx1-ubyte", LABELS, 0}, {"labels.idx1-ubyte", LABELS, 2},
                {"labels-idx2-int", LABELS, 4},   {"labels-idx1-int", LABELS, 6}};
    size_t n = strlen(text);
    const bool is_packed = take_end(text, &n, ".gz");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (!take_end(text, &n, ends[i].end)) continue;
        out->kind = ends[i].kind;
        if (!take_end(text, &n, "-") || !parse_split(text, &n, out)) return false;
        out->rank += ends[i].rank + is_packed;
        const bool is_apart = n == 0 || (n > 1 && take_end(text, &n, "-"));
        out->prefix_bytes = (int)n;
        return is_apart;
    }
    return false;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void list_name(finder *f, const char *text)
{
    const size_t used = strlen(f->found), room = sizeof f->found - used;
    if (snprintf(f->found + used, room, "%s%s", used ? ", " : "", text) < (int)room) return;
    snprintf(f->found + (used < room ? used : sizeof f->found - 6), 6, ", ...");
}

static set *set_of(finder *f, const char *prefix)
{
    for (int i = 0; i < f->n_sets; i++)
        if (strcmp(f->sets[i].prefix, prefix) == 0) return &f->sets[i];
    if (f->n_sets == MAX_SETS) return NULL;
    f->sets[f->n_sets] = (set){.prefix = prefix};
    return &f->sets[f->n_sets++];
}

static pod_status add_file(finder *f, const char *text)
{
    name n;
    struct stat st;
    if (!strstr(text, "idx") || (!strstr(text, "images") && !strstr(text, "labels"))) return POD_OK;
    const char *path = pod_arena_text(f->arena, "%s/%s", f->folder, text);
    if (!path) return POD_E_NOMEM;
    if (stat(path, &st) != 0 || S_ISDIR(st.st_mode)) return POD_OK;
    list_name(f, text);
    if (!parse_name(text, &n)) return POD_OK;
    const char *prefix = pod_arena_text(f->arena, "%.*s", n.prefix_bytes, text);
    if (!prefix) return POD_E_NOMEM;
    set *s = set_of(f, prefix);
    if (!s || (s->path[n.split][n.kind] && s->rank[n.split][n.kind] < n.rank)) return POD_OK;
    s->path[n.split][n.kind] = path;
    s->rank[n.split][n.kind] = n.rank;
    return POD_OK;
}

static pod_status read_folder(finder *f)
{
    DIR *dir = opendir(f->folder);
    if (!dir)
        return pod_fail(POD_E_IO, "%s: cannot be read as a folder: %s", f->folder, strerror(errno));
    pod_status s = POD_OK;
    errno = 0;
    for (const struct dirent *e; s == POD_OK && (e = readdir(dir)); errno = 0)
        s = add_file(f, e->d_name);
    if (s == POD_OK && errno)
        s = pod_fail(POD_E_IO, "%s: cannot be read as a folder: %s", f->folder, strerror(errno));
    closedir(dir);
    return s;
}

/* ---- which set ------------------------------------------------------------------------------- */

static bool is_whole(const set *s)
{
    for (int split = 0; split < POD_N_SPLITS; split++)
        if (!s->path[split][IMAGES] || !s->path[split][LABELS]) return false;
    return true;
}

static pod_status fail_without(const finder *f, const char *prefix)
{
    static const char *const wanted[POD_N_SPLITS][N_KINDS] = {
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
        {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}};
    const char *missing = wanted[0][0], *of = prefix ? prefix : "";
    const set *only = NULL;
    for (int i = 0; i < f->n_sets; i++)
        if (prefix ? strcmp(f->sets[i].prefix, prefix) == 0 : f->n_sets == 1) only = &f->sets[i];
    for (int k = POD_N_SPLITS * N_KINDS - 1; only && k >= 0; k--)
        if (!only->path[k / N_KINDS][k % N_KINDS]) missing = wanted[k / N_KINDS][k % N_KINDS];
    if (only) of = only->prefix;
    return pod_fail(
        POD_E_IO,
        "%s: no file %s%s%s, plain or .gz; wanted are %s, %s, %s and %s, all behind one "
        "prefix or none; IDX files there: %s",
        f->folder, of, *of ? "-" : "", missing, wanted[0][0], wanted[0][1], wanted[1][0],
        wanted[1][1], *f->found ? f->found : "none");
}

static pod_status fail_of_many(const finder *f)
{
    char names[FOUND_BYTES] = "";
    for (int i = 0; i < f->n_sets; i++) {
        const size_t used = strlen(names);
        if (is_whole(&f->sets[i]))
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                     f->sets[i].prefix);
    }
    return pod_fail(POD_E_INVALID, "%s: holds several sets; --prefix names one of them: %s",
                    f->folder, names);
}

static pod_status pick(const finder *f, const char *prefix, const set **out)
{
    const set *found = NULL;
    int n = 0;
    for (int i = 0; i < f->n_sets; i++) {
        const set *s = &f->sets[i];
        if (!is_whole(s) || (prefix && strcmp(s->prefix, prefix) != 0)) continue;
        found = s;
        n++;
        if (!*s->prefix) break; /* the four plain names are wanted where none is said */
    }
    if (n == 0) return fail_without(f, prefix);
    if (n > 1 && *found->prefix) return fail_of_many(f);
    *out = found;
    return POD_OK;
}

pod_status pod__idx_folder_find(const char *folder, const char *prefix, pod_arena *a,
                                pod_idx_files *out)
{
    finder f = {.arena = a, .folder = folder, .sets = POD_ARENA_NEW(a, set, MAX_SETS)};
    const set *s;
    if (!f.sets) return POD_E_NOMEM;
    POD_TRY(read_folder(&f));
    POD_TRY(pick(&f, prefix, &s));
    for (int split = 0; split < POD_N_SPLITS; split++) {
        out->images[split] = s->path[split][IMAGES];
        out->labels[split] = s->path[split][LABELS];
    }
    return POD_OK;
}
