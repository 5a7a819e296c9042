/* --plot: bus bandwidth in place by size, a line for each algorithm, type, operation and kind of
 * buffers. */
#include "bench/common/plot.h"
#include "bench/coll/coll.h"

typedef struct series {
    int entry, first; /* a size of its type, operation and root */
    bool is_cold;
} series;

static bool is_of(const pod_bench *b, const series *s, const pod_bench_row *r)
{
    return r->entry == s->entry && (r->n_buffers > 1) == s->is_cold &&
           pod_bench_is_alike(&b->plan.size[r->size], &b->plan.size[s->first]);
}

/* The row stands first in a line of its own. */
static bool is_first(const pod_bench *b, int row, series *out)
{
    const pod_bench_row *r = &b->row[row];
    *out = (series){r->entry, r->size, r->n_buffers > 1};
    for (int i = 0; i < row; i++)
        if (is_of(b, out, &b->row[i])) return false;
    return true;
}

static void print_title(const pod_bench *b, const series *s, FILE *to)
{
    const pod_bench_size *size = &b->plan.size[s->first];
    fprintf(to, "'%s, %s, %s", b->plan.entry[s->entry].name,
            pod_bench_buffers(&b->plan, s->is_cold), size->type->name);
    if (pod_coll_adds(b->plan.coll)) fprintf(to, ", %s", pod_redop_name(size->op));
    fputc('\'', to);
}

static void print_script(const void *bench, FILE *to)
{
    const pod_bench *b = bench;
    const pod_bench_plan *p = &b->plan;
    series s;
    fprintf(to,
            "set terminal svg size 1080,540 noenhanced\n"
            "set title '%s, %d ranks, mesh %s, clock %s, machine %s'\n"
            "set xlabel 'bytes'\nset ylabel 'bus bandwidth in place, GB/s'\n"
            "set logscale x 2\nset yrange [0:*]\nset key outside right\nset grid\nplot",
            pod_coll_name(p->coll), p->n_ranks, POD_MESH_TEXT(&p->mesh), pod_bench_clock(p),
            p->machine.name);
    for (int i = 0, n = 0; i < b->n_rows; i++) {
        if (!is_first(b, i, &s)) continue;
        fprintf(to, "%s '-' with linespoints title ", n++ > 0 ? "," : "");
        print_title(b, &s, to);
    }
    fputc('\n', to);
    for (int i = 0; i < b->n_rows; i++) {
        if (!is_first(b, i, &s)) continue;
        for (int k = i; k < b->n_rows; k++)
            if (is_of(b, &s, &b->row[k]) && p->size[b->row[k].size].count > 0)
                fprintf(to, "%.0f %.6g\n", (double)pod_bench_bytes(p, b->row[k].size),
                        pod_bench_busbw(b, &b->row[k], POD_IN_PLACE));
        fputs("e\n", to);
    }
}

pod_status pod_bench_plot(const pod_bench *b, const char *path)
{
    return pod_plot_print(print_script, b, path, b->call->log);
}
