#include "runtime/data/data_form.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/core/file.h"
#include "runtime/core/words.h"

enum { HEAD_BYTES = 1024, MOST_NAMES = 4096, MOST_FILES = 64, MOST_DEPTH = 3 };

static const char hdf5_magic[] = "\211HDF\r\n\032\n";

#define IMPORT_IDX    "minipod data import idx FOLDER -o F.h5 first"
#define IMPORT_CIFAR  "minipod data import cifar FOLDER -o F.h5 first"
#define IMPORT_IMAGES "minipod data import images FOLDER -o F.h5 --image-size N first"
#define CONVERT       "convert it to JPEG or PNG, then minipod data import images"
#define WITH_H5PY     "write it as HDF5 with h5py first (doc/datasets.md)"
#define WITH_IMPORT   "minipod data import reads texts, pairs and lists of images; or " WITH_H5PY
#define UNPACK        "unpack it, then minipod data import"

static const pod_data_form hdf5 = {"HDF5", NULL, 0, false}, idx = {"IDX", IMPORT_IDX, 0, false},
                           cifar = {"CIFAR's binary form", IMPORT_CIFAR, 0, false},
                           npz = {"an archive of numpy arrays (.npz)", WITH_H5PY, 0, false},
                           torch = {"a file of PyTorch", WITH_H5PY, 0, false},
                           text = {"a text file", WITH_IMPORT, 0, true},
                           zip = {"a zip archive", UNPACK, 0, false},
                           packed = {"packed by gzip", "unpack it first", 0, false},
                           empty = {"an empty file", "was its writing cut short?", 0, false};

#define FORM(at, magic, ...)                           \
    {                                                  \
        at, sizeof(magic) - 1, magic, { __VA_ARGS__, } \
    }
#define OTHER(at, magic, what) FORM(at, magic, what, CONVERT, POD_IMAGE_OTHER, false)

static const struct {
    size_t at, bytes;
    const char *magic;
    pod_data_form form;
} magics[] = {
    FORM(0, "\377\330\377", "a JPEG image", IMPORT_IMAGES, POD_IMAGE_JPEG, false),
    FORM(0, "\211PNG\r\n\032\n", "a PNG image", IMPORT_IMAGES, POD_IMAGE_PNG, false),
    OTHER(0, "GIF8", "a GIF image"),
    OTHER(8, "WEBP", "a WebP image"),
    OTHER(0, "II*\0", "a TIFF image"),
    OTHER(0, "MM\0*", "a TIFF image"),
    OTHER(0, "II+\0", "a TIFF image"),
    OTHER(4, "ftypavif", "an AVIF image"),
    OTHER(4, "ftyphei", "a HEIC image"),
    OTHER(4, "ftypmif1", "a HEIF image"),
    OTHER(0, "\0\0\0\014jP  \r\n\207\n", "a JPEG 2000 image"),
    OTHER(0, "\377\117\377\121", "a JPEG 2000 image"),
    OTHER(0, "\0\0\0\014JXL ", "a JPEG XL image"),
    OTHER(0, "\377\012", "a JPEG XL image"),
    OTHER(0, "8BPS", "a Photoshop file"),
    OTHER(0, "\0\0\1\0", "an icon (ICO)"),
    OTHER(0, "P5\n", "a PGM image"),
    OTHER(0, "P6\n", "a PPM image"),
    OTHER(0, "<svg", "an SVG image"),
    OTHER(0, "%PDF", "a PDF"),
    OTHER(0, "BM", "a BMP image"),
    FORM(0, "\223NUMPY", "an array of numpy (.npy)", WITH_H5PY, 0, false),
    FORM(0, "PAR1", "a Parquet file", WITH_H5PY, 0, false),
    FORM(0, "ARROW1", "an Arrow file", WITH_H5PY, 0, false),
    FORM(0, "MATLAB 5.0", "a file of MATLAB", WITH_H5PY, 0, false),
    FORM(0, "\200\002", "a pickle of Python", WITH_H5PY, 0, false),
    FORM(0, "\200\003", "a pickle of Python", WITH_H5PY, 0, false),
    FORM(0, "\200\004", "a pickle of Python", WITH_H5PY, 0, false),
    FORM(0, "\200\005", "a pickle of Python", WITH_H5PY, 0, false),
    FORM(257, "ustar", "a tar archive", UNPACK, 0, false),
    FORM(0, "\037\213", "packed by gzip", "unpack it first", 0, false),
    FORM(0, "\3757zXZ", "packed by xz", UNPACK, 0, false),
    FORM(0, "(\265/\375", "packed by zstd", UNPACK, 0, false),
    FORM(0, "BZh", "packed by bzip2", UNPACK, 0, false),
    FORM(0, "7z\274\257", "a 7z archive", UNPACK, 0, false),
    FORM(0, "Rar!", "a rar archive", UNPACK, 0, false),
    FORM(0, "version https://git-lfs", "the note of a file that git LFS has", "git lfs pull", 0,
         false),
    FORM(0, "<!DOCTYPE", "a web page", "download the file behind it", 0, false),
    FORM(0, "<!doctype", "a web page", "download the file behind it", 0, false),
    FORM(0, "<html", "a web page", "download the file behind it", 0, false),
};

