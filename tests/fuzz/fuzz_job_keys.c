/* Any text as the keys of a job: those that are read are within their ranges. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bench/job/keys.h"
#include "kernels/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[4096];
    pod_job_keys k;
    if (bytes >= sizeof text) return 0;
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (pod_job_keys_parse(text, &k) != POD_OK) return 0;
#define COUNT(field)  ((double)k.field)
#define NUMBER(field) (k.field)
#define SIZE(field)   ((double)k.field)
#define POD_JOB_KEY(type, field, name, unit, fallback, least, most, help)             \
    POD_ASSERT(!pod_job_keys_has(&k, POD_JOB_KEY_##field) ||                          \
                   (type(field) >= (double)(least) && type(field) <= (double)(most)), \
               "%s is %g in '%s'", name, type(field), text);
#include "bench/job/keys.def"
    return 0;
}
