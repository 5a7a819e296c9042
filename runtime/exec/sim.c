#include "runtime/exec/sim.h"

#include <inttypes.h>

#include "collectives/net/engine.h"
#include "kernels/base/assert.h"
#include "runtime/core/room.h"
#include "runtime/exec/overtake.h"

typedef struct in_flight { /* a collective, once for each time that it runs in a step */
    pod_sim_coll *coll;
    pod_time *started, *done; /* by core; done is NOT_DONE until it is */
} in_flight;

typedef struct core {
    int64_t turn;   /* the next */
    pod_time now;   /* until when it is known what the core does */
    pod_time ended; /* the step */
    bool waits;     /* for the collective of its turn */
} core;

struct pod_exec_sim {
    const pod_program *program;
    const pod_instr_time *time;
    pod_noise noise;
    pod_arena *arena;
    pod_sim *sim;
    core *core;
    int n_cores;       /* that are simulated: ranks, or classes */
    double *slow;      /* by core; NULL: 1 */
    pod_time *phase;   /* (n_cores, POD_N_PHASES), of all steps */
    in_flight *flight; /* (n_flights), as the simulation numbers them: those of a collective
                          together */
    int32_t n_flights;
    int32_t *first_flight; /* by collective */
    const pod_exec_sim_watch *watch;
    int n_watches;
    pod_time now;
    int64_t step, n_turns;
};

enum { NOT_DONE = -1, PARTS = 4 /* in which algorithms go several ways at once */ };

/* ---- opening --------------------------------------------------------------------------------- */

static int times_of(const pod_program *p, int32_t coll)
{
    int32_t i = 0;
    while (p->instr[i].kind != POD_I_COLL_START || p->instr[i].ticket != coll) i++;
    return pod_program_times(p, i);
}

/* With fewer elements than cores, some cores send none, and their position decides which. Such a
 * collective is simulated with PARTS elements per core, which costs the same but for a few
 * bytes. */
static pod_coll_args args_of(const pod_exec_sim *e, int32_t c)
{
    pod_coll_args args = e->program->coll[c].args;
    const int size = pod_group_size(&e->program->mesh, &args.group);
    if (args.count > 0 && args.count < PARTS * size) args.count = PARTS * size;
    return args;
}

static pod_status add_collective(pod_exec_sim *e, int32_t c, bool is_preferred)
{
    const pod_coll_args args = args_of(e, c);
    const int n_times = times_of(e->program, c);
    e->first_flight[c] = e->n_flights;
    for (int k = 0; k < n_times; k++) {
        in_flight *f = &e->flight[e->n_flights++];
        f->started = POD_ARENA_NEW(e->arena, pod_time, e->n_cores);
        f->done = POD_ARENA_NEW(e->arena, pod_time, e->n_cores);
        if (!f->started || !f->done) return POD_E_NOMEM;
        POD_TRY(pod_sim_add_algo(e->sim, e->program->coll[c].algo, &args, &f->coll));
        if (is_preferred) pod_sim_prefer(f->coll);
    }
    return POD_OK;
}

static pod_status add_collectives(pod_exec_sim *e, bool overtakes)
{
    const bool *is_preferred = NULL;
    if (overtakes) POD_TRY(pod_overtakes(e->program, e->arena, &is_preferred));
    for (int32_t c = 0; c < e->program->n_colls; c++)
        POD_TRY(add_collective(e, c, overtakes && is_preferred[c]));
    return POD_OK;
}

/* Ranks that do alike where the collectives let them. */
static pod_status find_classes(pod_exec_sim *e, const pod_net *net, pod_sim_classes *out)
{
    const pod_program *p = e->program;
    const pod_coll_algo **algo = POD_ARENA_NEW(e->arena, const pod_coll_algo *, p->n_colls);
    pod_coll_args *args = POD_ARENA_NEW(e->arena, pod_coll_args, p->n_colls);
    if (!algo || !args) return POD_E_NOMEM;
    for (int32_t c = 0; c < p->n_colls; c++) {
        algo[c] = p->coll[c].algo;
        args[c] = args_of(e, c);
    }
    return pod_sim_classes_find(net, &p->mesh, algo, args, p->n_colls, POD_SIM_NEARLY, out);
}

