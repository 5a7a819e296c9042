#include "bench/common/published.h"

#include <math.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/core/words.h"
#include "runtime/machine/machine_net.h"

const pod_published pod_published_rows[POD_N_PUBLISHED] = {
#define FITTED       POD_ROW_FITTED
#define PREDICTED    POD_ROW_PREDICTED
#define POD_ROW(...) {__VA_ARGS__},
#include "bench/common/published.def"
};

#define ONE_BUCKET "bucket = 1G\noverlap = off\n"

pod_status pod_published_config(const pod_published *r, pod_config **out)
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    const char *text = pod_arena_text(a, "[command line]\n" ONE_BUCKET "%s", r->settings);
    const pod_status s = text ? pod_config_parse(text, out) : POD_E_NOMEM;
    pod_arena_destroy(a);
    return s;
}

void pod_published_list(FILE *to)
{
    fprintf(to, "# --preset                     published  what\n");
    for (int i = 0; i < POD_N_PUBLISHED; i++) {
        const pod_published *r = &pod_published_rows[i];
        fprintf(to, "  %-27s %7.2f ms  %s\n", r->preset, 1e3 * r->seconds / r->steps, r->name);
    }
}

/* ---- --preset and --cores -------------------------------------------------------------------- */

static pod_status find_preset(const char *name, const pod_published **out)
{
    const char *names[POD_N_PUBLISHED];
    for (int i = 0; i < POD_N_PUBLISHED; i++) {
        names[i] = pod_published_rows[i].preset;
        if (strcmp(names[i], name) != 0) continue;
        *out = &pod_published_rows[i];
        return POD_OK;
    }
    const char *near = pod_nearest_name(name, names, POD_N_PUBLISHED);
    return pod_fail(POD_E_INVALID, "preset: there is no '%.80s'%s%s; --preset list shows them",
                    name, near ? ", did you mean " : "", near ? near : "");
}

static pod_status fill_preset(const pod_config *given, pod_config **out)
{
    static const pod_opt which[] = {POD_OPT_MODEL,
                                    POD_OPT_PRECISION,
                                    POD_OPT_OPTIMIZER,
                                    POD_OPT_EMA,
                                    POD_OPT_LABEL_SMOOTHING,
                                    POD_OPT_BN_GROUP,
                                    POD_OPT_MACHINE,
                                    POD_OPT_MESH,
                                    POD_OPT_BATCH,
                                    POD_OPT_BUCKET,
                                    POD_OPT_OVERLAP,
                                    POD_OPT_WIRE,
                                    POD_OPT_SEQ_LEN,
                                    POD_OPT_SHARD_UPDATE,
                                    POD_OPT_RECOMPUTE,
                                    POD_OPT_MAX_MASKED,
                                    POD_OPT_PACK,
                                    POD_OPT_CLIP_NORM};
    const char *name = pod_config_text(given, POD_OPT_PRESET);
    const pod_published *row;
    char settings[1024] = "";
    if (*name) {
        POD_TRY(find_preset(name, &row));
        snprintf(settings, sizeof settings, ONE_BUCKET "%s", row->settings);
    }
    return pod_config_fill(given, settings, which, sizeof which / sizeof which[0], out);
}

static pod_status find_slices(const pod_config *c, char *text, size_t bytes)
{
    const char *cores = pod_config_text(c, POD_OPT_CORES);
    size_t used = 0;
    pod_machine m;
    POD_TRY(pod_machine_load(pod_config_text(c, POD_OPT_MACHINE), &m));
    for (const char *at = cores; *at;) {
        char word[24];
        int64_t n;
        pod_mesh mesh;
        POD_TRY(pod_word_take("cores", &at, word, sizeof word));
        POD_TRY(pod_parse_int("cores", word, 1, 1 << 24, &n));
        if (pod_machine_is_virtual(&m))
            POD_TRY(pod_machine_slice(&m, n, &mesh));
        else
            POD_TRY(pod_setup_mesh("auto", (int)n, &mesh));
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? "," : "",
                                 POD_MESH_TEXT(&mesh));
        if (used >= bytes) return pod_fail(POD_E_INVALID, "cores: '%.80s...' is too long", cores);
    }
    return POD_OK;
}

pod_status pod_published_settle(const pod_config *given, bool takes_several, pod_config **out)
{
    const char *cores = pod_config_text(given, POD_OPT_CORES);
    const pod_opt typed = takes_several ? POD_OPT_MESHES : POD_OPT_MESH;
    const bool is_mesh_typed = pod_config_source(given, typed) == POD_FROM_COMMAND_LINE;
    char slices[2048], settings[2112];
    pod_config *filled;
    POD_TRY(fill_preset(given, &filled));
    if (!*cores) {
        *out = filled;
        return POD_OK;
    }
    pod_status s = POD_OK;
    if (is_mesh_typed)
        s = pod_fail(POD_E_INVALID, "cores: --%s is given too, one of them must go",
                     takes_several ? "meshes" : "mesh");
    else if (!takes_several && strchr(cores, ','))
        s = pod_fail(POD_E_INVALID, "cores: need one number, found '%.80s': scale takes several",
                     cores);
    if (s == POD_OK) s = find_slices(filled, slices, sizeof slices);
    if (s == POD_OK) {
        snprintf(settings, sizeof settings, "%s = %s\n", takes_several ? "meshes" : "mesh", slices);
        s = pod_config_override(filled, settings, out);
    }
    pod_config_destroy(filled);
    return s;
}

