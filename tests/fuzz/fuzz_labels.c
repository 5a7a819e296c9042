/* The reader of lists of images on any CSV file: it neither crashes nor lies. Each file that it
 * lists has a name, a class that there is, and a split. */
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/data/import/list.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pod_arena *a;
    pod_image_list list;
    if (pod_arena_create(NULL, &a) != POD_OK) return 0;
    const char *path = fuzz_file(data, bytes);
    if (pod__image_labels_list(path, ".", "test", a, &list) == POD_OK) {
        POD_ASSERT(list.n_split[0] + list.n_split[1] == list.n, "%lld files", (long long)list.n);
        for (int64_t i = 0; i < list.n; i++) {
            const pod_image_file *f = &list.file[i];
            POD_ASSERT(*f->path && f->label >= 0 && f->label < list.n_classes, "file %lld",
                       (long long)i);
            POD_ASSERT(*list.class_names[f->label], "class %d has no name", f->label);
        }
    }
    pod_arena_destroy(a);
    return 0;
}