static pod_status take_slow(pod_exec_sim *e, const double slow[])
{
    if (!slow) return POD_OK;
    e->slow = POD_ARENA_NEW(e->arena, double, e->n_cores);
    if (!e->slow) return POD_E_NOMEM;
    for (int r = 0; r < e->n_cores; r++) e->slow[pod_sim_core_of(e->sim, r)] = slow[r];
    return POD_OK;
}

static pod_status take_memory(pod_exec_sim *e)
{
    const pod_program *p = e->program;
    int64_t n_flights = 0;
    for (int32_t c = 0; c < p->n_colls; c++) n_flights += times_of(p, c);
    e->core = POD_ARENA_NEW(e->arena, core, e->n_cores);
    e->flight = POD_ARENA_NEW(e->arena, in_flight, n_flights);
    e->first_flight = POD_ARENA_NEW(e->arena, int32_t, p->n_colls);
    e->phase = POD_ARENA_NEW(e->arena, pod_time, (int64_t)e->n_cores * POD_N_PHASES);
    return e->core && e->flight && e->first_flight && e->phase ? POD_OK : POD_E_NOMEM;
}

/* Each collective on its own: those that are large share what does alike. */
static pod_status check_room(const pod_exec_sim *e, int n_classes, int n_cores)
{
    for (int32_t c = 0; c < e->program->n_colls; c++) {
        const pod_coll_args args = args_of(e, c);
        pod_sim_need need;
        POD_TRY(pod_sim_find_need(&e->program->mesh, e->program->coll[c].algo, &args, n_classes,
                                  n_cores, &need));
        POD_TRY(pod_room_check(need.what, need.bytes));
    }
    return POD_OK;
}

static pod_status fill(pod_exec_sim *e, const pod_exec_sim_options *options)
{
    const bool one_of_each = !options->slow && options->n_failed == 0 &&
                             options->noise.share == 0 && !options->every_core;
    pod_sim_classes classes;
    POD_TRY(find_classes(e, &options->net, &classes));
    if (options->checks_room)
        POD_TRY(check_room(e, classes.n_classes / classes.n_twins,
                           one_of_each ? classes.n_classes : pod_mesh_size(&e->program->mesh)));
    POD_TRY(pod_sim_create_alike(&options->net, &classes, one_of_each, &e->sim));
    if (options->n_failed > 0)
        POD_TRY(pod_sim_fail_links(e->sim, options->failed, options->n_failed));
    e->n_cores = pod_sim_n_cores(e->sim);
    POD_TRY(take_slow(e, options->slow));
    POD_TRY(take_memory(e));
    return add_collectives(e, options->overtakes);
}

pod_status pod_exec_sim_open(const pod_program *p, const pod_exec_sim_options *options,
                             pod_exec_sim **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_exec_sim *e = POD_ARENA_NEW(arena, pod_exec_sim, 1);
    if (!e) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    *e = (pod_exec_sim){.program = p,
                        .time = options->time,
                        .noise = options->noise,
                        .arena = arena,
                        .n_turns = pod_program_n_turns(p)};
    pod_status status = fill(e, options);
    if (status != POD_OK) {
        pod_exec_sim_close(e);
        return status;
    }
    *out = e;
    return POD_OK;
}

void pod_exec_sim_close(pod_exec_sim *e)
{
    if (!e) return;
    pod_sim_destroy(e->sim);
    pod_arena_destroy(e->arena);
}

/* ---- running --------------------------------------------------------------------------------- */

static in_flight *flight_of(const pod_exec_sim *e, const pod_instr *instr, pod_turn turn)
{
    const bool is_repeated = pod_program_times(e->program, turn.instr) > 1;
    return &e->flight[e->first_flight[instr->ticket] + (is_repeated ? turn.micro_step : 0)];
}

static void record(pod_exec_sim *e, int c, pod_lane lane, int32_t i, pod_time begin, pod_time end)
{
    for (int w = 0; w < e->n_watches; w++)
        if (pod_sim_core_of(e->sim, e->watch[w].core) == c)
            pod_timeline_add(e->watch[w].tl, lane, e->program->instr[i].phase, i, begin, end);
}

/* Returns the time of the instruction on this core, in this instance. */
static double run_s(const pod_exec_sim *e, int c, int32_t instr)
{
    double seconds = e->time[instr].seconds;
    if (e->slow) seconds *= e->slow[c];
    if (e->noise.share > 0) seconds *= pod_noise_factor(&e->noise, c, e->step, e->core[c].turn);
    return seconds;
}

