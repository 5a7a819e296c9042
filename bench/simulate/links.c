#include "bench/simulate/simulate.h"

#include <math.h>

#include "bench/common/plot.h"
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
    fprintf(to,
            "# minipod %s simulate, clock virtual, machine %s, mesh %s; a link leaves its rank "
            "along a dimension; busy: share of a step; bytes: in a step\n"
            "rank,dimension,direction,busy,bytes\n",
            POD_VERSION, machine, POD_MESH_TEXT(m));
    for (int rank = 0; rank < s->cores; rank++)
        for (int d = 0; d < m->n_dims; d++)
            for (int dir = 1; dir >= -1; dir -= 2) {
                if (pod_mesh_neighbor(m, rank, d, dir) < 0 || is_of_chip(s, rank, d)) continue;
                const pod_hop hop = {d, dir};
                fprintf(to, "%d,%d,%s,%.9g,%.0f\n", rank, d, dir > 0 ? "up" : "down",
                        share_of(s, rank, hop), s->link_bytes[pod_route_link(m, rank, hop)]);
            }
}

/* The dimensions along which places are drawn across and upwards, and from which on there is a
 * panel for the links of each: of chips all, without the cores of one. */
typedef struct view {
    int across, up, n_across, n_up;
    int first, end;
} view;

static view view_of(const pod_mesh *m)
{
    const int across = m->n_dims == POD_MESH_MAX_DIMS && !m->is_of_chips ? 1 : 0;
    const int up = m->n_dims == 1 ? -1 : across + 1;
    return (view){across, up, m->extent[across], up < 0 ? 1 : m->extent[up], across, m->n_dims};
}

/* The largest of what is drawn in one place: of a chip's cores, or along a third dimension of
 * chips; below 0 where there is no link. */
static double drawn_share(const pod_simulated *s, view v, int x, int y, pod_hop hop)
{
    const pod_mesh *m = &s->program->mesh;
    double most = -1;
    for (int rank = 0; rank < s->cores; rank++) {
        const pod_coord at = pod_mesh_coord(m, rank);
        if (at.at[v.across] != x || (v.up >= 0 && at.at[v.up] != y)) continue;
        if (pod_mesh_neighbor(m, rank, hop.dim, hop.dir) < 0) continue;
        const double share = share_of(s, rank, hop);
        if (share > most) most = share;
    }
    return most;
}

typedef struct drawing {
    const pod_planned *planned;
    const pod_simulated *simulated;
} drawing;

/* Places without a link, and how many; NULL: only counts them. */
static int print_missing(const pod_simulated *s, view v, pod_hop hop, FILE *to)
{
    int n = 0;
    for (int y = 0; y < v.n_up; y++)
        for (int x = 0; x < v.n_across; x++)
            if (drawn_share(s, v, x, y, hop) < 0) {
                n++;
                if (to) fprintf(to, "%d %d\n", x, y);
            }
    return n;
}

/* Likewise. A link has failed both ways: up from its core, and down from the next. */
static int print_failed(const drawing *d, view v, pod_hop hop, FILE *to)
{
    const pod_mesh *m = &d->simulated->program->mesh;
    int n = 0;
    for (int i = 0; i < d->planned->n_faults; i++) {
        const pod_fault *f = &d->planned->fault[i];
        if (f->kind != POD_FAULT_LINK || f->dim != hop.dim) continue;
        const int rank = hop.dir > 0 ? f->rank : pod_mesh_neighbor(m, f->rank, f->dim, 1);
        const pod_coord at = pod_mesh_coord(m, rank);
        n++;
        if (to) fprintf(to, "%d %d\n", at.at[v.across], v.up < 0 ? 0 : at.at[v.up]);
    }
    return n;
}

