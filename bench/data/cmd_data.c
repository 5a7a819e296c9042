/* minipod data: import idx|images|cifar|list|text|pairs FROM -o F.h5, make glyphs[:HxWxC] -o F.h5,
 * make vocab FILES -o V.txt, info F.h5. */
#include <limits.h>
#include <string.h>

#include "bench/command.h"
#include "bench/data/text.h"
#include "kernels/base/limits.h"
#include "runtime/core/file.h"
#include "runtime/data/images/glyphs.h"
#include "runtime/data/import/import.h"
#include "runtime/data/text/text_set.h"

/* ---- which option says something to what ----------------------------------------------------- */

typedef enum work {
    IMPORT_IDX,
    IMPORT_IMAGES,
    IMPORT_LIST,
    IMPORT_CIFAR,
    IMPORT_TEXT,
    IMPORT_PAIRS,
    MAKE,
    MAKE_VOCAB,
    INFO,
    N_WORKS
} work;

static const char *const work_names[N_WORKS] = {"import idx",   "import images", "import list",
                                                "import cifar", "import text",   "import pairs",
                                                "make",         "make vocab",    "info"};

enum {
    OF_IDX = 1 << IMPORT_IDX,
    OF_IMAGES = 1 << IMPORT_IMAGES | 1 << IMPORT_LIST,
    OF_CIFAR = 1 << IMPORT_CIFAR,
    OF_TEXT = 1 << IMPORT_TEXT,
    OF_PAIRS = 1 << IMPORT_PAIRS,
    OF_IMPORT = OF_IDX | OF_IMAGES | OF_CIFAR | OF_TEXT | OF_PAIRS,
    OF_MAKE = 1 << MAKE,
    OF_VOCAB = 1 << MAKE_VOCAB,
    OF_INFO = 1 << INFO
};

/* Of all work: what does not stand here. */
static const struct {
    pod_opt option;
    unsigned of;
} uses[] = {{POD_OPT_OUTPUT, OF_IMPORT | OF_MAKE | OF_VOCAB},
            {POD_OPT_SEED, OF_MAKE | OF_INFO},
            {POD_OPT_IMAGE_SIZE, OF_IMAGES},
            {POD_OPT_INPUT_THREADS, OF_IMAGES},
            {POD_OPT_CHANNELS, OF_IMAGES},
            {POD_OPT_CONVERT_COLOUR, OF_IMAGES},
            {POD_OPT_ON_BAD_IMAGE, OF_IMAGES},
            {POD_OPT_TEST_SHARE, OF_IMAGES | OF_TEXT | OF_PAIRS},
            {POD_OPT_SPLIT_BY, OF_IMAGES},
            {POD_OPT_TEST_FOLDER, OF_IMAGES},
            {POD_OPT_PREFIX, OF_IDX},
            {POD_OPT_CLASSES, OF_IDX},
            {POD_OPT_LABELS, OF_CIFAR},
            {POD_OPT_VOCAB, OF_TEXT | OF_PAIRS},
            {POD_OPT_CASED, OF_TEXT | OF_PAIRS | OF_VOCAB},
            {POD_OPT_TEST_FILES, OF_TEXT | OF_PAIRS},
            {POD_OPT_DOCUMENTS, OF_TEXT},
            {POD_OPT_SENTENCES, OF_TEXT},
            {POD_OPT_COLUMNS, OF_PAIRS},
            {POD_OPT_SIZE, OF_VOCAB},
            {POD_OPT_JSON, OF_IMPORT | OF_MAKE | OF_INFO},
            {POD_OPT_ORIGIN, OF_IMPORT},
            {POD_OPT_LICENCE, OF_IMPORT}};

static bool is_typed(const pod_config *c, pod_opt o)
{
    return pod_config_source(c, o) == POD_FROM_COMMAND_LINE;
}

/* What a file or the environment has may be meant for other work; typed, it is meant for this. */
static pod_status check_options(const pod_config *c, work here)
{
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        char of[160] = "";
        if (uses[i].of & 1u << here || !is_typed(c, uses[i].option)) continue;
        for (int w = 0; w < N_WORKS; w++) {
            const size_t used = strlen(of);
            if (uses[i].of & 1u << w)
                snprintf(of + used, sizeof of - used, "%s%s", used ? ", " : "", work_names[w]);
        }
        return pod_fail(POD_E_INVALID, "%s: of %s, not of %s", pod_options[uses[i].option].name, of,
                        work_names[here]);
    }
    return POD_OK;
}

static const char *name_if_typed(const pod_config *c, pod_opt o)
{
    return is_typed(c, o) ? pod_options[o].name : NULL;
}

/* ---- the work -------------------------------------------------------------------------------- */

static const char *text_or_null(const pod_config *c, pod_opt o)
{
    return pod_config_is_set(c, o) ? pod_config_text(c, o) : NULL;
}

static bool is_vocab(const pod_config *c)
{
    return strcmp(pod_config_arg(c, 0), "make") == 0 && strcmp(pod_config_arg(c, 1), "vocab") == 0;
}