/* Until the core waits for what is not known to be done, or its step ends. */
static pod_status advance(pod_exec_sim *e, int c)
{
    core *own = &e->core[c];
    for (; own->turn < e->n_turns; own->turn++) {
        const pod_turn turn = pod_program_turn(e->program, own->turn);
        const pod_instr *instr = &e->program->instr[turn.instr];
        const pod_time begin = own->now;
        if (instr->kind == POD_I_RUN) {
            own->now = pod_ps_add(own->now, pod_ps(run_s(e, c, turn.instr)));
        } else if (instr->kind == POD_I_COLL_START) {
            in_flight *f = flight_of(e, instr, turn);
            f->started[c] = own->now;
            POD_TRY(pod_sim_start(e->sim, f->coll, c, own->now));
        } else if (instr->kind == POD_I_COLL_WAIT) {
            const in_flight *f = flight_of(e, instr, turn);
            own->waits = f->done[c] == NOT_DONE;
            if (own->waits) return POD_OK;
            if (f->done[c] > own->now) own->now = f->done[c];
            record(e, c, POD_LANE_COMM, turn.instr, f->started[c], f->done[c]);
        }
        e->phase[(int64_t)c * POD_N_PHASES + instr->phase] += own->now - begin;
        record(e, c, POD_LANE_COMPUTE, turn.instr, begin, own->now);
    }
    own->ended = own->now;
    return POD_OK;
}

static int64_t n_waiting(const pod_exec_sim *e)
{
    int64_t n = 0;
    for (int c = 0; c < e->n_cores; c++) n += e->core[c].waits;
    return n;
}

static pod_status check_done(const pod_exec_sim *e)
{
    for (int32_t i = 0; i < e->n_flights; i++)
        POD_TRY(pod_sim_check_done(e->sim, e->flight[i].coll));
    const int64_t n = n_waiting(e);
    POD_ASSERT(n == 0, "%" PRId64 " cores wait for collectives that nobody started", n);
    return POD_OK;
}

pod_status pod_exec_sim_step(pod_exec_sim *e, int64_t step, const pod_exec_sim_watch watch[],
                             int n_watches)
{
    e->watch = watch;
    e->n_watches = n_watches;
    e->step = step;
    for (int32_t i = 0; i < e->n_flights; i++)
        for (int c = 0; c < e->n_cores; c++) e->flight[i].done[c] = NOT_DONE;
    for (int w = 0; w < n_watches; w++) pod_timeline_begin_step(watch[w].tl, step, e->now);
    for (int c = 0; c < e->n_cores; c++) {
        e->core[c] = (core){.now = e->now};
        POD_TRY(advance(e, c));
    }
    pod_sim_done done;
    while (pod_sim_next(e->sim, &done)) {
        e->flight[pod_sim_coll_number(done.coll)].done[done.rank] = done.at_ps;
        if (e->core[done.rank].waits) POD_TRY(advance(e, done.rank));
    }
    POD_TRY(check_done(e));
    for (int c = 0; c < e->n_cores; c++)
        if (e->core[c].ended > e->now) e->now = e->core[c].ended;
    if (e->now >= POD_PS_NEVER)
        return pod_fail(POD_E_INVALID,
                        "simulated step %" PRId64 " ends beyond the 53 days that the clock counts",
                        step);
    for (int w = 0; w < n_watches; w++)
        pod_timeline_end_step(watch[w].tl, e->core[pod_sim_core_of(e->sim, watch[w].core)].ended);
    return POD_OK;
}

pod_time pod_exec_sim_now(const pod_exec_sim *e) { return e->now; }

pod_time pod_exec_sim_phase(const pod_exec_sim *e, int c, pod_phase phase)
{
    return e->phase[(int64_t)pod_sim_core_of(e->sim, c) * POD_N_PHASES + phase];
}

int pod_exec_sim_n_simulated(const pod_exec_sim *e) { return e->n_cores; }

pod_sim_use pod_exec_sim_used(const pod_exec_sim *e) { return pod_sim_used(e->sim); }

double pod_exec_sim_link_busy_s(const pod_exec_sim *e, int link)
{
    return pod_sim_link_busy_s(e->sim, link);
}

double pod_exec_sim_link_bytes(const pod_exec_sim *e, int link)
{
    return pod_sim_link_bytes(e->sim, link);
}
