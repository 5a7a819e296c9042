/* pod_sched_draw: runs a schedule on sets of contributions in place of numbers, and prints them.
 *
 * Every element of every rank holds a count for each rank: how often that rank's contribution is in
 * it. Elements side by side that look alike in all tables share a column, so the rounds are run
 * twice: once to find columns and their width, once to print. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/sched/order.h"

enum { MAX_RANKS = 64, MAX_ELEMENTS = 1024, CELL_BYTES = 8 * MAX_RANKS };

typedef struct picture {
    const pod_sched *const *all;
    int n_ranks;
    int64_t count;            /* elements of MAIN, of the rank that has most */
    int64_t base[POD_N_BUFS]; /* where a buffer begins among the elements of a rank */
    int64_t n_places;         /* elements of a rank, of all its buffers */
    uint8_t *n_from;          /* (n_ranks, n_places, n_ranks) */
    bool *is_new;             /* (n_ranks, n_places): written in this round */
    bool *is_column;          /* (count): a column begins here */
    int column_width;         /* of the widest cell */
} picture;

static size_t place_of(const picture *p, int rank, pod_span at)
{
    return (size_t)(rank * p->n_places + p->base[at.buf] + at.first);
}

static uint8_t *content_of(const picture *p, int rank, pod_span at)
{
    return &p->n_from[place_of(p, rank, at) * (size_t)p->n_ranks];
}

/* dst = a + b on one rank, where b may be absent. */
static void move(picture *p, int rank, pod_span dst, const uint8_t *a, const uint8_t *b,
                 int64_t count)
{
    uint8_t *to = content_of(p, rank, dst);
    for (int64_t i = 0; i < count * p->n_ranks; i++) to[i] = (uint8_t)(a[i] + (b ? b[i] : 0));
    memset(&p->is_new[place_of(p, rank, dst)], true, (size_t)count);
}

/* Element by element, so that a destination may be its own source. */
static void reduce_shared(picture *p, int rank, const pod_step *s)
{
    int n;
    const int *shared = pod_sched_shared(p->all[rank], &n);
    for (int64_t i = 0; i < s->count; i++) {
        const pod_span src = {s->src.buf, s->src.first + i}, dst = {s->dst.buf, s->dst.first + i};
        uint8_t sum[MAX_RANKS] = {0};
        for (int k = 0; k < n; k++)
            for (int from = 0; from < p->n_ranks; from++)
                sum[from] = (uint8_t)(sum[from] + content_of(p, shared[k], src)[from]);
        for (int k = 0; k < n; k++)
            if (s->kind == POD_STEP_REDUCE_ALL || shared[k] == rank)
                move(p, shared[k], dst, sum, NULL, 1);
    }
}

static void apply(picture *p, const pod_sched_event *e)
{
    int32_t n;
    const pod_step *s = &pod_sched_steps(p->all[e->rank], &n)[e->step];
    if (s->kind == POD_STEP_JOIN || s->kind == POD_STEP_SYNC || s->kind == POD_STEP_DIVIDE) return;
    if (s->kind == POD_STEP_REDUCE_FROM || s->kind == POD_STEP_REDUCE_ALL) {
        reduce_shared(p, e->rank, s);
        return;
    }
    const uint8_t *own = content_of(p, e->rank, s->src);
    if (s->kind == POD_STEP_COPY) {
        move(p, e->rank, s->dst, own, NULL, s->count);
        return;
    }
    pod_span sent = pod_sched_steps(p->all[s->peer], &n)[e->send_step].src;
    move(p, e->rank, s->dst, content_of(p, s->peer, sent),
         s->kind == POD_STEP_RECV_REDUCE ? own : NULL, s->count);
}

/* "0-2,5x2*"; "-" for nothing. */
static void print_cell(const picture *p, int rank, int64_t element, char text[CELL_BYTES])
{
    const pod_span at = {POD_BUF_MAIN, element};
    const uint8_t *n_from = content_of(p, rank, at);
    int used = 0;
    for (int from = 0; from < p->n_ranks; from++) {
        if (!n_from[from]) continue;
        const char *comma = used ? "," : "";
        int last = from;
        while (last + 1 < p->n_ranks && n_from[last + 1] == n_from[from]) last++;
        used += sprintf(text + used, last > from ? "%s%d-%d" : "%s%d", comma, from, last);
        if (n_from[from] > 1) used += sprintf(text + used, "x%d", n_from[from]);
        from = last;
    }
    sprintf(text + used, "%s%s", used ? "" : "-", p->is_new[place_of(p, rank, at)] ? "*" : "");
}

static bool looks_like_previous(const picture *p, int rank, int64_t element)
{
    size_t at = place_of(p, rank, (pod_span){POD_BUF_MAIN, element});
    size_t n = (size_t)p->n_ranks;
    return memcmp(&p->n_from[at * n], &p->n_from[(at - 1) * n], n) == 0 &&
           p->is_new[at] == p->is_new[at - 1];
}

