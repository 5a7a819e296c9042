/* Images that cannot be used, and what fails on the way: what becomes of them, and what is left.
 *
 * The system's calls that an import makes on images and folders go through functions of this file,
 * so that they can fail as a disk or a full table would have them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/tools/jpegs.h"
#include "tests/unit/runtime/data/image_folders.h"

/* ---- calls that fail ------------------------------------------------------------------------- */

static struct fault {
    const char *call, *path; /* which fails, with what in its path; NULL: any */
    int error;
    bool is_short;   /* an image ends early */
    int kill_signal; /* comes to this process when the third image is read */
    int n_read;      /* images */
    int short_fd;    /* + 1 */
    int n_dirty;     /* calls of readdir with an old errno */
} fault;

static bool fails(const char *call, const char *path)
{
    if (!fault.call || strcmp(fault.call, call) != 0) return false;
    if (path && fault.path && !strstr(path, fault.path)) return false;
    errno = fault.error;
    return true;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    return fails("open", path) ? -1 : openat(AT_FDCWD, path, flags, mode);
}

int stat(const char *restrict path, struct stat *restrict out)
{
    return fails("stat", path) ? -1 : fstatat(AT_FDCWD, path, out, 0);
}

DIR *opendir(const char *path)
{
    if (fails("opendir", path)) return NULL;
    const int fd = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? NULL : fdopendir(fd);
}

struct dirent *readdir64(DIR *dir); /* glibc's name of the same on 64 bits */

struct dirent *readdir(DIR *dir)
{
    fault.n_dirty += errno != 0;
    struct dirent *e = fails("readdir", NULL) ? NULL : readdir64(dir);
    if (e) errno = EINTR; /* as any call between two of them may leave it */
    return e;
}

ssize_t read(int fd, void *to, size_t bytes)
{
    const struct iovec all = {to, bytes};
    if (fault.short_fd == fd + 1) return fault.short_fd = 0;
    const ssize_t n = readv(fd, &all, 1);
    if (n < 4 || memcmp(to, "\xff\xd8", 2) != 0) return n;
    if (fault.kill_signal && ++fault.n_read == 3) kill(getpid(), fault.kill_signal);
    if (fault.is_short) fault.short_fd = fd + 1;
    return fails("read", NULL) ? -1 : fault.is_short ? 100 : n;
}

/* ---- what cannot be used ---------------------------------------------------------------------- */

static void truncated(const char *path)
{
    const pod_test_jpeg made = {.height = 32, .width = 32, .components = 3, .left = {9, 99, 0}};
    CU_ASSERT(pod_test_jpeg_save(&made, path) && truncate(path, 600) == 0);
}

static void noise(const char *path)
{
    const pod_test_jpeg made = {.height = 64, .width = 64, .components = 3, .left = {9, 99, 0}};
    CU_ASSERT(pod_test_jpeg_save(&made, path));
    FILE *to = fopen(path, "r+b");
    if (!to) return;
    fseek(to, -40, SEEK_END);
    for (int i = 0; i < 30; i++) fputc(i * 37 % 251, to);
    fclose(to);
}

static void empty(const char *path) { pod_test_spill(path, "", 0); }

static void webp(const char *path) { pod_test_spill(path, "RIFF\x10\0\0\0WEBPVP8 ", 16); }

static void a_folder(const char *path) { CU_ASSERT(mkdir(path, 0777) == 0); }

static void pipe_file(const char *path) { CU_ASSERT(mkfifo(path, 0666) == 0); }

static void dead_link(const char *path) { CU_ASSERT(symlink("nowhere", path) == 0); }

static const struct bad {
    void (*make)(const char *path);
    const char *name, *why;
} bads[] = {
    {truncated, "b/n5x.jpg", "b/n5x.jpg: Premature end of JPEG file"},
    {noise, "b/n5x.jpg", "b/n5x.jpg: Corrupt JPEG data"},
    {make_grey, "a/n1x.jpg", "a/n1x.jpg: grey, need colour"},
    {make_cmyk, "a/n1x.jpg", "a/n1x.jpg: CMYK, need RGB or grey"},
    {empty, "c/n9x.jpg", "c/n9x.jpg: empty"},
    {make_text, "c/n9x.jpg", "c/n9x.jpg: neither a JPEG nor a PNG"},
    {webp, "c/n9x.jpg", "c/n9x.jpg: a WebP image: convert it to JPEG or PNG"},
    {a_folder, "c/n2x", "c/n2x: a folder, need an image"},
    {pipe_file, "c/n2x", "c/n2x: no regular file"},
    {dead_link, "c/n2x", "c/n2x: cannot be read: No such file"},
    {a_folder, "bb", "/bb: a class folder without images"},
    {dead_link, "bb", "/bb: cannot be looked at: No such file"},
};