static pod_status need_output(const pod_config *c, const char **out)
{
    const char *path = pod_config_text(c, POD_OPT_OUTPUT);
    if (path[0] == '\0')
        return pod_fail(POD_E_INVALID, "%s needs -o FILE, the %s to write", pod_config_arg(c, 0),
                        is_vocab(c) ? "vocabulary" : "HDF5 file");
    if (pod_file_is_stdout(path))
        return pod_fail(POD_E_INVALID, "output: %s cannot go to standard output, need a file",
                        is_vocab(c) ? "a vocabulary" : "HDF5");
    *out = path;
    return POD_OK;
}

/* Writes the JSON of one of the two kinds of data sets; the other is NULL. */
static pod_status write_json(const pod_dataset *d, const pod_text_set *t, const char *path)
{
    pod_file *f;
    if (path[0] == '\0') return POD_OK;
    POD_TRY(pod_file_open_result(path, &f));
    const pod_status s = d ? pod_dataset_print_json(d, pod_file_stream(f))
                           : pod_text_set_print_json(t, pod_file_stream(f));
    if (s == POD_OK) return pod_file_close(f);
    pod_file_abandon(f);
    return s;
}

static pod_status print_info(const char *path, pod_call *call)
{
    const pod_dataset_options options = {.cache_bytes = 0};
    pod_dataset *d;
    POD_TRY(pod_dataset_open_with(path, (uint64_t)pod_config_int(call->config, POD_OPT_SEED),
                                  &options, &d));
    const char *json = pod_config_text(call->config, POD_OPT_JSON);
    pod_status s = d->text ? pod_text_set_print(d->text, call->log->out)
                           : pod_dataset_print(d, call->log->out);
    if (s == POD_OK) s = write_json(d->text ? NULL : d, d->text, json);
    pod_dataset_close(d);
    return s;
}

/* What a data set is called: its file's name without folder and ending. */
static void name_after(const char *path, char *name, size_t bytes)
{
    snprintf(name, bytes, "%s", pod_path_name(path));
    char *ending = strrchr(name, '.');
    if (ending && ending != name) *ending = '\0';
}

static pod_status import_idx(pod_call *call, const char *folder, const char *path,
                             const pod_import_text *text)
{
    const pod_import_idx_options options = {.text = *text,
                                            .prefix = text_or_null(call->config, POD_OPT_PREFIX),
                                            .classes = text_or_null(call->config, POD_OPT_CLASSES),
                                            .log = call->log};
    return pod_import_idx(folder, path, &options);
}

/* All cores, unless another number is given. */
static int n_threads_of(const pod_config *c)
{
    enum { MOST = 64 };
    if (pod_config_is_set(c, POD_OPT_INPUT_THREADS))
        return (int)pod_config_int(c, POD_OPT_INPUT_THREADS);
    const int n = pod_limit_cores();
    return n < MOST ? n : MOST;
}

static pod_status import_images(pod_call *call, const char *from, const char *path,
                                const pod_import_text *text)
{
    const pod_config *c = call->config;
    const int n_threads = n_threads_of(c);
    const char *share = name_if_typed(c, POD_OPT_TEST_SHARE);
    if (!pod_config_is_set(c, POD_OPT_IMAGE_SIZE))
        return pod_fail(POD_E_INVALID, "import %s needs --image-size, like 64 or 48x64",
                        pod_config_arg(c, 1));
    pod_import_images_options options = {
        .text = *text,
        .channels = strcmp(pod_config_text(c, POD_OPT_CHANNELS), "1") == 0 ? 1 : 3,
        .convert = pod_config_bool(c, POD_OPT_CONVERT_COLOUR),
        .skip_bad = strcmp(pod_config_text(c, POD_OPT_ON_BAD_IMAGE), "skip") == 0,
        .test_share = pod_config_double(c, POD_OPT_TEST_SHARE),
        .split_by_class = strcmp(pod_config_text(c, POD_OPT_SPLIT_BY), "class") == 0,
        .test_folder = pod_config_text(c, POD_OPT_TEST_FOLDER),
        .for_share = share ? share : name_if_typed(c, POD_OPT_SPLIT_BY),
        .for_folders = name_if_typed(c, POD_OPT_TEST_FOLDER),
        .n_threads = n_threads > 0 ? n_threads : 1,
        .log = call->log};
    POD_TRY(pod_image_size_parse(pod_config_text(c, POD_OPT_IMAGE_SIZE), &options.height,
                                 &options.width));
    return strcmp(pod_config_arg(c, 1), "list") == 0 ? pod_import_list(from, path, &options)
                                                     : pod_import_images(from, path, &options);
}

static pod_status import_cifar(pod_call *call, const char *from, const char *path,
                               const pod_import_text *text)
{
    const pod_config *c = call->config;
    const pod_import_cifar_options options = {
        .text = *text,
        .is_coarse = strcmp(pod_config_text(c, POD_OPT_LABELS), "coarse") == 0,
        .for_labels = name_if_typed(c, POD_OPT_LABELS),
        .log = call->log};
    return pod_import_cifar(from, path, &options);
}

