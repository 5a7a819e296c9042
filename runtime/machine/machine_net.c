#include "runtime/machine/machine_net.h"

#include <stdio.h>
#include <string.h>

/* Returns whether the first dimension is the cores of a chip. */
static bool has_cores(const pod_machine *m, const pod_mesh *mesh)
{
    return mesh->n_dims == POD_MESH_MAX_DIMS && m->cores_per_chip > 1;
}

static pod_wrap_rule rule_of(const pod_machine *m, const pod_mesh *mesh, int dim)
{
    const pod_wrap_rule of_chips[] = {m->wraps_x, m->wraps_y, m->wraps_z};
    const pod_wrap_rule of_cores = {.kind = POD_WRAP_NEVER};
    if (!has_cores(m, mesh)) return of_chips[dim];
    return dim == 0 ? of_cores : of_chips[dim - 1];
}

static bool wraps_at(pod_wrap_rule rule, int extent, bool otherwise)
{
    switch (rule.kind) {
    case POD_WRAP_AT: return extent == rule.extent;
    case POD_WRAP_EVERY: return extent % rule.extent == 0;
    case POD_WRAP_NEVER: return false;
    default: return otherwise;
    }
}

/* The machine may be longer the other way: a mesh is not turned. */
static pod_status check_extents(const pod_machine *m, const pod_mesh *mesh, const char *text)
{
    const int64_t chips[] = {m->chips_x, m->chips_y, m->chips_z};
    const int first = has_cores(m, mesh) ? 1 : 0;
    for (int d = first; d < mesh->n_dims; d++)
        if (chips[d - first] > 0 && mesh->extent[d] > chips[d - first])
            return pod_fail(POD_E_INVALID,
                            "mesh %s: %s has %d chips along dimension %d, found an extent of %d",
                            text, m->name, (int)chips[d - first], d, mesh->extent[d]);
    return POD_OK;
}

pod_status pod_machine_wrap_mesh(const pod_machine *m, pod_mesh *mesh)
{
    char text[POD_MESH_TEXT_BYTES];
    pod_mesh_print(mesh, text, sizeof text);
    if (has_cores(m, mesh) && mesh->extent[0] > m->cores_per_chip)
        return pod_fail(POD_E_INVALID,
                        "mesh %s: the first of three extents is cores of a chip, %s has %d", text,
                        m->name, (int)m->cores_per_chip);
    POD_TRY(check_extents(m, mesh, text));
    pod_mesh decided = *mesh;
    for (int d = 0; d < mesh->n_dims; d++) {
        const bool can = wraps_at(rule_of(m, mesh, d), mesh->extent[d], mesh->wraps[d]);
        if (mesh->is_forced[d] && mesh->wraps[d] && !can)
            return pod_fail(POD_E_INVALID,
                            "mesh %s: on %s dimension %d does not wrap at an extent of %d", text,
                            m->name, d, mesh->extent[d]);
        if (!mesh->is_forced[d]) decided.wraps[d] = can;
    }
    decided.is_of_chips = pod_machine_is_virtual(m) && m->cores_per_chip == 1;
    *mesh = decided;
    return POD_OK;
}

static pod_status fail_no_slice(const pod_machine *m, int64_t cores, const pod_mesh *fewer,
                                const pod_mesh *more)
{
    const pod_mesh *const near[] = {fewer, more};
    char names[2][POD_MESH_TEXT_BYTES + 24] = {"", ""}, mesh[POD_MESH_TEXT_BYTES];
    for (int i = 0; i < 2; i++)
        if (near[i]->n_dims > 0)
            snprintf(names[i], sizeof names[i], "%d (%s)", pod_mesh_size(near[i]),
                     pod_mesh_print(near[i], mesh, sizeof mesh));
    return pod_fail(POD_E_INVALID, "cores: %s has no slice of %lld cores; the nearest: %s%s%s",
                    m->name, (long long)cores, names[0], *names[0] && *names[1] ? ", " : "",
                    names[1]);
}

pod_status pod_machine_slice(const pod_machine *m, int64_t cores, pod_mesh *out)
{
    pod_mesh fewer = {0}, more = {0};
    if (!*m->slices)
        return pod_fail(POD_E_INVALID,
                        "cores: the file of %s lists no slices; --mesh says the mesh", m->name);
    for (const char *at = m->slices; at; at = strchr(at, ',')) {
        char word[POD_MESH_TEXT_BYTES];
        pod_mesh mesh;
        at += *at == ',';
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        if (pod_mesh_parse(word, &mesh) != POD_OK)
            return pod_fail(POD_E_INVALID, "machine %s: slices: '%s' is no mesh", m->name, word);
        const int n = pod_mesh_size(&mesh);
        if (n == cores) {
            *out = mesh;
            return POD_OK;
        }
        if (n < cores && (fewer.n_dims == 0 || n > pod_mesh_size(&fewer))) fewer = mesh;
        if (n > cores && (more.n_dims == 0 || n < pod_mesh_size(&more))) more = mesh;
    }
    return fail_no_slice(m, cores, &fewer, &more);
}

int pod_machine_cores_used(const pod_machine *m, const pod_mesh *mesh)
{
    return has_cores(m, mesh) ? mesh->extent[0] : 1;
}

static pod_status need(const pod_machine *m, const char *key, double value)
{
    if (value > 0) return POD_OK;
    if (m->why_unknown[0] != '\0') return pod_fail(POD_E_INVALID, "machine: %s", m->why_unknown);
    return pod_fail(POD_E_INVALID, "machine %s: its file has no %s, which a simulation needs",
                    m->name, key);
}

/* Ranks that outnumber a host's cores do what a core does by turns; links only wait. */
static void take_turns(const pod_machine *m, const pod_mesh *mesh, pod_net *net)
{
    const double ranks = pod_mesh_size(mesh), cores = (double)m->physical_cores;
    if (pod_machine_is_virtual(m) || cores <= 0 || ranks <= cores) return;
    net->reduce_bytes_per_s *= cores / ranks;
    net->memory_bytes_per_s *= cores / ranks;
    net->message_s *= ranks / cores;
    net->sync_s *= ranks / cores;
}

pod_status pod_machine_net(const pod_machine *m, const pod_mesh *mesh, pod_net *out)
{
    POD_TRY(need(m, "link_gb_per_s", m->link_gb_per_s));
    POD_TRY(need(m, "reduce_gb_per_s", m->reduce_gb_per_s));
    POD_TRY(need(m, "copy_memory_gb_per_s", m->copy_memory_gb_per_s));
    if (has_cores(m, mesh)) POD_TRY(need(m, "core_gb_per_s", m->core_gb_per_s));
    pod_net net = {.message_s = 1e-6 * m->message_us,
                   .reduce_bytes_per_s = 1e9 * m->reduce_gb_per_s,
                   .memory_bytes_per_s =
                       1e9 * (m->share_gb_per_s > 0 ? m->share_gb_per_s : m->copy_memory_gb_per_s),
                   .sync_s = 1e-6 * m->sync_us,
                   .is_chip_shared = has_cores(m, mesh)};
    for (int d = 0; d < mesh->n_dims; d++) {
        const bool is_core = d == 0 && has_cores(m, mesh);
        net.link_bytes_per_s[d] = 1e9 * (is_core ? m->core_gb_per_s : m->link_gb_per_s);
        net.link_latency_s[d] = 1e-6 * (is_core ? m->core_latency_us : m->link_latency_us);
    }
    take_turns(m, mesh, &net);
    *out = net;
    return POD_OK;
}
