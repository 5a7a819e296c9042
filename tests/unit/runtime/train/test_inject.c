/* Faults that strike the training loop: who, when, once; and what is left of a process. */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/exec/inject.h"
#include "tests/harness/harness.h"

enum { STEPS = 20 };

static int parse(const char *text, pod_fault fault[POD_MAX_FAULTS])
{
    int n = 0;
    POD_CHECK_OK(pod_faults_parse(text, fault, &n));
    return n;
}

static void test_check(void)
{
    pod_fault f[POD_MAX_FAULTS];
    int n = parse("kill:rank=3,step=1;slow:rank=0,factor=1;nan:rank=1,step=2", f);
    POD_CHECK_OK(pod_inject_check(f, n, 4));
    POD_CHECK_OK(pod_inject_check(NULL, 0, 1));
    POD_CHECK_FAILS(pod_inject_check(f, n, 3), POD_E_INVALID,
                    "fault: kill of rank 3, but there are 3 ranks: 0 to 2");
    POD_CHECK_FAILS(pod_inject_check(f, 1, 1), POD_E_INVALID,
                    "fault: kill of rank 3, but there is 1 rank: 0");
    n = parse("corrupt-checkpoint:step=2,rank=5", f);
    POD_CHECK_FAILS(pod_inject_check(f, n, 4), POD_E_INVALID, "corrupt-checkpoint of rank 5");
    n = parse("slow:rank=1,factor=0.5", f);
    POD_CHECK_FAILS(pod_inject_check(f, n, 2), POD_E_INVALID, "at least 1, found 0.5");
    n = parse("link:rank=0,dim=0", f);
    POD_CHECK_FAILS(pod_inject_check(f, n, 2), POD_E_INVALID, "of a simulated machine alone");
}

static void test_slowness(void)
{
    pod_fault f[POD_MAX_FAULTS];
    const int n = parse("slow:rank=1,factor=3,from=5,until=7;slow:rank=1,factor=2,from=8;"
                        "slow:rank=2,factor=1.5;hang:rank=1,step=6",
                        f);
    static const struct {
        int rank;
        int64_t step;
        double want;
    } table[] = {{0, 6, 1}, {1, 4, 1}, {1, 5, 3},   {1, 7, 3},
                 {1, 8, 2}, {1, 9, 2}, {2, 1, 1.5}, {2, 1000000, 1.5}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const double got = pod_inject_slowness(f, n, table[i].rank, table[i].step);
        POD_CHECK(got == table[i].want, "rank %d, step %d: %g, want %g", table[i].rank,
                  (int)table[i].step, got, table[i].want);
    }
    CU_ASSERT_EQUAL(pod_inject_slowness(NULL, 0, 0, 1), 1);
}

/* ---- striking ---- */

typedef struct notes {
    int n, fault[8];
    int64_t step[8], now; /* the step of each; that which begins */
} notes;

static void take_note(void *to, int fault)
{
    notes *all = to;
    if (all->n == 8) return;
    all->step[all->n] = all->now;
    all->fault[all->n++] = fault;
}

static pod_store *make_store(void)
{
    const int64_t dim[] = {3};
    const struct {
        const char *name;
        pod_role role;
    } of[] = {{"conv", POD_ROLE_WEIGHT}, {"head", POD_ROLE_WEIGHT}, {"bias", POD_ROLE_BIAS}};
    pod_program_variable v[3];
    for (int i = 0; i < 3; i++)
        v[i] = (pod_program_variable){
            .name = of[i].name, .type = pod_type_of(POD_F32, 1, dim), .role = of[i].role};
    const pod_program p = {.variable = v, .n_variables = 3};
    pod_store *s = NULL;
    POD_NEED_OK(pod_store_create(&p, 0, 1, &s));
    return s;
}

static int n_nans(pod_store *s, int i)
{
    int n = 0;
    for (int k = 0; k < 3; k++) n += isnan(pod_store_data(s, i)[k]) != 0;
    return n;
}