static pod_status import_text(pod_call *call, const char *from, const char *path,
                              const pod_import_text *text)
{
    (void)from; /* one of several */
    return pod__data_import_text(call, path, text);
}

static const struct form {
    const char *name;
    work here;
    pod_status (*import)(pod_call *call, const char *folder, const char *path,
                         const pod_import_text *text);
} forms[] = {{"idx", IMPORT_IDX, import_idx},      {"images", IMPORT_IMAGES, import_images},
             {"list", IMPORT_LIST, import_images}, {"cifar", IMPORT_CIFAR, import_cifar},
             {"text", IMPORT_TEXT, import_text},   {"pairs", IMPORT_PAIRS, import_text}};

enum { N_IMPORT_WORDS = 3 };

static pod_status run_import(pod_call *call)
{
    const pod_config *c = call->config;
    const char *path = "";
    const struct form *form = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(pod_config_arg(c, 1), forms[i].name) == 0) form = &forms[i];
    if (!form)
        return pod_fail(
            POD_E_INVALID,
            "import: '%s' is no form of data; there are idx, images, list, cifar, text and "
            "pairs",
            pod_config_arg(c, 1));
    if (form->import != import_text && pod_config_n_args(c) > N_IMPORT_WORDS)
        return pod_fail(POD_E_INVALID, "want import %s FROM -o F.h5, found %d of its words",
                        form->name, pod_config_n_args(c));
    POD_TRY(check_options(c, form->here));
    POD_TRY(need_output(c, &path));
    char name[256];
    name_after(path, name, sizeof name);
    const pod_import_text text = {.name = name,
                                  .origin = text_or_null(c, POD_OPT_ORIGIN),
                                  .licence = text_or_null(c, POD_OPT_LICENCE)};
    POD_TRY(form->import(call, pod_config_arg(c, 2), path, &text));
    POD_TRY(print_info(path, call));
    return POD_OK;
}

static pod_status run_make_vocab(pod_call *call)
{
    const char *path = "";
    if (pod_config_n_args(call->config) < 3)
        return pod_fail(POD_E_INVALID, "want make vocab FILES -o V.txt, found no files");
    POD_TRY(check_options(call->config, MAKE_VOCAB));
    POD_TRY(need_output(call->config, &path));
    return pod__data_make_vocab(call, path);
}

static pod_status run_make(pod_call *call)
{
    const pod_config *c = call->config;
    const char *spec = pod_config_arg(c, 1), *path = "";
    if (is_vocab(c)) return run_make_vocab(call);
    if (!pod_glyphs_is_spec(spec))
        return pod_fail(POD_E_INVALID,
                        "make: '%s' is not made here; there are glyphs[:HxWxC] and vocab", spec);
    if (pod_config_n_args(c) > 2)
        return pod_fail(POD_E_INVALID, "want make glyphs[:HxWxC] -o F.h5, found %d of its words",
                        pod_config_n_args(c));
    POD_TRY(check_options(c, MAKE));
    POD_TRY(need_output(c, &path));
    pod_dataset *d;
    POD_TRY(pod_dataset_open(spec, (uint64_t)pod_config_int(c, POD_OPT_SEED), &d));
    pod_status s = pod_dataset_export(d, path, call->log);
    pod_dataset_close(d);
    POD_TRY(s);
    POD_TRY(print_info(path, call));
    return POD_OK;
}

static pod_status run_info(pod_call *call)
{
    POD_TRY(check_options(call->config, INFO));
    POD_TRY(print_info(pod_config_arg(call->config, 1), call));
    return POD_OK;
}

static const struct action {
    const char *name, *form;
    int min_args, max_args;
    pod_status (*run)(pod_call *call);
} actions[] = {
    {"import", "import idx|images|list|cifar|text|pairs FROM -o F.h5", 3, INT_MAX, run_import},
    {"make", "make glyphs[:HxWxC] -o F.h5, or make vocab FILES -o V.txt", 2, INT_MAX, run_make},
    {"info", "info F.h5", 2, 2, run_info},
};

pod_status pod_cmd_data(pod_call *call, int *exit_code)
{
    (void)exit_code;
    const int n_args = pod_config_n_args(call->config);
    const char *name = n_args > 0 ? pod_config_arg(call->config, 0) : "";
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(name, actions[i].name) != 0) continue;
        if (n_args < actions[i].min_args || n_args > actions[i].max_args)
            return pod_fail(POD_E_INVALID, "want %s, found %d of its words", actions[i].form,
                            n_args);
        POD_TRY(actions[i].run(call));
        return POD_OK;
    }
    return pod_fail(POD_E_INVALID, "%s%s%swant import, make or info",
                    name[0] ? "there is no '" : "", name, name[0] ? "': " : "");
}
