#include "runtime/machine/machine.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/cpu.h"
#include "kernels/base/parse.h"
#include "runtime/core/file.h"
#include "runtime/core/ini.h"
#include "runtime/machine/machine_presets.h"

typedef enum field_type {
    FIELD_TEXT,
    FIELD_COUNT,
    FIELD_RATE,
    FIELD_SHARE,
    FIELD_AMOUNT,
    FIELD_WRAP,
    FIELD_RATES,
    FIELD_TIMES
} field_type;

typedef enum field_need {
    NEED_FREE,
    NEED_POD,
    NEED_CORES,
    NEED_X,
    NEED_Y,
    NEED_Z,
    NEED_LINKS,
    N_NEEDS
} field_need;

typedef struct field {
    const char *key;
    field_type type;
    field_need need;
    size_t offset;
} field;

static const field fields[] = {
#define POD_MACHINE(type, name, need, what) \
    {#name, FIELD_##type, NEED_##need, offsetof(pod_machine, name)},
#include "runtime/machine/machine.def"
};

enum { N_FIELDS = sizeof fields / sizeof fields[0] };

typedef struct reading {
    pod_machine machine;
    bool seen[N_FIELDS];
} reading;

enum { MAX_COUNT = 1 << 20 };

static pod_status parse_number(const char *what, field_type type, const char *text, double *out)
{
    const double least = type == FIELD_AMOUNT ? 0 : 1e-3, most = type == FIELD_SHARE ? 1 : 1e9;
    return pod_parse_double(what, text, least, most, out);
}

static pod_status parse_wrap(const char *what, const char *text, pod_wrap_rule *out)
{
    int64_t extent;
    const bool is_at = strncmp(text, "at ", 3) == 0, is_every = strncmp(text, "every ", 6) == 0;
    if (strcmp(text, "never") == 0) {
        *out = (pod_wrap_rule){POD_WRAP_NEVER, 0};
        return POD_OK;
    }
    if (!is_at && !is_every)
        return pod_fail(POD_E_INVALID, "%s: '%s' is not never, at N or every N", what, text);
    POD_TRY(pod_parse_int(what, text + (is_at ? 3 : 6), 1, MAX_COUNT, &extent));
    *out = (pod_wrap_rule){is_at ? POD_WRAP_AT : POD_WRAP_EVERY, (int32_t)extent};
    return POD_OK;
}

/* "gemm.bf16.large amx_32x32 1200" */
static pod_status parse_rate(const char *what, const char *text, pod_rates *out)
{
    char kind[POD_RATE_KIND_BYTES], kernel[POD_RATE_KERNEL_BYTES], number[32], more;
    double rate;
    if (sscanf(text, "%31s %23s %31s %c", kind, kernel, number, &more) != 3)
        return pod_fail(POD_E_INVALID, "%s: '%.60s' is not a kind, a kernel and a rate", what,
                        text);
    POD_TRY(pod_parse_double(what, number, 0, 1e9, &rate));
    for (int32_t i = 0; i < out->n; i++)
        if (strcmp(out->rate[i].kind, kind) == 0 && strcmp(out->rate[i].kernel, kernel) == 0)
            return pod_fail(POD_E_FORMAT, "%s: %s %s stands twice", what, kind, kernel);
    pod_status s = pod_rates_set(out, kind, kernel, rate);
    return s == POD_OK ? s : pod_fail(s, "%s: %s", what, pod_error_text());
}

static void print_rates(const char *key, const pod_rates *r, FILE *to)
{
    char text[32];
    for (int32_t i = 0; i < r->n; i++)
        fprintf(to, "%s = %s %s %s\n", key, r->rate[i].kind, r->rate[i].kernel,
                pod_print_double(r->rate[i].gflop_per_s, text, sizeof text));
}

static pod_status parse_time(const char *what, const char *text, pod_op_times *out)
{
    pod_op_time point;
    POD_TRY(pod_op_time_parse(what, text, &point));
    pod_status s = pod_op_times_add(out, &point);
    return s == POD_OK ? s : pod_fail(s, "%s: %s", what, pod_error_text());
}

static void print_times(const char *key, const pod_op_times *t, FILE *to)
{
    char text[256];
    for (int32_t i = 0; i < t->n; i++)
        fprintf(to, "%s = %s\n", key, pod_op_time_print(&t->at[i], text, sizeof text));
}

static const char *print_wrap(pod_wrap_rule r, char *text, size_t text_bytes)
{
    if (r.kind == POD_WRAP_NEVER) return "never";
    snprintf(text, text_bytes, "%s %d", r.kind == POD_WRAP_AT ? "at" : "every", (int)r.extent);
    return text;
}

static pod_status set_field(pod_machine *m, const field *f, const char *what, const char *value)
{
    char *at = (char *)m + f->offset;
    int64_t count;
    double number;
    pod_wrap_rule wrap = {0};
    switch (f->type) {
    case FIELD_TEXT:
        if (strlen(value) >= POD_MACHINE_TEXT_BYTES)
            return pod_fail(POD_E_INVALID, "%s: '%.40s...' has more than %d bytes", what, value,
                            POD_MACHINE_TEXT_BYTES - 1);
        memcpy(at, value, strlen(value) + 1);
        break;
    case FIELD_COUNT:
        POD_TRY(pod_parse_int(what, value, 1, MAX_COUNT, &count));
        memcpy(at, &count, sizeof count);
        break;
    case FIELD_RATE:
    case FIELD_SHARE:
    case FIELD_AMOUNT:
        POD_TRY(parse_number(what, f->type, value, &number));
        memcpy(at, &number, sizeof number);
        break;
    case FIELD_WRAP:
        POD_TRY(parse_wrap(what, value, &wrap));
        memcpy(at, &wrap, sizeof wrap);
        break;
    case FIELD_RATES: POD_TRY(parse_rate(what, value, (pod_rates *)(void *)at)); break;
    case FIELD_TIMES: POD_TRY(parse_time(what, value, (pod_op_times *)(void *)at)); break;
    }
    return POD_OK;
}

static pod_status read_key(void *ctx, const char *place, const char *section, const char *key,
                           const char *value)
{
    reading *r = ctx;
    char what[640];
    snprintf(what, sizeof what, "%s: %.80s", place, key);
    if (section[0] != '\0')
        return pod_fail(POD_E_FORMAT, "%s: a machine file has no [section], found [%s]", what,
                        section);
    for (int i = 0; i < N_FIELDS; i++) {
        if (strcmp(fields[i].key, key) != 0) continue;
        if (r->seen[i] && fields[i].type != FIELD_RATES && fields[i].type != FIELD_TIMES)
            return pod_fail(POD_E_FORMAT, "%s: stands twice", what);
        r->seen[i] = true;
        POD_TRY(set_field(&r->machine, &fields[i], what, value));
        return POD_OK;
    }
    return pod_fail(POD_E_INVALID, "%s: a machine file has no such key", what);
}

static bool is_needed(const pod_machine *m, field_need need)
{
    const bool is_pod = pod_machine_is_virtual(m);
    const bool is_there[N_NEEDS] = {[NEED_POD] = is_pod,
                                    [NEED_CORES] = is_pod && m->cores_per_chip > 1,
                                    [NEED_X] = is_pod && m->chips_x > 1,
                                    [NEED_Y] = is_pod && m->chips_y > 1,
                                    [NEED_Z] = is_pod && m->chips_z > 1,
                                    [NEED_LINKS] = is_pod || m->link_gb_per_s > 0};
    return is_there[need];
}

/* A name that is empty tells no more than none. */
static pod_status check_needs(const char *path, const reading *r)
{
    char missing[N_FIELDS * 24] = "";
    size_t n = 0;
    for (int i = 0; i < N_FIELDS; i++) {
        const bool is_empty =
            fields[i].type == FIELD_TEXT && ((const char *)&r->machine)[fields[i].offset] == '\0';
        if (!is_needed(&r->machine, fields[i].need) || (r->seen[i] && !is_empty)) continue;
        n += (size_t)snprintf(missing + n, sizeof missing - n, "%s%s", n > 0 ? ", " : "",
                              fields[i].key);
    }
    if (n == 0) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: a machine with %s also needs %s", path,
                    pod_machine_is_virtual(&r->machine) ? "clock = virtual" : "link_gb_per_s",
                    missing);
}