/* ---- the nearest row ------------------------------------------------------------------------- */

/* What a step's time depends on; the first four are what a row is of. */
static const pod_opt compared[] = {
    POD_OPT_MODEL,        POD_OPT_MACHINE,        POD_OPT_MESH,         POD_OPT_BATCH,
    POD_OPT_PRECISION,    POD_OPT_OPTIMIZER,      POD_OPT_EMA,          POD_OPT_BN_GROUP,
    POD_OPT_BUCKET,       POD_OPT_OVERLAP,        POD_OPT_ALGO,         POD_OPT_WIRE,
    POD_OPT_SHARD_UPDATE, POD_OPT_ACCUMULATE,     POD_OPT_RECOMPUTE,    POD_OPT_WIDTH,
    POD_OPT_DEPTH,        POD_OPT_DROPOUT,        POD_OPT_SURVIVAL,     POD_OPT_IMAGE_SIZE,
    POD_OPT_DATA,         POD_OPT_LINK_BANDWIDTH, POD_OPT_LINK_LATENCY, POD_OPT_FAULT,
    POD_OPT_NOISE,        POD_OPT_INPUT_RATE,     POD_OPT_SEQ_LEN,      POD_OPT_MAX_MASKED,
    POD_OPT_PACK,         POD_OPT_CLIP_NORM};
enum { N_COMPARED = sizeof compared / sizeof compared[0] };

/* As it was written, but for a bucket that the machine chose. */
static const char *shown(const pod_config *c, const pod_planned *p, pod_opt o, char size[32])
{
    if (o == POD_OPT_BUCKET) return pod_print_size(p->setup.compile.bucket_bytes, size, 32);
    return *pod_config_value(c, o) ? pod_config_value(c, o) : "none";
}

static const char *differences(const pod_config *c, const pod_planned *p, const pod_config *row,
                               pod_arena *arena)
{
    const char *text = "";
    for (int i = 0; i < N_COMPARED && text; i++) {
        const pod_opt o = compared[i];
        char size[32];
        if (pod_config_is_same(c, row, o) && o != POD_OPT_BUCKET) continue;
        if (o == POD_OPT_BUCKET && p->setup.compile.bucket_bytes == pod_config_size(row, o))
            continue;
        const char *other = *pod_config_value(row, o) ? pod_config_value(row, o) : "none";
        text = pod_arena_text(arena, "%s%s%s %s, not %s", text, *text ? "; " : "",
                              pod_options[o].name, shown(c, p, o, size), other);
    }
    return text;
}

static double distance(const pod_config *c, const pod_planned *p, const pod_config *row)
{
    const double cores = pod_mesh_size(&p->setup.compile.mesh), batch = (double)p->setup.batch;
    pod_mesh mesh;
    if (pod_mesh_parse(pod_config_text(row, POD_OPT_MESH), &mesh) != POD_OK) return INFINITY;
    const double row_cores = pod_mesh_size(&mesh);
    const double row_batch = (double)pod_config_int(row, POD_OPT_BATCH);
    return 1000 * !pod_config_is_same(c, row, POD_OPT_MODEL) +
           100 * !pod_config_is_same(c, row, POD_OPT_MACHINE) + 2 * fabs(log2(cores / row_cores)) +
           fabs(log2((batch / cores) / (row_batch / row_cores)));
}

pod_status pod_published_nearest(const pod_config *c, const pod_planned *p, pod_arena *arena,
                                 pod_nearest *out)
{
    pod_nearest nearest = {.differs = ""};
    double least = INFINITY;
    for (int i = 0; i < POD_N_PUBLISHED && pod_machine_is_virtual(&p->machine); i++) {
        const pod_published *r = &pod_published_rows[i];
        pod_config *row;
        POD_TRY(pod_published_config(r, &row));
        const double d = distance(c, p, row);
        if (d < least) {
            least = d;
            nearest = (pod_nearest){r, r->seconds / r->steps, differences(c, p, row, arena)};
        }
        pod_config_destroy(row);
        if (!nearest.differs) return POD_E_NOMEM;
    }
    *out = nearest;
    return POD_OK;
}

void pod_published_put(const pod_nearest *n, pod_json *j)
{
    if (!n->row) {
        pod_json_null(j, "published");
        return;
    }
    pod_json_open_object(j, "published");
    pod_json_text(j, "preset", n->row->preset);
    pod_json_double(j, "published_s", n->step_s);
    pod_json_text(j, "differs", n->differs);
    pod_json_close(j);
}
