#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/core/words.h"
#include "runtime/data/data_form.h"
#include "runtime/data/import/import.h"

enum { HEAD_BYTES = 1024 };

typedef struct lister {
    pod_arena *arena;
    pod_text_file *file;
    int n;
    bool pairs;
    int n_ignored;
    const char *first_ignored;
} lister;

static pod_status add_file(lister *l, const char *path, bool is_test)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->file[i].path, path) == 0)
            return pod_fail(POD_E_INVALID, "%s: stands twice among the files, want it once", path);
    pod_text_file *file = POD_ARENA_GROW(l->arena, l->file, l->n);
    const char *own = pod_arena_text(l->arena, "%s", path);
    if (!file || !own) return POD_E_NOMEM;
    l->file = file;
    l->file[l->n++] = (pod_text_file){own, is_test};
    return POD_OK;
}

/* ---- a folder -------------------------------------------------------------------------------- */

static bool is_text_name(const char *name, bool pairs)
{
    static const char *const endings[] = {".txt", ".text", ".md", ".tsv"};
    static const char *const about[] = {"README", "LICENSE", "LICENCE", "COPYING"};
    const size_t n_endings = pairs ? 4 : 3;
    for (size_t i = 0; i < sizeof about / sizeof about[0]; i++)
        if (strncmp(name, about[i], strlen(about[i])) == 0) return false;
    for (size_t i = 0; i < n_endings; i++)
        if (pod_text_ends_in(name, endings[i])) return true;
    return false;
}

static pod_status add_entry(lister *l, const char *folder, const char *name)
{
    char path[POD_PATH_BYTES];
    if (name[0] == '.') return POD_OK;
    POD_TRY(pod_path_join(folder, name, path));
    if (is_text_name(name, l->pairs)) return add_file(l, path, false);
    if (l->n_ignored++ == 0) l->first_ignored = pod_arena_text(l->arena, "%s", path);
    return POD_OK;
}

