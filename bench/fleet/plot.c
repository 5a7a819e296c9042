/* Who held the pods, as time went by: a line a cube (a node, or a line of hosts of a torus), coloured by
 * the size of the jobs that hold most of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/plot.h"
#include "bench/fleet/fleet.h"

enum { N_BINS = 300, DOWN = POD_FLEET_CLASSES, N_COLORS = POD_FLEET_CLASSES + 1, FREE = -1 };
static const double DAY_NS = 86400e9;

static const char *const colors[N_COLORS] = {"#80b1d3", "#4daf4a", "#ff7f00", "#984ea3", "#000000"};

typedef struct line {
    int16_t cells[N_BINS][N_COLORS]; /* held in the middle of a bin */
} line;

typedef struct picture {
    const pod_fleet_study *study;
    int n_rows, first[POD_FLEET_KINDS + 1]; /* rows, and the first of each kind */
    line *held;                             /* (rows) */
} picture;

static int rows_of(const pod_fleet_kind *k)
{
    return k->n_pods * k->topology.n_cells / pod_topology_row_cells(&k->topology);
}

static double middle(const pod_fleet_study *s, int bin)
{
    return (bin + 0.5) / N_BINS * (double)s->horizon;
}

static void add_stay(picture *p, int kind, const pod_fleet_stay *stay)
{
    const pod_fleet_kind *k = &p->study->kind[kind];
    const int color =
        stay->request < 0 ? DOWN : pod_fleet_class(&k->topology, k->request[stay->request].chips);
    int bin = (int)((double)stay->from / (double)p->study->horizon * N_BINS - 0.5);
    for (bin = bin < 0 ? 0 : bin; bin < N_BINS && middle(p->study, bin) < (double)stay->until;
         bin++)
        if (middle(p->study, bin) >= (double)stay->from)
            p->held[p->first[kind] + stay->row].cells[bin][color] += (int16_t)stay->n_cells;
}

/* What holds most of the row, if half of it is held. */
static int color_of(const picture *p, int row, int row_cells, int bin)
{
    const int16_t *held = p->held[row].cells[bin];
    int most = 0, sum = 0;
    for (int c = 0; c < N_COLORS; c++) {
        sum += held[c];
        if (held[c] > held[most]) most = c;
    }
    return 2 * sum >= row_cells && held[most] > 0 ? most : FREE;
}

static void print_boxes(const picture *p, int kind, int color, FILE *to)
{
    const int row_cells = pod_topology_row_cells(&p->study->kind[kind].topology);
    const double bin_days = (double)p->study->horizon / DAY_NS / N_BINS;
    for (int row = p->first[kind]; row < p->first[kind + 1]; row++)
        for (int bin = 0, until; bin < N_BINS; bin = until) {
            const int first = color_of(p, row, row_cells, bin);
            for (until = bin + 1; until < N_BINS; until++)
                if (color_of(p, row, row_cells, until) != first) break;
            if (first != color) continue;
            fprintf(to, "%.9g %d %.9g %.9g %d %d\n", bin * bin_days, row, bin * bin_days,
                    until * bin_days, row, row + 1);
        }
}

static void print_script(const void *what, FILE *to)
{
    const picture *p = what;
    const pod_fleet_study *s = p->study;
    fprintf(to,
            "set terminal svg size 1080,%d noenhanced\nset xlabel 'days, clock virtual'\n"
            "set xrange [0:%.9g]\nset yrange [0:%d]\nset key outside right\n"
            "set style fill solid noborder\nset ytics (",
            160 + 6 * (p->n_rows < 200 ? p->n_rows : 200), (double)s->horizon / DAY_NS, p->n_rows);
    for (int k = 0; k < s->n_kinds; k++)
        for (int i = 0; i < s->kind[k].n_pods; i++)
            fprintf(to, "%s'%s %d' %d", k + i > 0 ? ", " : "", s->kind[k].topology.name, i,
                    p->first[k] + i * rows_of(&s->kind[k]) / s->kind[k].n_pods);
    fputs(")\nplot", to);
    for (int c = 0; c < N_COLORS; c++)
        fprintf(to, "%s '-' using 1:2:3:4:5:6 with boxxyerror linecolor rgb '%s' title '%s'",
                c > 0 ? "," : "", colors[c], c == DOWN ? "down" : pod_fleet_class_name(c));
    fputc('\n', to);
    for (int c = 0; c < N_COLORS; c++) {
        for (int k = 0; k < s->n_kinds; k++) print_boxes(p, k, c, to);
        fputs("-1 -1 -1 -1 -1 -1\ne\n", to); /* gnuplot warns of nothing */
    }
}

pod_status pod_fleet_plot(const pod_fleet_study *s, pod_arena *a, const char *path, pod_log *log)
{
    picture p = {.study = s};
    for (int k = 0; k < s->n_kinds; k++) {
        p.n_rows += rows_of(&s->kind[k]);
        p.first[k + 1] = p.n_rows;
    }
    p.held = POD_ARENA_NEW(a, line, p.n_rows);
    if (!p.held) return POD_E_NOMEM;
    for (int k = 0; k < s->n_kinds; k++)
        for (int64_t i = 0; i < s->kind[k].result.n_stays; i++)
            add_stay(&p, k, &s->kind[k].result.stay[i]);
    return pod_plot_print(print_script, &p, path, log);
}