static bool has(const uint8_t *head, size_t n, size_t at, const char *magic, size_t bytes)
{
    return n >= at + bytes && memcmp(head + at, magic, bytes) == 0;
}

/* Two zeros, one of the types, and the number of dimensions. */
static bool is_idx(const uint8_t *head, size_t n)
{
    return n >= 8 && head[0] == 0 && head[1] == 0 && head[2] >= 0x08 && head[2] <= 0x0e &&
           head[3] >= 1 && head[3] <= 4;
}

/* Records of one or two labels and 32x32x3 pixels, with nothing in front. */
static bool is_cifar(const uint8_t *head, size_t n, const char *name, int64_t bytes)
{
    return pod_text_ends_in(name, ".bin") && n > 1 && bytes > 0 &&
           ((bytes % 3073 == 0 && head[0] < 10) || (bytes % 3074 == 0 && head[0] < 20));
}

/* Of the first member's name in a zip. */
static const pod_data_form *zip_form(const uint8_t *head, size_t n)
{
    enum { NAME_AT = 30 };
    const size_t bytes = n > 27 ? head[26] + 256u * head[27] : 0;
    char name[256] = "";
    if (bytes < sizeof name && n >= NAME_AT + bytes) memcpy(name, head + NAME_AT, bytes);
    return pod_text_ends_in(name, ".npy")       ? &npz
           : pod_text_ends_in(name, "data.pkl") ? &torch
                                                : &zip;
}

static bool is_text(const uint8_t *head, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (head[i] < ' ' && head[i] != '\n' && head[i] != '\r' && head[i] != '\t') return false;
    return n > 0;
}

const pod_data_form *pod__data_form_of(const uint8_t *head, size_t n, const char *name,
                                       int64_t file_bytes)
{
    if (n == 0) return &empty;
    if (has(head, n, 0, hdf5_magic, sizeof hdf5_magic - 1)) return &hdf5;
    if (is_idx(head, n)) return &idx;
    if (has(head, n, 0, "PK\003\004", 4)) return zip_form(head, n);
    if (is_cifar(head, n, name, file_bytes)) return &cifar;
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (has(head, n, magics[i].at, magics[i].magic, magics[i].bytes) &&
            (magics[i].bytes > 2 || !is_text(head, n)))
            return &magics[i].form;
    return is_text(head, n) ? &text : NULL;
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* HDF5 may begin behind a block of somebody else's, of 512 bytes or twice that and so on. */
static bool is_hdf5(int fd, int64_t bytes)
{
    char magic[sizeof hdf5_magic - 1];
    for (int64_t at = 0; at < bytes; at = at ? 2 * at : 512)
        if (pread(fd, magic, sizeof magic, (off_t)at) == (ssize_t)sizeof magic &&
            memcmp(magic, hdf5_magic, sizeof magic) == 0)
            return true;
    return false;
}

/* NULL: it cannot be read, or is nothing that is known. gzread takes a plain file as it is. */
static const pod_data_form *read_form(const char *path)
{
    uint8_t head[HEAD_BYTES];
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    const bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    const pod_data_form *form = is_file && is_hdf5(fd, st.st_size) ? &hdf5 : NULL;
    gzFile z = is_file && !form ? gzdopen(fd, "rb") : NULL;
    if (!z) {
        close(fd);
        return form;
    }
    const int n = gzread(z, head, sizeof head);
    const bool is_packed = gzdirect(z) == 0;
    gzclose(z);
    if (n < 0) return NULL;
    form = pod__data_form_of(head, (size_t)n, path, st.st_size);
    return is_packed && (!form || form == &hdf5) ? &packed : form;
}

/* ---- a folder -------------------------------------------------------------------------------- */

typedef struct finding {
    const pod_data_form *form;
    char path[POD_PATH_BYTES];
    int n_seen;
} finding;

static void search(const char *folder, int depth, finding *f);

/* What an import takes, or a data set, ends the search; of other things the first is kept. */
static bool is_best(const pod_data_form *form)
{
    return form && (!form->todo || strstr(form->todo, "minipod data import "));
}

static void look_at(const char *path, int depth, finding *f)
{
    struct stat st;
    if (f->n_seen > MOST_FILES || is_best(f->form) || stat(path, &st) != 0) return;
    if (S_ISDIR(st.st_mode)) {
        if (depth < MOST_DEPTH) search(path, depth + 1, f);
        return;
    }
    f->n_seen++;
    const pod_data_form *form = read_form(path);
    if (!form || form == &text || (f->form && !is_best(form))) return;
    f->form = form;
    snprintf(f->path, sizeof f->path, "%s", path);
}

static void search(const char *folder, int depth, finding *f)
{
    struct dirent **entry;
    char path[POD_PATH_BYTES];
    const int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (entry[i]->d_name[0] != '.' && pod_path_join(folder, entry[i]->d_name, path) == POD_OK)
            look_at(path, depth, f);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

static bool holds(const char *folder, const char *name)
{
    char path[POD_PATH_BYTES];
    return pod_path_join(folder, name, path) == POD_OK && access(path, F_OK) == 0;
}

/* What to do with `folder`, as far as that is known. */
static pod_status explain_form(const char *path, const pod_data_form *form, const char *folder,
                               int folder_bytes)
{
    static const char mark[] = "FOLDER";
    const char *at = strstr(form->todo, mark);
    if (!at || folder_bytes == 0)
        return pod_fail(POD_E_FORMAT, "%s: this is %s: %s", path, form->what, form->todo);
    return pod_fail(POD_E_FORMAT, "%s: this is %s: %.*s%.*s%s", path, form->what,
                    (int)(at - form->todo), form->todo, folder_bytes, folder, at + sizeof mark - 1);
}

static int folder_bytes_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) : 0;
}