static pod_status finish_reading(const char *path, const reading *r, pod_machine *out)
{
    const char *clock = r->machine.clock;
    if (clock[0] == '\0')
        return pod_fail(POD_E_INVALID, "%s: there is no key clock (wall or virtual)", path);
    if (strcmp(clock, "wall") != 0 && strcmp(clock, "virtual") != 0)
        return pod_fail(POD_E_INVALID, "%s: clock is wall or virtual, found '%s'", path, clock);
    POD_TRY(check_needs(path, r));
    *out = r->machine;
    return POD_OK;
}

pod_status pod_machine_read(const char *path, pod_machine *out)
{
    reading r = {0};
    POD_TRY(pod_ini_read(path, read_key, &r));
    return finish_reading(path, &r, out);
}

const char *pod_machine_known(int i) { return pod__machine_presets[i].name; }

static const pod__machine_preset *find_preset(const char *name)
{
    const pod__machine_preset *p = pod__machine_presets;
    while (p->name && strcmp(p->name, name) != 0) p++;
    return p->name ? p : NULL;
}

const char *pod_machine_known_text(const char *name)
{
    const pod__machine_preset *p = find_preset(name);
    return p ? p->text : NULL;
}

static pod_status read_preset(const pod__machine_preset *p, pod_machine *out)
{
    reading r = {0};
    char place[64];
    snprintf(place, sizeof place, "%s.conf", p->name);
    POD_TRY(pod_ini_read_text(place, p->text, read_key, &r));
    return finish_reading(place, &r, out);
}