static pod_status add_folder(lister *l, const char *folder)
{
    struct dirent **entry;
    const int before = l->n, n = scandir(folder, &entry, NULL, alphasort);
    if (n < 0)
        return pod_fail(POD_E_IO, "%s: cannot be read as a folder: %s", folder, strerror(errno));
    pod_status s = POD_OK;
    for (int i = 0; i < n; i++) {
        if (s == POD_OK) s = add_entry(l, folder, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    if (s == POD_OK && l->n == before)
        s = pod_fail(POD_E_FORMAT, "%s: holds no file that ends in %s.txt, .text or .md", folder,
                     l->pairs ? ".tsv, " : "");
    return s;
}

/* ---- the test split -------------------------------------------------------------------------- */

static pod_status mark_test(lister *l, const char *name)
{
    struct stat st;
    int n_marked = 0;
    for (int i = 0; i < l->n; i++)
        if (pod_file_is_same(l->file[i].path, name)) {
            l->file[i].is_test = true;
            return POD_OK;
        }
    for (int i = 0; i < l->n; i++) {
        if (strcmp(pod_path_name(l->file[i].path), name) != 0) continue;
        l->file[i].is_test = true;
        n_marked++;
    }
    if (n_marked > 1)
        return pod_fail(POD_E_INVALID, "test-files: '%s' is the name of %d files, want a path",
                        name, n_marked);
    if (n_marked == 1) return POD_OK;
    if (stat(name, &st) != 0 || !S_ISREG(st.st_mode))
        return pod_fail(POD_E_INVALID,
                        "test-files: '%s' is none of the %d files, and no other file", name, l->n);
    return add_file(l, name, true);
}

static pod_status mark_tests(lister *l, const char *names)
{
    char name[POD_PATH_BYTES];
    int n_train = 0;
    for (const char *rest = names; *rest;) {
        POD_TRY(pod_word_take("test-files", &rest, name, sizeof name));
        POD_TRY(mark_test(l, name));
    }
    for (int i = 0; i < l->n; i++) n_train += !l->file[i].is_test;
    if (n_train > 0) return POD_OK;
    return pod_fail(POD_E_INVALID, "test-files: names all %d files, want some to train on", l->n);
}

/* ---- all ------------------------------------------------------------------------------------- */

pod_status pod_text_files_list(int n, const char *const from[], bool pairs, const char *test_files,
                               pod_arena *a, pod_text_files *out)
{
    lister l = {.arena = a, .pairs = pairs};
    for (int i = 0; i < n; i++) {
        struct stat st;
        if (stat(from[i], &st) != 0) return pod_fail(POD_E_IO, "%s: %s", from[i], strerror(errno));
        POD_TRY(S_ISDIR(st.st_mode) ? add_folder(&l, from[i]) : add_file(&l, from[i], false));
    }
    if (test_files) POD_TRY(mark_tests(&l, test_files));
    for (int i = 0; i < l.n; i++) POD_TRY(pod_text_file_check(l.file[i].path));
    *out = (pod_text_files){l.n, l.file, 0, l.n_ignored, l.first_ignored};
    for (int i = 0; i < l.n; i++) {
        struct stat st;
        if (stat(l.file[i].path, &st) == 0) out->bytes += st.st_size;
    }
    return POD_OK;
}

void pod_text_tell_ignored(const pod_text_files *files, pod_log *log)
{
    if (files->n_ignored > 0)
        pod_log_say(log, POD_LOG_INFO, "%d ignored: no texts by their names; first %s",
                    files->n_ignored, files->first_ignored ? files->first_ignored : "");
}

static bool is_binary(const uint8_t *head, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (head[i] == 0 || (head[i] < ' ' && !strchr("\t\n\r\f", head[i]))) return true;
    return false;
}

/* Latin letters in UTF-16 are: each has a zero. */
static bool is_rich_in_zeros(const uint8_t *head, size_t n)
{
    size_t n_zero = 0;
    for (size_t i = 0; i < n; i++) n_zero += head[i] == 0;
    return n_zero > n / 4;
}

pod_status pod_text_file_check(const char *path)
{
    uint8_t head[HEAD_BYTES];
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return pod_fail(POD_E_IO, "%s: %s", path, strerror(errno));
    const bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    const ssize_t n = is_file ? read(fd, head, sizeof head) : 0;
    close(fd);
    if (!is_file)
        return pod_fail(POD_E_IO, "%s: is %s, want a text file", path,
                        S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
    if (n < 0) return pod_fail(POD_E_IO, "%s: cannot be read", path);
    if (n >= 2 && (memcmp(head, "\377\376", 2) == 0 || memcmp(head, "\376\377", 2) == 0))
        return pod_fail(POD_E_FORMAT, "%s: this is UTF-16: iconv -f UTF-16 -t UTF-8 converts it",
                        path);
    const pod_data_form *form = n > 0 && is_binary(head, (size_t)n)
                                    ? pod__data_form_of(head, (size_t)n, path, st.st_size)
                                    : NULL;
    if (form && !form->is_text)
        return pod_fail(POD_E_FORMAT, "%s: this is %s, want text in UTF-8", path, form->what);
    if (is_rich_in_zeros(head, (size_t)n))
        return pod_fail(POD_E_FORMAT,
                        "%s: has many bytes that are 0, want text in UTF-8; if this is UTF-16, "
                        "iconv -f UTF-16LE (or BE) -t UTF-8 converts it",
                        path);
    return POD_OK;
}

void pod_text_tell_invalid(const pod_invalid_bytes *invalid, pod_log *log)
{
    if (invalid->n == 0) return;
    pod_log_say(log, POD_LOG_WARNING,
                "%s: line %" PRId64 ", byte %" PRId64 ": invalid UTF-8; %" PRId64
                " bytes of it dropped in all files",
                invalid->path, invalid->first_line, invalid->first_byte, invalid->n);
}