static pod_status explain_folder(const char *path)
{
    finding f = {0};
    if (holds(path, "checkpoint") || holds(path, "latest") || holds(path, "manifest.json"))
        return pod_fail(POD_E_FORMAT,
                        "%s: is the folder of a run or a checkpoint, for --resume; need a file of "
                        "HDF5",
                        path);
    search(path, 0, &f);
    if (!f.form)
        return pod_fail(POD_E_FORMAT,
                        "%s: is a folder, need a file of HDF5, as minipod data import makes it "
                        "(doc/datasets.md)",
                        path);
    if (!f.form->todo)
        return pod_fail(POD_E_FORMAT, "%s: is a folder with a file of HDF5 in it: --data %s", path,
                        f.path);
    if (strcmp(f.form->todo, IMPORT_IMAGES) == 0) /* its folders are the classes */
        return explain_form(path, f.form, path, (int)strlen(path));
    return explain_form(path, f.form, f.path, folder_bytes_of(f.path));
}

bool pod__data_form_is_images(const char *path)
{
    struct stat st;
    finding f = {0};
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) search(path, 0, &f);
    return f.form && f.form->todo && strcmp(f.form->todo, IMPORT_IMAGES) == 0;
}

/* ---- nothing --------------------------------------------------------------------------------- */

static pod_status fail_missing(const char *path, const char *near, const char *slash)
{
    const int n = slash ? (int)(slash - path) + 1 : 0;
    if (near)
        return pod_fail(POD_E_IO, "%s: %s; did you mean %.*s%s?", path, strerror(ENOENT), n, path,
                        near);
    if (slash || strchr(path, '.')) return pod_fail(POD_E_IO, "%s: %s", path, strerror(ENOENT));
    return pod_fail(POD_E_IO,
                    "%s: %s; need a file of HDF5 (minipod data import makes one), or made data: "
                    "glyphs[:HxWxC[:N+M]], phrases, cipher",
                    path, strerror(ENOENT));
}

/* With the nearest name in the folder, or of made data. */
static pod_status explain_missing(const char *path)
{
    static const char *const made[] = {"glyphs", "phrases", "cipher"};
    char folder[POD_PATH_BYTES], given[POD_PATH_BYTES];
    struct dirent **entry;
    const char **name = NULL;
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    const int n = scandir(folder, &entry, NULL, alphasort);
    if (n > 0) name = calloc((size_t)n, sizeof *name);
    for (int i = 0; name && i < n; i++) name[i] = entry[i]->d_name;
    const char *near =
        name ? pod_nearest_name(slash ? slash + 1 : path, name, n < MOST_NAMES ? n : MOST_NAMES)
             : NULL;
    snprintf(given, sizeof given, "%.*s", (int)strcspn(path, ":"), path);
    if (!slash && !near) near = pod_nearest_name(given, made, sizeof made / sizeof made[0]);
    const pod_status s = fail_missing(path, near, slash);
    for (int i = 0; i < n; i++) free(entry[i]);
    if (n >= 0) free(entry);
    free(name);
    return s;
}

/* ---- all ------------------------------------------------------------------------------------- */

pod_status pod__data_form_check(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 && errno == ENOENT) return explain_missing(path);
    if (stat(path, &st) != 0 || access(path, R_OK) != 0)
        return pod_fail(POD_E_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) return explain_folder(path);
    if (!S_ISREG(st.st_mode)) return pod_fail(POD_E_IO, "%s: is no regular file", path);
    const pod_data_form *form = read_form(path);
    if (form && !form->todo) return POD_OK;
    if (!form) return pod_fail(POD_E_FORMAT, "%s: no HDF5 file (doc/datasets.md)", path);
    const bool is_image = strcmp(form->todo, IMPORT_IMAGES) == 0;
    return explain_form(path, form, path, is_image ? 0 : folder_bytes_of(path));
}