static void widen(picture *p, const char *text)
{
    if ((int)strlen(text) > p->column_width) p->column_width = (int)strlen(text);
}

static void measure_table(picture *p)
{
    for (int rank = 0; rank < p->n_ranks; rank++) {
        for (int64_t i = 0; i < p->count; i++) {
            if (i > 0 && looks_like_previous(p, rank, i)) continue;
            p->is_column[i] = true;
            char text[CELL_BYTES];
            print_cell(p, rank, i, text);
            widen(p, text);
        }
    }
}

/* Cells of a line, two blanks between them and none at the end. */
static void put_cell(FILE *out, int width, const char *text, bool is_last)
{
    fprintf(out, "  %-*s%s", is_last ? 0 : width, text, is_last ? "\n" : "");
}

static int64_t column_end(const picture *p, int64_t first)
{
    int64_t end = first + 1;
    while (end < p->count && !p->is_column[end]) end++;
    return end;
}

static void print_head(FILE *out, picture *p)
{
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) fprintf(out, "%-8s", "elements");
        for (int64_t i = 0; i < p->count; i = column_end(p, i)) {
            char text[64];
            int64_t end = column_end(p, i);
            snprintf(text, sizeof text, "%" PRId64 "..%" PRId64, i, end - 1);
            if (end == i + 1) snprintf(text, sizeof text, "%" PRId64, i);
            if (pass == 0)
                widen(p, text);
            else
                put_cell(out, p->column_width, text, end == p->count);
        }
    }
}

static void print_table(FILE *out, const picture *p, int32_t round)
{
    if (round == 0)
        fprintf(out, "start\n");
    else
        fprintf(out, "round %d\n", (int)round);
    for (int rank = 0; rank < p->n_ranks; rank++) {
        fprintf(out, "  rank %-2d", rank);
        for (int64_t i = 0; i < p->count; i = column_end(p, i)) {
            char text[CELL_BYTES];
            print_cell(p, rank, i, text);
            put_cell(out, p->column_width, text, column_end(p, i) == p->count);
        }
    }
}

/* With nowhere to print, measures. */
static void run_rounds(FILE *out, picture *p, const pod_sched_order *order)
{
    size_t places = (size_t)(p->n_ranks * p->n_places);
    memset(p->n_from, 0, places * (size_t)p->n_ranks);
    for (int rank = 0; rank < p->n_ranks; rank++)
        for (int64_t i = 0; i < p->count; i++)
            content_of(p, rank, (pod_span){POD_BUF_MAIN, i})[rank] = 1;
    int32_t next = 0;
    for (int32_t round = 0; round <= order->n_rounds; round++) {
        memset(p->is_new, false, places);
        for (; next < order->n_events && order->event[next].round == round; next++)
            apply(p, &order->event[next]);
        if (out)
            print_table(out, p, round);
        else
            measure_table(p);
    }
}

static pod_status make_picture(pod_arena *a, const pod_sched *const all[], int n_ranks, picture *p)
{
    *p = (picture){.all = all, .n_ranks = n_ranks};
    int64_t most[POD_N_BUFS] = {0};
    for (int r = 0; r < n_ranks; r++) {
        const int64_t count[POD_N_BUFS] = {pod_sched_count(all[r]), pod_sched_scratch_count(all[r]),
                                           pod_sched_sum_count(all[r])};
        for (int b = 0; b < POD_N_BUFS; b++)
            if (count[b] > most[b]) most[b] = count[b];
    }
    for (int b = 0; b < POD_N_BUFS; b++) {
        if (n_ranks > MAX_RANKS || most[b] > MAX_ELEMENTS)
            return pod_fail(POD_E_UNSUPPORTED,
                            "drawing: %d ranks and %" PRId64 " elements, at most %d and %d",
                            n_ranks, most[b], MAX_RANKS, MAX_ELEMENTS);
        p->base[b] = p->n_places;
        p->n_places += most[b];
    }
    p->count = most[POD_BUF_MAIN];
    size_t places = (size_t)(n_ranks * p->n_places);
    p->n_from = POD_ARENA_NEW(a, uint8_t, places * (size_t)n_ranks);
    p->is_new = POD_ARENA_NEW(a, bool, places);
    p->is_column = POD_ARENA_NEW(a, bool, p->count);
    return p->n_from && p->is_new && p->is_column ? POD_OK : POD_E_NOMEM;
}

pod_status pod_sched_draw(FILE *out, const pod_sched *const all[], int n_ranks)
{
    pod_arena *work;
    POD_TRY(pod_arena_create(NULL, &work));
    picture p;
    pod_sched_order order;
    pod_status status;
    POD_TRY_GOTO(status, make_picture(work, all, n_ranks, &p), done);
    POD_TRY_GOTO(status, pod_sched_order_build(work, all, n_ranks, &order), done);
    if (p.count > 0) {
        run_rounds(NULL, &p, &order);
        print_head(out, &p);
        run_rounds(out, &p, &order);
    }
done:
    pod_arena_destroy(work);
    return status;
}