/* All steps on rank `rank`; notes what struck. */
static void run(const char *text, const bool spent[], int rank, pod_store *store, notes *out)
{
    pod_fault f[POD_MAX_FAULTS];
    const int n = parse(text, f);
    bool is_slowed[POD_MAX_FAULTS] = {false};
    const pod_injection x = {
        .fault = f, .n_faults = n, .spent = spent, .note = take_note, .to = out};
    for (out->now = 1; out->now <= STEPS; out->now++)
        pod_inject(&x, rank, out->now, store, NULL, is_slowed);
}

static void test_nan(void)
{
    static const char text[] = "slow:rank=0,factor=2,from=3;nan:rank=0,step=7;nan:rank=1,step=4;"
                               "diskfull:rank=0,step=5;kill:rank=0,step=6,write=1";
    const bool none[8] = {false}, first_two[8] = {true, true};
    pod_store *s = make_store();
    notes all = {0};
    run(text, first_two, 0, s, &all);
    POD_CHECK(all.n == 0 && n_nans(s, 1) == 0, "%d strike that are spent", all.n);
    run(text, none, 0, s, &all);
    POD_CHECK(all.n == 2 && all.fault[0] == 0 && all.step[0] == 3 && all.fault[1] == 1 &&
                  all.step[1] == 7,
              "%d strike: fault %d in step %d, ...", all.n, all.fault[0], (int)all.step[0]);
    POD_CHECK(n_nans(s, 0) == 0 && n_nans(s, 1) == 1 && n_nans(s, 2) == 0, "nans: %d, %d, %d",
              n_nans(s, 0), n_nans(s, 1), n_nans(s, 2));
    pod_store_destroy(s);
}

/* In a process of its own, which tells what struck before it does. */
static pid_t strike_alone(const char *text, int *notes_of)
{
    int ends[2];
    const bool none[8] = {false};
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        notes all = {0};
        pod_fault f[POD_MAX_FAULTS];
        (void)signal(SIGTERM, SIG_IGN);
        (void)close(ends[0]);
        bool is_slowed[POD_MAX_FAULTS] = {false};
        const pod_injection x = {
            .fault = f, .n_faults = parse(text, f), .spent = none, .note = take_note, .to = &all};
        for (all.now = 1; all.now <= STEPS; all.now++) {
            if (all.now == 5 && write(ends[1], "5", 1) != 1) _Exit(2);
            pod_inject(&x, 1, all.now, NULL, NULL, is_slowed);
        }
        _Exit(0);
    }
    (void)close(ends[1]);
    *notes_of = ends[0];
    return child;
}

static void wait_for_step_5(int from)
{
    char c = 0;
    POD_CHECK(read(from, &c, 1) == 1 && c == '5', "its fifth step was not reached");
    (void)close(from);
}

static void test_kill(void)
{
    int from, state = 0;
    const pid_t child = strike_alone("kill:rank=1,step=5", &from);
    wait_for_step_5(from);
    POD_CHECK(waitpid(child, &state, 0) == child && WIFSIGNALED(state) &&
                  WTERMSIG(state) == SIGKILL,
              "ends with state %d", state);
}

/* Hangs on, and SIGTERM ends it though it was ignored. */
static void test_hang(void)
{
    int from, state = 0;
    const pid_t child = strike_alone("hang:rank=1,step=5", &from);
    wait_for_step_5(from);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    POD_CHECK(waitpid(child, &state, WNOHANG) == 0, "ended by itself, state %d", state);
    (void)kill(child, SIGTERM);
    POD_CHECK(waitpid(child, &state, 0) == child && WIFSIGNALED(state) &&
                  WTERMSIG(state) == SIGTERM,
              "ends with state %d", state);
}

POD_TEST_SUITE("inject", {"check", test_check}, {"slowness", test_slowness}, {"nan", test_nan},
               {"kill", test_kill}, {"hang", test_hang});
