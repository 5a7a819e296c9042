/* Messages over MPI's point-to-point calls.
 *
 * Memory for what is received before it is added, and room for every request, are there from
 * creation. Long messages travel in parts with one tag, which MPI keeps in order, and a part is
 * added as soon as it is here. */
#include <string.h>

#include "collectives/exec/add_received.h"
#include "collectives/exec/run.h"

enum { PART_ELEMENTS = 1 << 22 }; /* of a message; its bytes are far below what an int counts */

struct pod__mpi_part { /* of a message in flight */
    int32_t step;
    int64_t first; /* element of the message */
    int count;
};

/* ---- running ------------------------------------------------------------------------------- */

static void post_part(pod_coll_run *r, pod__mpi_part p)
{
    pod__over_mpi *m = &r->mpi;
    const pod_step *s = &r->steps[p.step];
    const size_t element_bytes = pod_dtype_bytes(r->type);
    const size_t skip = (size_t)p.first * element_bytes;
    const int bytes = p.count * (int)element_bytes, tag = m->first_tag + s->tag;
    MPI_Comm world = pod__comm_world(r->comm);
    MPI_Request *request = &m->request[m->n_in_flight];
    if (s->kind == POD_STEP_SEND) {
        const char *from = pod__run_place(r, s->src);
        MPI_Isend(from + skip, bytes, MPI_BYTE, s->peer, tag, world, request);
    } else {
        char *to = s->kind == POD_STEP_RECV ? pod__run_place(r, s->dst) : m->received[p.step];
        MPI_Irecv(to + skip, bytes, MPI_BYTE, s->peer, tag, world, request);
    }
    m->part[m->n_in_flight++] = p;
    m->n_parts[p.step]++;
}

void pod__mpi_begin(pod_coll_run *r, int32_t step)
{
    int64_t count = r->steps[step].count;
    for (int64_t first = 0; first < count; first += PART_ELEMENTS) {
        int64_t left = count - first;
        int n = left < PART_ELEMENTS ? (int)left : PART_ELEMENTS;
        post_part(r, (pod__mpi_part){step, first, n});
    }
}

static void add_part(const pod_coll_run *r, const pod__mpi_part *p)
{
    const pod_step *s = &r->steps[p->step];
    const size_t first = (size_t)p->first;
    const char *own = pod__run_place(r, s->src), *received = r->mpi.received[p->step];
    char *dst = pod__run_place(r, s->dst);
    pod__add_received(
        r->combine, r->op, s, r->type, p->count, received + first * pod_dtype_bytes(r->type),
        own + first * r->element_bytes[s->src.buf], dst + first * r->element_bytes[s->dst.buf]);
}

static void finish_part(pod_coll_run *r, const pod__mpi_part *p)
{
    if (r->steps[p->step].kind == POD_STEP_RECV_REDUCE) add_part(r, p);
    if (--r->mpi.n_parts[p->step] == 0) pod__run_finish(r, p->step);
}

/* Closes the gaps that finished messages left in the list. */
static void close_gaps(pod__over_mpi *m)
{
    int n = 0;
    for (int k = 0; k < m->n_in_flight; k++) {
        if (m->request[k] == MPI_REQUEST_NULL) continue;
        m->request[n] = m->request[k];
        m->part[n++] = m->part[k];
    }
    m->n_in_flight = n;
}

void pod__mpi_poll(pod_coll_run *r)
{
    pod__over_mpi *m = &r->mpi;
    int n_completed = 1;
    while (m->n_in_flight > 0 && n_completed > 0) {
        MPI_Testsome(m->n_in_flight, m->request, &n_completed, m->completed, MPI_STATUSES_IGNORE);
        for (int k = 0; k < n_completed; k++) finish_part(r, &m->part[m->completed[k]]);
        if (n_completed > 0) close_gaps(m);
        pod__run_begin_ready(r);
    }
}

int pod__mpi_awaited(const pod_coll_run *r, int rank[], int n, int max)
{
    for (int k = 0; k < r->mpi.n_in_flight; k++)
        n = pod__note_rank(rank, n, max, r->steps[r->mpi.part[k].step].peer);
    return n;
}