/* A word that names nothing is more often a misspelt machine than a file that is not there. */
static pod_status refuse_name(const char *name)
{
    char known[256] = "host";
    for (int i = 0; pod_machine_known(i); i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %s", pod_machine_known(i));
    }
    return pod_fail(POD_E_IO, "machine '%s': neither a file nor one of %s", name, known);
}

pod_status pod_machine_host_path(char *path, size_t bytes)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool has_config = config && config[0] == '/';
    if (!has_config && !(home && home[0] != '\0'))
        return pod_fail(POD_E_IO,
                        "this host's machine file: neither XDG_CONFIG_HOME nor HOME is set");
    const int n = has_config ? snprintf(path, bytes, "%s/minipod/host.conf", config)
                             : snprintf(path, bytes, "%s/.config/minipod/host.conf", home);
    if (n < 0 || (size_t)n >= bytes)
        return pod_fail(POD_E_IO, "this host's machine file: its path has more than %zu bytes",
                        bytes - 1);
    return POD_OK;
}

/* Removes blanks at the end, which a file cannot hold. */
static void trim(char *text)
{
    for (size_t n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--)
        text[n - 1] = '\0';
}

void pod_machine_describe_host(pod_machine *out)
{
    pod_machine m = {0};
    snprintf(m.name, sizeof m.name, "host");
    snprintf(m.clock, sizeof m.clock, "wall");
    if (gethostname(m.hostname, sizeof m.hostname - 1) != 0) m.hostname[0] = '\0';
    snprintf(m.cpu_model, sizeof m.cpu_model, "%s", pod_cpu_model());
    trim(m.cpu_model);
    pod_cpu_print(pod_cpu_features(), m.cpu_features, sizeof m.cpu_features);
    m.physical_cores = pod_cpu_physical_cores();
    *out = m;
}

static pod_status load_host(pod_machine *out)
{
    char path[4096];
    pod_machine here, found;
    pod_machine_describe_host(&here);
    if (pod_machine_host_path(path, sizeof path) != POD_OK) {
        snprintf(here.why_unknown, sizeof here.why_unknown, "%s", pod_error_text());
    } else if (access(path, F_OK) != 0) {
        snprintf(here.why_unknown, sizeof here.why_unknown,
                 "this host was not measured yet: run minipod calibrate");
    } else {
        POD_TRY(pod_machine_read(path, &found));
        if (strcmp(found.cpu_model, here.cpu_model) == 0) {
            *out = found;
            return POD_OK;
        }
        snprintf(here.why_unknown, sizeof here.why_unknown,
                 "the machine file is of a %s, this is a %s: run minipod calibrate",
                 found.cpu_model[0] ? found.cpu_model : "CPU without a name", here.cpu_model);
    }
    *out = here;
    return POD_OK;
}

