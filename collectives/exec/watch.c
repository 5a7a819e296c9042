#include "collectives/exec/watch.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectives/exec/board.h"

enum { LINE_BYTES = 320, MAX_NAMED = 8, NS_PER_S = 1000000000 };

/* A handler is told nothing but its signal. */
static const pod_coll_run *volatile waited_for;
static struct sigaction before;

/* ---- one line, made of nothing that a handler may not use ------------------------------------ */

typedef struct line {
    char text[LINE_BYTES];
    size_t n;
} line;

static void add_text(line *l, const char *text)
{
    while (*text && l->n < LINE_BYTES - 1) l->text[l->n++] = *text++;
}

static void add_number(line *l, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    add_text(l, &digits[at]);
}

static void add_rank(line *l, int rank)
{
    add_text(l, "rank ");
    add_number(l, (uint64_t)rank);
}

/* "waiting for rank 3, rank 5 in allreduce torus2d 4M #17" */
static void add_state(line *l, const pod_coll_run *r)
{
    int rank[MAX_NAMED];
    int n = pod__mpi_awaited(r, rank, 0, MAX_NAMED);
    if (r->shm) n = pod__shm_awaited(r, rank, n, MAX_NAMED);
    add_text(l, n > 0 ? "waiting for " : "nobody to wait for");
    for (int i = 0; i < n; i++) {
        if (i > 0) add_text(l, ", ");
        add_rank(l, rank[i]);
    }
    if (n == MAX_NAMED) add_text(l, ", ...");
    add_text(l, " in ");
    add_text(l, r->what);
    add_text(l, " #");
    add_number(l, r->epoch);
}

static void put_line(line *l)
{
    l->text[l->n++] = '\n';
    ssize_t written = write(STDERR_FILENO, l->text, l->n);
    (void)written; /* there is nobody to tell */
}

/* ---- the three occasions --------------------------------------------------------------------- */

static void say_terminated(int signal_number)
{
    const pod_coll_run *r = waited_for;
    if (r) {
        line l = {.n = 0};
        add_rank(&l, pod_comm_rank(r->comm));
        add_text(&l, ": ended from outside, ");
        add_state(&l, r);
        put_line(&l);
    }
    sigaction(signal_number, &before, NULL);
    raise(signal_number); /* delivered when this returns */
}

static void say_late(const pod_coll_run *r, int64_t waited_ns)
{
    line l = {.n = 0};
    add_rank(&l, pod_comm_rank(r->comm));
    add_text(&l, ": ");
    add_state(&l, r);
    add_text(&l, " since ");
    add_number(&l, (uint64_t)(waited_ns / NS_PER_S));
    add_text(&l, " s");
    put_line(&l);
}

static void say_dead(const pod_coll_run *r, int dead)
{
    line l = {.n = 0};
    add_rank(&l, pod_comm_rank(r->comm));
    add_text(&l, ": ");
    add_rank(&l, dead);
    add_text(&l, " died, ");
    add_state(&l, r);
    put_line(&l);
}

void pod__watch_install(void)
{
    static bool is_installed;
    if (is_installed) return;
    is_installed = true;
    struct sigaction own = {.sa_handler = say_terminated};
    sigemptyset(&own.sa_mask);
    sigaction(SIGTERM, &own, &before);
}

void pod__watch_set(const pod_coll_run *r) { waited_for = r; }

void pod__watch_look(pod__watch *w, const pod_coll_run *r)
{
    const pod__board *board = pod__comm_board(r->comm);
    int dead = board ? pod__board_find_dead(board) : POD__NONE;
    if (dead != POD__NONE) {
        say_dead(r, dead);
        pod_comm_abort(r->comm, 1);
    }
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const int64_t now_ns = (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
    if (w->since_ns == 0) {
        w->since_ns = now_ns;
        w->say_ns = now_ns + (int64_t)(pod__comm_patience_s(r->comm) * NS_PER_S);
    } else if (now_ns >= w->say_ns) {
        say_late(r, now_ns - w->since_ns);
        w->say_ns = now_ns + (now_ns - w->since_ns); /* each time after as long again */
    }
}
