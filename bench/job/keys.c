#include "bench/job/keys.h"

#include <stddef.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/core/words.h"

enum { PART_BYTES = 128, WHAT_BYTES = 64 };

typedef enum key_type { COUNT, NUMBER, SIZE } key_type;

static const struct {
    key_type type;
    size_t offset;
    const char *name, *unit;
    double fallback, least, most;
    const char *help;
} keys[POD_N_JOB_KEYS] = {
#define POD_JOB_KEY(type, field, name, unit, fallback, least, most, help) \
    {type, offsetof(pod_job_keys, field), name, unit, fallback, least, most, help},
#include "bench/job/keys.def"
};

static void put(pod_job_keys *k, int key, double number, int64_t whole)
{
    char *field = (char *)k + keys[key].offset;
    if (keys[key].type == NUMBER)
        memcpy(field, &number, sizeof number);
    else
        memcpy(field, &whole, sizeof whole);
}

static pod_status fail_unknown(const char *name)
{
    const char *names[POD_N_JOB_KEYS];
    for (int i = 0; i < POD_N_JOB_KEYS; i++) names[i] = keys[i].name;
    const char *near = pod_nearest_name(name, names, POD_N_JOB_KEYS);
    return pod_fail(POD_E_INVALID, "job: there is no key '%s'%s%s%s", name,
                    near ? "; did you mean " : "; minipod simulate --help-all lists them",
                    near ? near : "", near ? "?" : "");
}

static pod_status set_key(pod_job_keys *k, int key, const char *value)
{
    char what[WHAT_BYTES];
    double number = 0;
    int64_t whole = 0;
    snprintf(what, sizeof what, "job: %s", keys[key].name);
    if (k->given >> key & 1) return pod_fail(POD_E_INVALID, "%s stands twice", what);
    switch (keys[key].type) {
    case COUNT:
        POD_TRY(
            pod_parse_int(what, value, (int64_t)keys[key].least, (int64_t)keys[key].most, &whole));
        break;
    case NUMBER:
        POD_TRY(pod_parse_double(what, value, keys[key].least, keys[key].most, &number));
        break;
    case SIZE:
        POD_TRY(pod_parse_size(what, value, &whole));
        if ((double)whole > keys[key].most)
            return pod_fail(POD_E_INVALID, "%s: %s is more than %.0f bytes", what, value,
                            keys[key].most);
        break;
    }
    put(k, key, number, whole);
    k->given |= 1u << key;
    return POD_OK;
}

static pod_status parse_part(pod_job_keys *k, char *part)
{
    char *value = strchr(part, '=');
    if (!value) return pod_fail(POD_E_INVALID, "job: '%s' is not key=value", part);
    *value++ = '\0';
    for (int key = 0; key < POD_N_JOB_KEYS; key++)
        if (strcmp(keys[key].name, part) == 0) return set_key(k, key, value);
    return fail_unknown(part);
}

pod_status pod_job_keys_parse(const char *text, pod_job_keys *out)
{
    pod_job_keys k = {0};
    for (int key = 0; key < POD_N_JOB_KEYS; key++)
        put(&k, key, keys[key].fallback, (int64_t)keys[key].fallback);
    while (*text) {
        char part[PART_BYTES];
        POD_TRY(pod_word_take("job", &text, part, sizeof part));
        POD_TRY(parse_part(&k, part));
    }
    *out = k;
    return POD_OK;
}

bool pod_job_keys_has(const pod_job_keys *k, pod_job_key key) { return k->given >> key & 1; }

void pod_job_keys_help(FILE *to)
{
    for (int key = 0; key < POD_N_JOB_KEYS; key++) {
        char about[48] = "";
        if (keys[key].fallback > 0)
            snprintf(about, sizeof about, "%s%s%g", keys[key].unit, *keys[key].unit ? ", " : "",
                     keys[key].fallback);
        else
            snprintf(about, sizeof about, "%s", keys[key].unit);
        fprintf(to, "  %-13s%-13s%s\n", keys[key].name, about, keys[key].help);
    }
}
