#include "bench/simulate_links.h"

#include <stdlib.h>
#include <string.h>

#include "bench/plot.h"
#include "runtime/core/file.h"

enum { PATH_BYTES = 4096 };

static double share_of(const pod_simulated *s, int rank, pod_hop hop)
{
    const pod_mesh *m = &s->program->mesh;
    if (pod_mesh_neighbor(m, rank, hop.dim, hop.dir) < 0) return 0;
    return s->link_busy_s[pod_route_link(m, rank, hop)] / s->steps.mean;
}

/* The link is its chip's, and stands where the chip's first core does. */
static bool is_of_chip(const pod_simulated *s, int rank, int dim)
{
    return s->is_chip_shared && dim > 0 && pod_mesh_coord(&s->program->mesh, rank).at[0] > 0;
}

static void print_csv(const pod_simulated *s, const char *machine, FILE *to)
{
    const pod_mesh *m = &s->program->mesh;
    char mesh[POD_MESH_TEXT_BYTES];
    fprintf(to,
            "# minipod %s simulate, clock virtual, machine %s, mesh %s; a link leaves its rank "
            "along a dimension; busy: share of a step; bytes: in a step\n"
            "rank,dimension,direction,busy,bytes\n",
            POD_VERSION, machine, pod_mesh_print(m, mesh, sizeof mesh));
    for (int rank = 0; rank < s->cores; rank++)
        for (int d = 0; d < m->n_dims; d++)
            for (int dir = 1; dir >= -1; dir -= 2) {
                if (pod_mesh_neighbor(m, rank, d, dir) < 0 || is_of_chip(s, rank, d)) continue;
                const pod_hop hop = {d, dir};
                fprintf(to, "%d,%d,%s,%.9g,%.0f\n", rank, d, dir > 0 ? "up" : "down",
                        share_of(s, rank, hop), s->link_bytes[pod_route_link(m, rank, hop)]);
            }
}

/* The dimensions that are drawn across and upwards: those of chips, where there are three. */
typedef struct view {
    int across, up, n_across, n_up;
} view;

static view view_of(const pod_mesh *m)
{
    const int across = m->n_dims == POD_MESH_MAX_DIMS ? 1 : 0;
    const int up = m->n_dims == 1 ? -1 : across + 1;
    return (view){across, up, m->extent[across], up < 0 ? 1 : m->extent[up]};
}

/* The largest of what is drawn in one place. */
static double drawn_share(const pod_simulated *s, view v, int x, int y, pod_hop hop)
{
    const pod_mesh *m = &s->program->mesh;
    double most = 0;
    for (int rank = 0; rank < s->cores; rank++) {
        const pod_coord at = pod_mesh_coord(m, rank);
        if (at.at[v.across] != x || (v.up >= 0 && at.at[v.up] != y)) continue;
        const double share = share_of(s, rank, hop);
        if (share > most) most = share;
    }
    return most;
}

static void print_panel(const pod_simulated *s, view v, pod_hop hop, FILE *to)
{
    fprintf(to, "set title 'links %s dimension %d'\nplot '-' matrix with image pixels notitle\n",
            hop.dir > 0 ? "up" : "down", hop.dim);
    for (int y = 0; y < v.n_up; y++) {
        for (int x = 0; x < v.n_across; x++)
            fprintf(to, "%.4f ", 100 * drawn_share(s, v, x, y, hop));
        fputc('\n', to);
    }
    fputs("e\n", to);
}

static void print_script(const pod_simulated *s, const char *machine, const char *path, FILE *to)
{
    const view v = view_of(&s->program->mesh);
    const int n_dims = v.up < 0 ? 1 : 2;
    char quoted[PATH_BYTES + 8], mesh[POD_MESH_TEXT_BYTES];
    fprintf(to, "set terminal svg size 960,%d noenhanced\nset output %s\n", n_dims * 420,
            pod_plot_quote(path, quoted, sizeof quoted));
    fprintf(to,
            "set multiplot layout %d,2 title 'share of a step that links are busy, %%, on %s, "
            "mesh %s (virtual clock)'\n"
            "set cbrange [0:*]\nset xlabel 'dimension %d'\nset ylabel 'dimension %d'\n"
            "set xrange [-0.5:%d.5]\nset yrange [-0.5:%d.5]\n"
            "set palette defined (0 'white', 1 'gold', 2 'red', 3 'black')\n",
            n_dims, machine, pod_mesh_print(&s->program->mesh, mesh, sizeof mesh), v.across,
            v.up < 0 ? v.across : v.up, v.n_across - 1, v.n_up - 1);
    for (int i = 0; i < n_dims; i++)
        for (int dir = 1; dir >= -1; dir -= 2)
            print_panel(s, v, (pod_hop){i == 0 ? v.across : v.up, dir}, to);
    fputs("unset multiplot\n", to);
}

static pod_status draw(const pod_simulated *s, const char *machine, const char *path, pod_log *log)
{
    char *script = NULL;
    size_t bytes;
    FILE *to = open_memstream(&script, &bytes);
    if (!to) return pod_fail(POD_E_NOMEM, "%s: no memory for the plot's script", path);
    print_script(s, machine, path, to);
    fclose(to);
    const pod_status status = pod_plot(script, log);
    free(script);
    return status;
}

pod_status pod_simulate_write_links(const pod_simulated *s, const char *machine, const char *folder,
                                    pod_log *log)
{
    char path[PATH_BYTES];
    pod_file *f;
    snprintf(path, sizeof path, "%s/links.csv", folder);
    POD_TRY(pod_file_open(path, &f));
    print_csv(s, machine, pod_file_stream(f));
    POD_TRY(pod_file_close(f));
    if (s->cores == 1) return POD_OK;
    snprintf(path, sizeof path, "%s/links.svg", folder);
    return draw(s, machine, path, log);
}