/* gnuplot takes no inline data of nothing. */
static void print_panel(const drawing *d, view v, pod_hop hop, FILE *to)
{
    static const char box[] =
        ", '-' using 1:2:(%.2f):(%.2f) with boxxyerror fs solid noborder fc '%s' notitle";
    const pod_simulated *s = d->simulated;
    const bool has_missing = print_missing(s, v, hop, NULL) > 0;
    const bool has_failed = print_failed(d, v, hop, NULL) > 0;
    fprintf(to, "set title 'links %s dimension %d'\nplot '-' matrix with image pixels notitle",
            hop.dir > 0 ? "up" : "down", hop.dim);
    if (has_missing) fprintf(to, box, 0.5, 0.5, "grey70");
    if (has_failed) fprintf(to, box, 0.25, 0.25, "blue");
    fputc('\n', to);
    for (int y = 0; y < v.n_up; y++) {
        for (int x = 0; x < v.n_across; x++)
            fprintf(to, "%.4f ", 100 * fmax(0, drawn_share(s, v, x, y, hop)));
        fputc('\n', to);
    }
    fputs("e\n", to);
    if (has_missing) print_missing(s, v, hop, to);
    if (has_missing) fputs("e\n", to);
    if (has_failed) print_failed(d, v, hop, to);
    if (has_failed) fputs("e\n", to);
}

/* Of all panels, in %, so that they compare. */
static double top_of_scale(const pod_simulated *s, view v)
{
    const double least = 0.01;
    double most = least;
    for (int rank = 0; rank < s->cores; rank++)
        for (int d = v.first; d < v.end; d++)
            for (int dir = 1; dir >= -1; dir -= 2)
                most = fmax(most, 100 * share_of(s, rank, (pod_hop){d, dir}));
    return most;
}

/* Between marks of an axis, so that there are few and each is a core. */
static int tics_of(int n)
{
    int step = 1;
    while (n / step > 10) step *= 2;
    return step;
}

static void print_script(const void *what, FILE *to)
{
    const drawing *drawn = what;
    const pod_simulated *s = drawn->simulated;
    enum { TITLE_BYTES = 320 };
    const view v = view_of(&s->program->mesh);
    const int n_drawn = v.end - v.first;
    char title[TITLE_BYTES], quoted[TITLE_BYTES + 8];
    fprintf(to, "set terminal svg size 960,%d noenhanced\n", n_drawn * 420);
    snprintf(title, sizeof title,
             "share of a step that links are busy, %%, on %s, mesh %s (virtual clock)%s",
             drawn->planned->machine.name, POD_MESH_TEXT(&s->program->mesh),
             n_drawn > 2 ? "; the busiest along dimension 2" : "");
    fprintf(to,
            "set multiplot layout %d,2 title %s\n"
            "set label 'white: idle; grey: no link; blue: failed' "
            "at screen 0.5,0.012 center\n"
            "set cbrange [0:%.4g]\nset xlabel 'dimension %d'\nset ylabel 'dimension %d'\n"
            "set xrange [-0.5:%d.5]\nset yrange [-0.5:%d.5]\nset xtics %d\nset ytics %d\n"
            "set palette defined (0 'white', 1 'gold', 2 'red', 3 'black')\n",
            n_drawn, pod_plot_quote(title, quoted, sizeof quoted), top_of_scale(s, v), v.across,
            v.up < 0 ? v.across : v.up, v.n_across - 1, v.n_up - 1, tics_of(v.n_across),
            tics_of(v.n_up));
    for (int d = v.first; d < v.end; d++)
        for (int dir = 1; dir >= -1; dir -= 2) {
            print_panel(drawn, v, (pod_hop){d, dir}, to);
            if (d == v.first && dir > 0)
                fputs("unset label\n", to); /* every panel would repeat it */
        }
    fputs("unset multiplot\n", to);
}

pod_status pod_simulate_write_links(const pod_planned *p, const pod_simulated *s,
                                    const char *folder, pod_log *log)
{
    char path[PATH_BYTES];
    pod_file *f;
    snprintf(path, sizeof path, "%s/links.csv", folder);
    POD_TRY(pod_file_open(path, &f));
    print_csv(s, p->machine.name, pod_file_stream(f));
    POD_TRY(pod_file_close(f));
    if (s->cores == 1) return POD_OK;
    snprintf(path, sizeof path, "%s/links.svg", folder);
    return pod_plot_print(print_script, &(drawing){p, s}, path, log);
}