pod_status pod_machine_load(const char *name, pod_machine *out)
{
    const pod__machine_preset *preset = find_preset(name);
    if (strcmp(name, "host") == 0)
        POD_TRY(load_host(out));
    else if (preset)
        POD_TRY(read_preset(preset, out));
    else if (!strchr(name, '/') && access(name, F_OK) != 0)
        POD_TRY(refuse_name(name));
    else
        POD_TRY(pod_machine_read(name, out));
    return POD_OK;
}

/* ---- what may be left out -------------------------------------------------------------------- */

typedef enum field_of { OF_POD, OF_HOST, OF_ANY } field_of;

static const struct {
    const char *key;
    field_type type;
    field_of of;
    size_t offset;
    const char *without;
} may_be_absent[] = {
#define POD_MACHINE(type, name, need, what)
#define POD_MACHINE_MAY(type, name, need, of, what, without) \
    {#name, FIELD_##type, OF_##of, offsetof(pod_machine, name), without},
#include "runtime/machine/machine.def"
};

/* Returns whether an optional field is missing. An amount of 0 counts as missing. */
static bool is_absent(const pod_machine *m, field_type type, size_t offset)
{
    const char *at = (const char *)m + offset;
    int64_t count;
    double number;
    pod_wrap_rule wrap;
    if (type == FIELD_WRAP) {
        memcpy(&wrap, at, sizeof wrap);
        return wrap.kind == POD_WRAP_UNKNOWN;
    }
    if (type == FIELD_COUNT) {
        memcpy(&count, at, sizeof count);
        return count == 0;
    }
    memcpy(&number, at, sizeof number);
    return number <= 0;
}

void pod_machine_print_absent(const pod_machine *m, FILE *to)
{
    const bool is_pod = pod_machine_is_virtual(m);
    if (!is_pod && m->link_gb_per_s <= 0) return;
    for (size_t i = 0; i < sizeof may_be_absent / sizeof may_be_absent[0]; i++)
        if (may_be_absent[i].of != (is_pod ? OF_HOST : OF_POD) &&
            is_absent(m, may_be_absent[i].type, may_be_absent[i].offset))
            fprintf(to, "# without %s%s: %s\n", may_be_absent[i].key,
                    may_be_absent[i].type == FIELD_AMOUNT ? ", or with 0" : "",
                    may_be_absent[i].without);
}

void pod_machine_print(const pod_machine *m, FILE *to)
{
    for (int i = 0; i < N_FIELDS; i++) {
        const char *at = (const char *)m + fields[i].offset;
        char text[32];
        int64_t count;
        double number;
        pod_wrap_rule wrap;
        switch (fields[i].type) {
        case FIELD_TEXT:
            if (at[0] != '\0') fprintf(to, "%s = %s\n", fields[i].key, at);
            break;
        case FIELD_COUNT:
            memcpy(&count, at, sizeof count);
            if (count > 0) fprintf(to, "%s = %" PRId64 "\n", fields[i].key, count);
            break;
        case FIELD_RATE:
        case FIELD_SHARE:
        case FIELD_AMOUNT:
            memcpy(&number, at, sizeof number);
            if (number > 0 || is_needed(m, fields[i].need))
                fprintf(to, "%s = %s\n", fields[i].key,
                        pod_print_double(number, text, sizeof text));
            break;
        case FIELD_WRAP:
            memcpy(&wrap, at, sizeof wrap);
            if (wrap.kind != POD_WRAP_UNKNOWN)
                fprintf(to, "%s = %s\n", fields[i].key, print_wrap(wrap, text, sizeof text));
            break;
        case FIELD_RATES:
            print_rates(fields[i].key, (const pod_rates *)(const void *)at, to);
            break;
        case FIELD_TIMES:
            print_times(fields[i].key, (const pod_op_times *)(const void *)at, to);
            break;
        }
    }
}

pod_status pod_machine_write(const char *path, const pod_machine *m)
{
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    fprintf(pod_file_stream(f), "# made by minipod calibrate; rates are of one core\n");
    pod_machine_print(m, pod_file_stream(f));
    POD_TRY(pod_file_close(f));
    return POD_OK;
}

bool pod_machine_is_virtual(const pod_machine *m) { return strcmp(m->clock, "virtual") == 0; }

double pod_machine_peak_flop_per_s(const pod_machine *m, pod_dtype t)
{
    return 1e9 * (t == POD_BF16 ? m->peak_bf16_gflop_per_s : m->peak_f32_gflop_per_s);
}