static void bad_images_are_named(void)
{
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        const char *f = numbered_folder();
        outcome x;
        bads[i].make(in_folder(f, bads[i].name));
        POD_CHECK_FAILS(run_import(f, (pod_import_images_options){.n_threads = 2}, &x),
                        POD_E_FORMAT, bads[i].why);
        CU_ASSERT(!strchr(pod_error_text(), '\n'));
        CU_ASSERT(!is_there(f, ".h5") && !is_there(f, ".h5.part"));
        x = IMPORTED(f, .skip_bad = true);
        POD_CHECK(strstr(x.said, bads[i].why) && strstr(x.said, "; left out\n"), "%s", x.said);
        CU_ASSERT(x.d->info.n_samples[0] + x.d->info.n_samples[1] == 10);
        CU_ASSERT(x.d->info.n_classes == 3);
    }
}

/* All that cannot be used is named in one line, up to a few, and counted; skipped, in a few lines. */
static void many_bad_images(void)
{
    const char *f = numbered_folder();
    outcome x;
    a_folder(in_folder(f, "bb"));
    for (int i = 1; i <= 400; i++) make_text(in_folder(f, pod_test_text("b/x%d.png", i)));
    POD_CHECK_FAILS(run_import(f, (pod_import_images_options){.n_threads = 2}, &x), POD_E_FORMAT,
                    ": 401 files cannot be used (--on-bad-image skip leaves them out): ");
    POD_CHECK(strstr(pod_error_text(), "/bb: a class folder without images; ") &&
                  strstr(pod_error_text(), "/b/x1.png: neither a JPEG nor a PNG; "),
              "%s", pod_error_text());
    CU_ASSERT(strstr(pod_error_text(), " more") != NULL && !strchr(pod_error_text(), '\n'));
    CU_ASSERT(x.said[0] == '\0' && !is_there(f, ".h5") && !is_there(f, ".h5.part"));
    x = IMPORTED(f, .skip_bad = true);
    int n_warnings = 0;
    for (const char *p = x.said; (p = strstr(p, "left out\n")); p++) n_warnings++;
    POD_CHECK(n_warnings == 6 && strstr(x.said, "warning: 396 more like these are left out\n"),
              "%s", x.said);
    if (x.d) CU_ASSERT(x.d->info.n_samples[0] + x.d->info.n_samples[1] == 10);
}

/* A class of which skipping leaves nothing is none, in either layout. */
static void a_class_that_skipping_empties(void)
{
    for (int is_split = 0; is_split < 2; is_split++) {
        const char *f = numbered_folder();
        a_folder(in_folder(f, "ab"));
        make_text(in_folder(f, "ab/1.png"));
        if (is_split) {
            const char *above = pod_test_folder();
            CU_ASSERT(rename(f, in_folder(above, "train")) == 0);
            make_folder(above, "test");
            make_folder(above, "test/c");
            add_image(above, "test/c/1.jpg", 50);
            make_text(in_folder(above, "test/c/2.jpg"));
            f = above;
        }
        outcome x = IMPORTED(f, .skip_bad = true);
        POD_CHECK(strstr(x.said, "warning: class 'ab' has no image that can be used; left out\n"),
                  "%s", x.said);
        CU_ASSERT(x.d->info.n_classes == 3);
        check_splits(x.d, is_split ? "1a 2b 3c 4a 5b 6c 7a 8b 9c 10a" : "1a 2b 3c 4a 5b 6c 7a 8b",
                     is_split ? "5c" : "9c 10a");
    }
}

/* What is about one file can be left out; what is about this process or its disks cannot. */
static const struct trouble {
    const char *call, *path;
    int error;
    pod_status status;
    const char *why;
    int n_left; /* of 10, where it is left out */
} troubles[] = {
    {"open", "b/n5.jpg", EACCES, POD_E_FORMAT, "b/n5.jpg: cannot be read: Permission denied", 9},
    {"open", "b/n5.jpg", ELOOP, POD_E_FORMAT, "b/n5.jpg: cannot be read: Too many levels", 9},
    {"open", "b/n5.jpg", EIO, POD_E_IO, "b/n5.jpg: cannot be read: Input/output error", 0},
    {"open", "b/n5.jpg", EMFILE, POD_E_IO, "b/n5.jpg: cannot be read: Too many open files", 0},
    {"open", "b/n5.jpg", ENFILE, POD_E_IO, "b/n5.jpg: cannot be read: Too many open files", 0},
    {"open", "b/n5.jpg", ENOMEM, POD_E_NOMEM, "b/n5.jpg: cannot be read: Cannot allocate", 0},
    {"read", NULL, EIO, POD_E_IO, "a/n1.jpg: cannot be read: Input/output error", 0},
    {"stat", "/b", EACCES, POD_E_FORMAT, "/b: cannot be looked at: Permission denied", 7},
    {"stat", "/b", EIO, POD_E_IO, "/b: cannot be looked at: Input/output error", 0},
    {"stat", "/b", ENOMEM, POD_E_NOMEM, "/b: cannot be looked at: Cannot allocate", 0},
    {"stat", "/train", EIO, POD_E_IO, "/train: cannot be looked at: Input/output error", 0},
    {"opendir", "/b", EACCES, POD_E_FORMAT, "/b: cannot be read as a folder: Permission", 7},
    {"opendir", "/b", EMFILE, POD_E_IO, "/b: cannot be read as a folder: Too many open", 0},
    {"readdir", NULL, EIO, POD_E_IO, "cannot be read as a folder: Input/output error", 0},
};

