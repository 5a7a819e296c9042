#include "collectives/exec/watch/watch.h"

#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "collectives/exec/mpi/comm_mpi.h"
#include "collectives/exec/watch/host.h"
#include "collectives/exec/watch/mailbox.h"
#include "collectives/exec/watch/roster.h"

enum { MAX_NAMED = 8, NS_PER_S = 1000000000 };
enum { PAUSES = 64, LOOKS_BEFORE_WATCH = 4 };

static const int64_t LOOK_NS = 20000000;     /* between two looks at the mailbox */
static const int64_t NEARLY_NS = 1000000000; /* by which ranks notice apart that nothing comes */
static const int64_t SILENT_NS = 5000000000; /* in which who speaks ends the job */
static const int64_t LONG_NS = 1000000000;   /* after which who waits sleeps */
static const int64_t GAP_NS = 200000000;     /* between two looks at most, while this rank runs */
static const int64_t STOP_NS = 500000000;    /* a gap that only a stopped rank has */
static const struct timespec idle = {.tv_nsec = 5000000}, wakeful = {.tv_nsec = 1000000};
static const struct timespec short_nap = {.tv_nsec = 200000};

/* A handler is told nothing but its signal. */
static const pod__watch *volatile waited_for;
static volatile int64_t overdue_ns; /* when a wait of this process was last nearly too long */
static volatile int64_t woken_ns;   /* when it was last found to have been stopped */
static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
enum { N_ENDS = sizeof ends / sizeof ends[0] };
static struct sigaction before[N_ENDS];
static bool (*volatile is_ask_instead)(int signal_number);

static int64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int64_t limit_ns_of(const pod_comm *c)
{
    return (int64_t)(pod__comm_watchdog_s(c) * NS_PER_S);
}

static int64_t nearly(int64_t limit_ns)
{
    return limit_ns > 2 * NEARLY_NS ? limit_ns - NEARLY_NS : limit_ns / 2;
}

/* ---- who is missing -------------------------------------------------------------------------- */

typedef struct ranks {
    int n, rank[MAX_NAMED];
} ranks;

static void add(ranks *r, int rank)
{
    if (r->n < MAX_NAMED) r->rank[r->n++] = rank;
}

static bool is_own(const pod_comm *c, int rank) { return rank == pod_comm_rank(c); }

/* As far as the mailbox shows, this rank aside. */
static bool waits(const pod_comm *c, int rank, int64_t since_ns)
{
    return pod__mailbox_wait_of(pod__comm_mailbox(c), rank) >= since_ns;
}

static void find_missing_of_node(const pod_comm *c, int64_t since_ns, ranks *out)
{
    for (int r = 0; r < pod_comm_size(c) && pod__comm_mailbox(c); r++)
        if (!is_own(c, r) && pod_comm_shares_node(c, r) && !waits(c, r, since_ns)) add(out, r);
}

static void find_missing_elsewhere(pod_comm *c, ranks *out)
{
    for (int r = 0; r < pod_comm_size(c); r++)
        if (!pod_comm_shares_node(c, r) && !pod__roster_has_answered(pod__comm_roster(c), r))
            add(out, r);
}

static void find_awaited(const pod__watch *w, ranks *out)
{
    if (w->awaited) out->n = w->awaited(w->of, out->rank, MAX_NAMED);
}

/* ---- lines: one for standard error, made of nothing that a signal handler may not use ---------- */

enum { LINE_BYTES = 512 };

typedef struct line { /* what does not fit is cut off */
    size_t n;
    char text[LINE_BYTES];
} line;

static void line_text(line *l, const char *text)
{
    while (*text && l->n < LINE_BYTES - 1) l->text[l->n++] = *text++;
}

static void line_number(line *l, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    line_text(l, &digits[at]);
}

static void line_rank(line *l, int rank)
{
    line_text(l, "rank ");
    line_number(l, (uint64_t)rank);
}

static void line_put(line *l)
{
    l->text[l->n++] = '\n';
    ssize_t written = write(STDERR_FILENO, l->text, l->n);
    (void)written; /* there is nobody to tell */
}