/* ---- preparing ----------------------------------------------------------------------------- */

static pod_status make_state(pod_coll_run *r)
{
    pod__over_mpi *m = &r->mpi;
    int64_t n_parts = 0;
    for (int32_t i = 0; i < r->n_steps; i++)
        if (r->carrier[i] == POD__BY_MPI)
            n_parts += (r->steps[i].count + PART_ELEMENTS - 1) / PART_ELEMENTS;
    m->n_parts = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    m->received = POD_ARENA_NEW(r->arena, char *, r->n_steps);
    m->request = POD_ARENA_NEW(r->arena, MPI_Request, n_parts);
    m->part = POD_ARENA_NEW(r->arena, pod__mpi_part, n_parts);
    m->completed = POD_ARENA_NEW(r->arena, int, n_parts);
    bool have_all = m->n_parts && m->received && m->request && m->part && m->completed;
    return have_all ? POD_OK : POD_E_NOMEM;
}

static bool has_place(const pod_coll_run *r, int32_t i)
{
    return r->steps[i].kind == POD_STEP_RECV_REDUCE && r->carrier[i] == POD__BY_MPI;
}

/* is_before[j]: step i comes after step j. */
static void mark_before(const pod_coll_run *r, int32_t i, bool *is_before)
{
    memset(is_before, false, (size_t)r->n_steps);
    is_before[i] = true;
    for (int32_t j = i; j >= 0; j--)
        for (int k = 0; is_before[j] && k < 2; k++)
            if (r->steps[j].after[k] != POD_NO_STEP) is_before[r->steps[j].after[k]] = true;
}

/* Steps that come after one another share a place to receive in: the memory stays small, and warm.
 * place[i] says which one; n_of_place[] how many elements it needs. */
static int32_t assign_places(const pod_coll_run *r, bool *is_before, int32_t *holder,
                             int32_t *place, int64_t *n_of_place)
{
    int32_t n_places = 0;
    for (int32_t i = 0; i < r->n_steps; i++) {
        if (!has_place(r, i)) continue;
        mark_before(r, i, is_before);
        int32_t p = 0;
        while (p < n_places && !is_before[holder[p]]) p++;
        if (p == n_places) n_of_place[n_places++] = 0;
        if (r->steps[i].count > n_of_place[p]) n_of_place[p] = r->steps[i].count;
        holder[p] = i;
        place[i] = p;
    }
    return n_places;
}

static pod_status make_places(pod_coll_run *r)
{
    bool *is_before = POD_ARENA_NEW(r->arena, bool, r->n_steps);
    int32_t *holder = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    int32_t *place = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    int64_t *n_of_place = POD_ARENA_NEW(r->arena, int64_t, r->n_steps);
    char **memory = POD_ARENA_NEW(r->arena, char *, r->n_steps);
    if (!is_before || !holder || !place || !n_of_place || !memory) return POD_E_NOMEM;
    int32_t n_places = assign_places(r, is_before, holder, place, n_of_place);
    for (int32_t p = 0; p < n_places; p++) {
        memory[p] = pod_arena_get_array(r->arena, POD__CACHE_LINE, pod_dtype_bytes(r->type),
                                        (size_t)n_of_place[p]);
        if (!memory[p]) return POD_E_NOMEM;
    }
    for (int32_t i = 0; i < r->n_steps; i++)
        if (has_place(r, i)) r->mpi.received[i] = memory[place[i]];
    return POD_OK;
}

pod_status pod__mpi_prepare(pod_coll_run *r)
{
    POD_TRY(make_state(r));
    return make_places(r);
}

pod_status pod__mpi_connect(pod_coll_run *r, int n_tags)
{
    bool is_used = false;
    for (int32_t i = 0; i < r->n_steps; i++) is_used = is_used || r->carrier[i] == POD__BY_MPI;
    POD_TRY(pod__comm_take_tags(r->comm, is_used ? n_tags : 0, &r->mpi.first_tag));
    r->mpi.has_tags = true;
    return POD_OK;
}

void pod__mpi_close(pod_coll_run *r)
{
    if (r->mpi.has_tags) pod__comm_give_tags(r->comm);
}