static void troubles_of_the_host(void)
{
    const char *f = numbered_folder();
    outcome x;
    for (size_t i = 0; i < 2 * sizeof troubles / sizeof troubles[0]; i++) {
        const struct trouble *t = &troubles[i / 2];
        const bool skip = i % 2 == 1;
        fault = (struct fault){.call = t->call, .path = t->path, .error = t->error};
        const pod_status s = run_import(f, (pod_import_images_options){.skip_bad = skip}, &x);
        fault = (struct fault){0};
        const bool is_left_out = skip && t->n_left > 0;
        POD_CHECK(s == (is_left_out ? POD_OK : t->status), "case %zu: %s %s", i / 2,
                  pod_status_name(s), pod_error_text());
        POD_CHECK(strstr(is_left_out ? x.said : pod_error_text(), t->why), "case %zu: %s%s", i / 2,
                  pod_error_text(), x.said);
        CU_ASSERT(s == POD_OK || !is_there(f, ".h5.part"));
        if (!x.d) continue;
        CU_ASSERT(x.d->info.n_samples[0] + x.d->info.n_samples[1] == t->n_left);
        CU_ASSERT(x.d->info.n_classes == (t->n_left == 7 ? 2 : 3));
    }
}

static void made_shorter_meanwhile(void)
{
    const char *f = numbered_folder();
    outcome x;
    fault = (struct fault){.is_short = true};
    const pod_status s = run_import(f, (pod_import_images_options){0}, &x);
    fault = (struct fault){0};
    POD_CHECK(s == POD_E_FORMAT && strstr(pod_error_text(), "a/n1.jpg: ends after 100 of its "),
              "%s", pod_error_text());
}

/* readdir says by errno alone whether a folder has ended. */
static void old_errors_are_none(void)
{
    const char *f = numbered_folder();
    fault.n_dirty = 0;
    (void)IMPORTED(f, 0);
    POD_CHECK(fault.n_dirty == 0, "%d", fault.n_dirty);
}

/* ---- how it ends ----------------------------------------------------------------------------- */

/* A library's thread, which knows of nothing. */
static void *stand_by(void *arg)
{
    while (true) pause();
    return arg;
}

/* The status of a process that imports f, to which the signal comes on the way. */
static int import_and_end(const char *f, int signal_number, void (*handler)(int), bool skip)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        outcome x;
        pthread_t other;
        if (pthread_create(&other, NULL, stand_by, NULL) != 0) _exit(98);
        signal(signal_number, handler);
        fault = (struct fault){.kill_signal = signal_number};
        const pod_status s = run_import(f, (pod_import_images_options){.skip_bad = skip}, &x);
        _exit(s == POD_OK ? 0 : 99);
    }
    int status = -1;
    if (child > 0) waitpid(child, &status, 0);
    return status;
}

static void a_signal_leaves_nothing(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < 2 * sizeof ends / sizeof ends[0]; i++) {
        const char *f = numbered_folder();
        const char *path = beside(f, ".h5");
        char older[16] = "";
        FILE *file = fopen(beside(f, ".h5"), "w");
        if (file) fputs("older", file);
        if (file) fclose(file);
        const int status = import_and_end(f, ends[i / 2], SIG_DFL, i % 2 == 1);
        POD_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == ends[i / 2], "status %d", status);
        CU_ASSERT(!is_there(f, ".h5.part"));
        file = fopen(path, "r");
        CU_ASSERT(file && fgets(older, sizeof older, file) && strcmp(older, "older") == 0);
        if (file) fclose(file);
    }
    const char *f = numbered_folder();
    const int status = import_and_end(f, SIGHUP, SIG_IGN, false);
    POD_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "nohup: status %d", status);
    CU_ASSERT(is_there(f, ".h5"));
}

POD_TEST_SUITE("runtime.import_trouble", {"bad_images_are_named", bad_images_are_named},
               {"many_bad_images", many_bad_images},
               {"a_class_that_skipping_empties", a_class_that_skipping_empties},
               {"troubles_of_the_host", troubles_of_the_host},
               {"made_shorter_meanwhile", made_shorter_meanwhile},
               {"old_errors_are_none", old_errors_are_none},
               {"a_signal_leaves_nothing", a_signal_leaves_nothing});