static void begin_line(line *l, const pod__watch *w)
{
    l->n = 0;
    line_rank(l, pod_comm_rank(w->comm));
    line_text(l, ": ");
}

static void add_ranks(line *l, const ranks *r)
{
    for (int i = 0; i < r->n; i++) {
        if (i > 0) line_text(l, ", ");
        line_rank(l, r->rank[i]);
    }
    if (r->n == MAX_NAMED) line_text(l, ", ...");
}

/* "allreduce torus2d 4M #17, step 120" */
static void add_place(line *l, const pod__watch *w)
{
    line_text(l, w->what);
    line_text(l, " #");
    line_number(l, w->number);
    const int64_t step = pod__comm_step(w->comm);
    if (step <= 0) return;
    line_text(l, ", step ");
    line_number(l, (uint64_t)step);
}

/* "waiting for rank 3, rank 5 in allreduce torus2d 4M #17" */
static void add_state(line *l, const pod__watch *w)
{
    ranks awaited = {0};
    find_awaited(w, &awaited);
    if (!w->awaited) find_missing_of_node(w->comm, 1, &awaited);
    line_text(l, awaited.n > 0 ? "waiting for " : "waiting");
    add_ranks(l, &awaited);
    line_text(l, " in ");
    add_place(l, w);
}

static void add_seconds(line *l, int64_t ns) { line_number(l, (uint64_t)(ns / NS_PER_S)); }

static void say_late(const pod__watch *w, int64_t waited_ns)
{
    line l;
    begin_line(&l, w);
    add_state(&l, w);
    line_text(&l, " since ");
    add_seconds(&l, waited_ns);
    line_text(&l, " s");
    line_put(&l);
}

static void say_dead(const pod__watch *w, int dead)
{
    line l;
    begin_line(&l, w);
    line_rank(&l, dead);
    line_text(&l, " died; ");
    line_rank(&l, pod_comm_rank(w->comm));
    line_text(&l, " was ");
    add_state(&l, w);
    line_put(&l);
}

/* ", which waits itself in step 119," of a rank of this node. */
static void add_waiting(line *l, const pod_comm *c, int rank)
{
    if (!pod__comm_mailbox(c) || !pod_comm_shares_node(c, rank)) return;
    line_text(l, ", which waits itself");
    const int64_t step = pod__mailbox_step_of(pod__comm_mailbox(c), rank);
    if (step > 0) {
        line_text(l, " in step ");
        line_number(l, (uint64_t)step);
    }
    line_text(l, ",");
}

/* Nobody is missing: named is who is awaited, though it is not he who keeps the others. */
static void add_awaited(line *l, const pod__watch *w)
{
    ranks awaited = {0};
    find_awaited(w, &awaited);
    for (int i = 0; i < awaited.n; i++) {
        if (i > 0) line_text(l, " ");
        line_rank(l, awaited.rank[i]);
        add_waiting(l, w->comm, awaited.rank[i]);
    }
    if (awaited.n == 0) line_text(l, "all wait, and some");
}

static void say_overdue(const pod__watch *w, const ranks *missing, int64_t waited_ns)
{
    line l;
    begin_line(&l, w);
    if (missing->n > 0)
        add_ranks(&l, missing);
    else
        add_awaited(&l, w);
    line_text(&l, " did not arrive in ");
    add_place(&l, w);
    line_text(&l, ", for ");
    add_seconds(&l, waited_ns);
    line_text(&l, " s: ending the job");
    line_put(&l);
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* Whoever has claimed it speaks. */
static bool claim_end(const pod_comm *c)
{
    const pod__mailbox *mailbox = pod__comm_mailbox(c);
    return !mailbox || pod__mailbox_claim_end(mailbox);
}

static bool is_ending(pod_comm *c)
{
    const pod__mailbox *mailbox = pod__comm_mailbox(c);
    const pod__roster *roster = pod__comm_roster(c);
    return (mailbox && pod__mailbox_is_ending(mailbox)) ||
           (roster && pod__roster_is_ending(roster));
}

/* As it waited: who waits looks often. On a machine where ranks hardly come to run a gap may be
 * long as well: it has to be long beside the watchdog's seconds too. */
static bool was_stopped(const pod__watch *w, int64_t now_ns)
{
    const int64_t quarter_ns = limit_ns_of(w->comm) / 4;
    return now_ns - w->looked_ns > (quarter_ns > STOP_NS ? quarter_ns : STOP_NS);
}

static bool is_recent(int64_t then_ns, int64_t now_ns)
{
    return then_ns > 0 && now_ns - then_ns < 2 * NEARLY_NS;
}

/* Somebody of this job ends it, and has said why. What a rank of another node says cannot be seen,
 * but it speaks when the watchdog's seconds are over, and then this one's nearly are, or were. */
static bool is_told(const pod__watch *w)
{
    return is_recent(overdue_ns, monotonic_ns()) || is_ending(w->comm);
}

/* Who is told to end is made to go on first, if it was stopped: perhaps the job ends because of it.
 * Or a suspended job is ended, which may still save. */
static bool has_woken(const pod__watch *w)
{
    const int64_t now_ns = monotonic_ns();
    return is_recent(woken_ns, now_ns) || was_stopped(w, now_ns);
}

/* For the time in which the one who speaks ends this process too, unless something keeps him from
 * it. */
static void leave_it_to_others(void)
{
    const struct timespec until = {.tv_sec = (time_t)(SILENT_NS / NS_PER_S)};
    nanosleep(&until, NULL);
}

_Noreturn static void end_in_silence(pod_comm *c)
{
    leave_it_to_others();
    pod_comm_abort(c, 1);
}

/* Returns to him who is to say why the job ends, and only to him. */
static void begin_end(pod_comm *c)
{
    if (!claim_end(c)) end_in_silence(c);
    if (pod__comm_roster(c)) pod__roster_end(pod__comm_roster(c));
}

static void look_for_dead(pod__watch *w)
{
    const pod__mailbox *mailbox = pod__comm_mailbox(w->comm);
    const int dead = mailbox ? pod__mailbox_find_dead(mailbox) : -1;
    if (dead < 0) return;
    if (is_told(w)) end_in_silence(w->comm); /* it died because the job ends */
    if (has_woken(w)) leave_it_to_others();  /* perhaps likewise */
    begin_end(w->comm);
    say_dead(w, dead);
    pod_comm_abort(w->comm, 1);
}

static void end_overdue(pod__watch *w, const ranks *missing)
{
    begin_end(w->comm);
    say_overdue(w, missing, w->waited_ns);
    pod_comm_abort(w->comm, 1);
}

/* Whether the ranks of other nodes are to be asked and may still answer. The first rank of a node
 * calls it, for all of its node wait. */
static bool roster_is_open(pod__watch *w, int64_t now_ns, int64_t limit_ns)
{
    pod__roster *roster = pod__comm_roster(w->comm);
    if (!roster || w->waited_ns > limit_ns + SILENT_NS) return false;
    const bool calls = pod__comm_node_rank(w->comm, pod_comm_rank(w->comm)) == 0;
    return !calls || pod__roster_call(roster, now_ns) != POD__ROSTER_OVER;
}

/* Someone has not come for too long. Whoever was stopped in a wait, before this one began, has not
 * looked for as long; others have, even on a machine where they hardly come to run. */
static void look_for_missing(pod__watch *w, int64_t now_ns, int64_t limit_ns)
{
    ranks missing = {0};
    find_missing_of_node(w->comm, now_ns - limit_ns / 4 * 3, &missing);
    if (missing.n == 0) {
        if (roster_is_open(w, now_ns, limit_ns)) return;
        if (pod__comm_roster(w->comm)) find_missing_elsewhere(w->comm, &missing);
    }
    end_overdue(w, &missing);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void on_end(int signal_number)
{
    const pod__watch *w = waited_for;
    const bool is_over = w && is_told(w);
    if (w && !is_over && !has_woken(w)) {
        line l;
        begin_line(&l, w);
        line_text(&l, "ended from outside, ");
        add_state(&l, w);
        line_put(&l);
    }
    if (is_ask_instead && !is_over && is_ask_instead(signal_number)) return;
    for (int i = 0; i < N_ENDS; i++)
        if (ends[i] == signal_number) sigaction(signal_number, &before[i], NULL);
    raise(signal_number); /* delivered when this returns */
}

void pod__watch_install(void)
{
    static bool is_installed;
    if (is_installed) return;
    is_installed = true;
    struct sigaction own = {.sa_handler = on_end, .sa_flags = SA_RESTART};
    sigemptyset(&own.sa_mask);
    for (int i = 0; i < N_ENDS; i++) {
        sigaction(ends[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(ends[i], &own, NULL);
    }
}

void pod__watch_ask_before_end(bool (*is_ask)(int signal_number)) { is_ask_instead = is_ask; }

static void show_wait(const pod__watch *w, int64_t looked_ns)
{
    if (pod__comm_mailbox(w->comm)) pod__mailbox_show_wait(pod__comm_mailbox(w->comm), looked_ns);
}

/* From now on nothing has come. */
static void begin_waiting(pod__watch *w)
{
    w->waited_ns = 0;
    w->say_ns = (int64_t)(pod__comm_patience_s(w->comm) * NS_PER_S);
    if (pod__comm_roster(w->comm)) pod__roster_forget(pod__comm_roster(w->comm));
}

/* The time since the last look, as far as this rank ran. */
static void count_time(pod__watch *w, int64_t now_ns)
{
    const int64_t gap_ns = now_ns - w->looked_ns;
    if (was_stopped(w, now_ns)) {
        woken_ns = now_ns;
        begin_waiting(w);
    } else {
        w->waited_ns += gap_ns < GAP_NS ? gap_ns : GAP_NS;
    }
    w->looked_ns = now_ns;
}

void pod__watch_begin(pod__watch *w)
{
    w->looked_ns = monotonic_ns();
    begin_waiting(w);
    show_wait(w, w->looked_ns);
    waited_for = w;
}

void pod__watch_end(pod__watch *w)
{
    waited_for = NULL;
    show_wait(w, 0);
}

bool pod__watch_is_long(const pod__watch *w) { return w->waited_ns > LONG_NS; }

void pod__watch_sleep(void) { nanosleep(&wakeful, NULL); }

void pod__watch_look(pod__watch *w)
{
    const int64_t now_ns = monotonic_ns();
    if (w->waited_ns < 0) begin_waiting(w);
    if (now_ns - w->looked_ns < LOOK_NS) return;
    count_time(w, now_ns);
    show_wait(w, now_ns);
    if (pod__comm_roster(w->comm)) pod__roster_listen(pod__comm_roster(w->comm));
    look_for_dead(w);
    if (w->is_idle) return;
    const int64_t limit_ns = limit_ns_of(w->comm);
    if (limit_ns > 0 && w->waited_ns >= nearly(limit_ns)) overdue_ns = now_ns;
    if (limit_ns > 0 && w->waited_ns >= limit_ns) look_for_missing(w, now_ns, limit_ns);
    if (w->waited_ns < w->say_ns) return;
    say_late(w, w->waited_ns);
    w->say_ns = 2 * w->waited_ns; /* each time after as long again */
}

void pod__watch_until(pod__watch *w, bool (*poll)(void *of), void *of)
{
    if (poll(of)) return;
    pod__watch_begin(w);
    for (int64_t n_looks = 1; !poll(of); n_looks++) {
        if (w->is_idle)
            nanosleep(&idle, NULL);
        else if (w->naps)
            nanosleep(&short_nap, NULL);
        else if (pod__watch_is_long(w))
            pod__watch_sleep();
        else if (n_looks < PAUSES)
            pod__host_pause();
        else
            sched_yield();
        const bool slept = w->is_idle || w->naps;
        if (slept || n_looks % LOOKS_BEFORE_WATCH == 0) pod__watch_look(w);
    }
    pod__watch_end(w);
}
