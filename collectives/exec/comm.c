#include "collectives/exec/comm.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/exec/mpi/comm_mpi.h"
#include "collectives/exec/shm/segment.h"
#include "collectives/exec/watch/mailbox.h"
#include "collectives/exec/watch/roster.h"
#include "collectives/exec/watch/watch.h"
#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"

enum {
    CHUNK_BYTES = 1 << 16,
    MAX_MESSAGE_BYTES = 1 << 30,
    GATHER_PART_BYTES = 1 << 22,
    VERSION_BYTES = 64,
    FIRST_PATIENCE_S = 30,
    TEXT_BYTES = 1024
};

struct pod_comm {
    MPI_Comm world; /* ours alone: no message of a caller's library can meet one of these */
    MPI_Comm node;
    int rank, size;
    int *leader;    /* (size) the lowest rank of each one's node */
    int *node_rank; /* (size) its rank there */
    pod__mailbox *mailbox;
    pod__roster *roster;
    pod__segment *segment;
    double patience_s, watchdog_s;
    int64_t step;
    uint64_t n_calls; /* of the functions that all ranks call */
    bool ends_mpi, is_alone;
    int next_tag, n_tag_holders, max_tag;
    char version[VERSION_BYTES];
};

/* ---- waiting for MPI ----------------------------------------------------------------------- */

void pod__comm_count_call(pod_comm *c) { c->n_calls++; }

static bool is_complete(void *request)
{
    int is_done;
    MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
    return is_done;
}

static pod__watch watch_of(pod_comm *c, const char *what)
{
    return (pod__watch){.comm = c, .what = what, .number = c->n_calls};
}

void pod__comm_complete(pod_comm *c, MPI_Request *request, const char *what)
{
    pod__watch w = watch_of(c, what);
    pod__watch_until(&w, is_complete, request);
}

void pod__comm_complete_napping(pod_comm *c, MPI_Request *request, const char *what)
{
    pod__watch w = watch_of(c, what);
    w.naps = true;
    pod__watch_until(&w, is_complete, request);
}

static void wait_for_all(pod_comm *c, const char *what)
{
    MPI_Request all_are_here;
    MPI_Ibarrier(c->world, &all_are_here);
    pod__comm_complete(c, &all_are_here, what);
}

static void spread(pod_comm *c, void *data, int count, MPI_Datatype type, int root,
                   const char *what)
{
    MPI_Request spread;
    MPI_Ibcast(data, count, type, root, c->world, &spread);
    pod__comm_complete(c, &spread, what);
}

/* In place. */
static void reduce_to_each(pod_comm *c, void *values, int count, MPI_Datatype type, MPI_Op op,
                           const char *what)
{
    MPI_Request reduced;
    MPI_Iallreduce(MPI_IN_PLACE, values, count, type, op, c->world, &reduced);
    pod__comm_complete(c, &reduced, what);
}

/* ---- start and end ------------------------------------------------------------------------- */

static void end_all(int exit_code)
{
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

static void end_all_failed(void) { end_all(1); }

/* "Open MPI v4.1.4, package: ...": up to the first comma, or the line. */
static void note_version(pod_comm *c)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = '\0';
    snprintf(c->version, sizeof c->version, "%.*s", VERSION_BYTES - 1, text);
}

/* Ranks of a node follow one another there as in the world. */
static void find_nodes(pod_comm *c)
{
    int leader = c->rank;
    MPI_Comm_set_errhandler(c->node, MPI_ERRORS_RETURN);
    MPI_Bcast(&leader, 1, MPI_INT, 0, c->node);
    int node_rank;
    MPI_Comm_rank(c->node, &node_rank);
    MPI_Allgather(&leader, 1, MPI_INT, c->leader, 1, MPI_INT, c->world);
    MPI_Allgather(&node_rank, 1, MPI_INT, c->node_rank, 1, MPI_INT, c->world);
}

void pod_comm_split_nodes(pod_comm *c, int n)
{
    POD_ASSERT(n > 0 && !c->mailbox, "nodes of %d ranks, with or after runs", n);
    MPI_Comm whole = c->node;
    MPI_Comm_split(whole, c->rank / n, c->rank, &c->node);
    MPI_Comm_free(&whole);
    find_nodes(c);
}

static int find_max_tag(MPI_Comm world)
{
    int *max_tag;
    int is_set;
    MPI_Comm_get_attr(world, MPI_TAG_UB, (void *)&max_tag, &is_set);
    return is_set ? *max_tag : 32767; /* what the standard promises */
}

static pod_status open_over(MPI_Comm ranks, bool ends_mpi, pod_comm **out)
{
    int size;
    MPI_Comm_size(ranks, &size);
    pod_comm *c = calloc(1, sizeof *c);
    int *leader = calloc(2 * (size_t)size, sizeof *leader);
    int have_memory = c && leader;
    MPI_Allreduce(MPI_IN_PLACE, &have_memory, 1, MPI_INT, MPI_LAND, ranks);
    if (!c || !leader || !have_memory) {
        free(leader);
        free(c);
        if (ends_mpi) MPI_Finalize();
        return pod_fail(POD_E_NOMEM, "comm: no memory for a table of %d ranks", size);
    }
    *c = (pod_comm){.size = size,
                    .leader = leader,
                    .node_rank = leader + size,
                    .patience_s = FIRST_PATIENCE_S,
                    .ends_mpi = ends_mpi};
    MPI_Comm_dup(ranks, &c->world);
    MPI_Comm_rank(c->world, &c->rank);
    MPI_Comm_split_type(c->world, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &c->node);
    find_nodes(c);
    c->max_tag = find_max_tag(c->world);
    note_version(c);
    *out = c;
    return POD_OK;
}

pod_status pod_comm_open(pod_comm **out)
{
    int is_running;
    MPI_Initialized(&is_running);
    if (!is_running) {
        int provided;
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
        if (provided < MPI_THREAD_FUNNELED) {
            MPI_Finalize();
            return pod_fail(POD_E_COMM, "MPI gives thread level %d, need %d (funneled)", provided,
                            MPI_THREAD_FUNNELED);
        }
    }
    POD_TRY(open_over(MPI_COMM_WORLD, !is_running, out));
    pod_assert_install(end_all_failed, (*out)->size > 1 ? (*out)->rank : -1);
    return POD_OK;
}

pod_status pod_comm_open_alone(pod_comm **out)
{
    POD_TRY(open_over(MPI_COMM_SELF, false, out));
    (*out)->is_alone = true;
    return POD_OK;
}

void pod_comm_close(pod_comm *c)
{
    if (!c) return;
    pod__comm_count_call(c);
    wait_for_all(c, "the end");
    if (!c->is_alone) pod_assert_install(abort, -1);
    pod__mailbox_close(c->mailbox);
    pod__segment_release(c->segment);
    pod__roster_destroy(c->roster);
    MPI_Comm_free(&c->node);
    MPI_Comm_free(&c->world);
    if (c->ends_mpi) MPI_Finalize();
    free(c->leader);
    free(c);
}

void pod_comm_abort(pod_comm *c, int exit_code)
{
    (void)c;
    end_all(exit_code);
    abort();
}

int pod_comm_rank(const pod_comm *c) { return c->rank; }
int pod_comm_size(const pod_comm *c) { return c->size; }
const char *pod_comm_version(const pod_comm *c) { return c->version; }
MPI_Comm pod__comm_world(const pod_comm *c) { return c->world; }
MPI_Comm pod__comm_node(const pod_comm *c) { return c->node; }

bool pod_comm_shares_node(const pod_comm *c, int rank)
{
    return c->leader[rank] == c->leader[c->rank];
}

int pod__comm_node_rank(const pod_comm *c, int rank)
{
    return pod_comm_shares_node(c, rank) ? c->node_rank[rank] : -1;
}

int pod_comm_node_size(const pod_comm *c)
{
    int n = 0;
    while (n < c->size && c->leader[n] == 0) n++;
    if (c->size % n != 0) return 1;
    for (int r = 0; r < c->size; r++)
        if (c->leader[r] != r - r % n) return 1;
    return n;
}

void pod_comm_set_patience(pod_comm *c, double seconds) { c->patience_s = seconds; }
double pod__comm_patience_s(const pod_comm *c) { return c->patience_s; }

double pod__comm_watchdog_s(const pod_comm *c) { return c->watchdog_s; }

pod_status pod__comm_open_mailbox(pod_comm *c)
{
    if (c->mailbox) return POD_OK;
    POD_TRY(pod__mailbox_open(c, &c->mailbox));
    pod__mailbox_show_step(c->mailbox, c->step);
    return POD_OK;
}

pod__mailbox *pod__comm_mailbox(const pod_comm *c) { return c->mailbox; }

pod__segment **pod__comm_segment(pod_comm *c) { return &c->segment; }

static bool has_other_nodes(const pod_comm *c)
{
    bool has = false;
    for (int r = 0; r < c->size; r++) has = has || !pod_comm_shares_node(c, r);
    return has;
}

pod_status pod_comm_set_watchdog(pod_comm *c, double seconds)
{
    POD_TRY(pod__comm_open_mailbox(c));
    pod_status status = POD_OK;
    if (!c->roster && has_other_nodes(c)) status = pod__roster_create(c, &c->roster);
    POD_TRY(pod_comm_agree(c, status));
    pod__watch_install();
    c->watchdog_s = seconds;
    return POD_OK;
}

pod__roster *pod__comm_roster(pod_comm *c) { return c->roster; }
int pod__comm_roster_tag(const pod_comm *c) { return c->max_tag; }

void pod_comm_set_step(pod_comm *c, int64_t step)
{
    c->step = step;
    if (c->mailbox) pod__mailbox_show_step(c->mailbox, step);
}

int64_t pod__comm_step(const pod_comm *c) { return c->step; }

/* ---- agreement ----------------------------------------------------------------------------- */

pod_status pod_comm_agree(pod_comm *c, pod_status mine)
{
    static const char what[] = "agreement";
    struct {
        int status, rank;
    } worst = {(int)mine, c->rank};
    pod__comm_count_call(c);
    reduce_to_each(c, &worst, 1, MPI_2INT, MPI_MINLOC, what);
    if (worst.status == (int)POD_OK) return POD_OK;

    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s", pod_error_text());
    spread(c, text, sizeof text, MPI_CHAR, worst.rank, what);
    int all_alike = worst.status == (int)mine && strcmp(text, pod_error_text()) == 0;
    reduce_to_each(c, &all_alike, 1, MPI_INT, MPI_LAND, what);
    if (all_alike) return mine;
    return pod_fail((pod_status)worst.status, "rank %d: %s", worst.rank, text);
}

pod_status pod_comm_same(pod_comm *c, const char *what, const void *data, size_t bytes)
{
    unsigned long long root_bytes = bytes;
    pod__comm_count_call(c);
    spread(c, &root_bytes, 1, MPI_UNSIGNED_LONG_LONG, 0, what);
    bool differs = root_bytes != bytes;
    unsigned char chunk[CHUNK_BYTES];
    const unsigned char *own = data;
    for (size_t at = 0; at < root_bytes; at += CHUNK_BYTES) {
        size_t n = root_bytes - at < CHUNK_BYTES ? (size_t)root_bytes - at : CHUNK_BYTES;
        if (c->rank == 0) memcpy(chunk, own + at, n);
        spread(c, chunk, (int)n, MPI_BYTE, 0, what);
        differs = differs || memcmp(chunk, own + at, n) != 0;
    }
    int first = differs ? c->rank : c->size;
    reduce_to_each(c, &first, 1, MPI_INT, MPI_MIN, what);
    if (first == c->size) return POD_OK;
    return pod_fail(POD_E_MISMATCH, "%s: rank %d differs from rank 0", what, first);
}

pod_status pod__comm_take_tags(pod_comm *c, int n, int *first)
{
    /* Ranks that hold none start anew; the others keep them from it. */
    int need[2] = {c->n_tag_holders ? c->next_tag : 0, n};
    pod__comm_count_call(c);
    reduce_to_each(c, need, 2, MPI_INT, MPI_MAX, "agreement on tags");
    if (need[1] > c->max_tag - need[0])
        return pod_fail(POD_E_UNSUPPORTED, "collective: needs %d tags from %d on, MPI has %d",
                        need[1], need[0], c->max_tag);
    c->next_tag = need[0] + need[1];
    c->n_tag_holders++;
    *first = need[0];
    return POD_OK;
}

void pod__comm_give_tags(pod_comm *c) { c->n_tag_holders--; }

/* ---- totals -------------------------------------------------------------------------------- */

void pod_comm_barrier(pod_comm *c)
{
    pod__comm_count_call(c);
    wait_for_all(c, "barrier");
}

void pod_comm_barrier_idle(pod_comm *c)
{
    pod__comm_count_call(c);
    pod__watch w = watch_of(c, "idle barrier");
    w.is_idle = true;
    MPI_Request all_are_here;
    MPI_Ibarrier(c->world, &all_are_here);
    pod__watch_until(&w, is_complete, &all_are_here);
}

void pod_comm_broadcast(pod_comm *c, int root, void *data, size_t bytes)
{
    char *at = data;
    pod__comm_count_call(c);
    while (bytes > 0) {
        size_t n = bytes < MAX_MESSAGE_BYTES ? bytes : MAX_MESSAGE_BYTES;
        spread(c, at, (int)n, MPI_BYTE, root, "broadcast");
        at += n;
        bytes -= n;
    }
}

/* n bytes of every rank, on rank 0 `stride` bytes apart. */
static void gather_part(pod_comm *c, const void *mine, size_t n, size_t stride, void *all)
{
    MPI_Datatype part, strided;
    MPI_Type_contiguous((int)n, MPI_BYTE, &part);
    MPI_Type_create_resized(part, 0, (MPI_Aint)stride, &strided);
    MPI_Type_commit(&strided);
    MPI_Request gathered;
    MPI_Igather(mine, (int)n, MPI_BYTE, all, 1, strided, 0, c->world, &gathered);
    pod__comm_complete(c, &gathered, "gather");
    MPI_Type_free(&strided);
    MPI_Type_free(&part);
}

void pod_comm_gather(pod_comm *c, const void *mine, size_t bytes, void *all)
{
    const char *from = mine;
    char *to = all;
    pod__comm_count_call(c);
    for (size_t at = 0; at < bytes; at += GATHER_PART_BYTES) {
        const size_t left = bytes - at, n = left < GATHER_PART_BYTES ? left : GATHER_PART_BYTES;
        gather_part(c, from + at, n, bytes, to ? to + at : NULL);
    }
}

/* Reduced on one rank and sent to all, so that all have the same bits; a reduction to all need not
 * give that. */
static void reduce_to_all(pod_comm *c, double *values, int n, MPI_Op op, const char *what)
{
    const bool is_root = c->rank == 0;
    pod__comm_count_call(c);
    MPI_Request reduced;
    MPI_Ireduce(is_root ? MPI_IN_PLACE : values, is_root ? values : NULL, n, MPI_DOUBLE, op, 0,
                c->world, &reduced);
    pod__comm_complete(c, &reduced, what);
    spread(c, values, n, MPI_DOUBLE, 0, what);
}

void pod_comm_sum(pod_comm *c, double *values, int n)
{
    reduce_to_all(c, values, n, MPI_SUM, "sum");
}

void pod_comm_max(pod_comm *c, double *values, int n)
{
    reduce_to_all(c, values, n, MPI_MAX, "maximum");
}

/* ---- cores --------------------------------------------------------------------------------- */

static void share(pod_comm *c, MPI_Comm ranks, void *data, int n, MPI_Datatype type, MPI_Op op)
{
    MPI_Request shared;
    MPI_Iallreduce(MPI_IN_PLACE, data, n, type, op, ranks, &shared);
    pod__comm_complete(c, &shared, "cores");
}

pod_cores pod_comm_cores(pod_comm *c)
{
    enum { N_WORDS = sizeof(pod_cpu_set) / sizeof(uint64_t) };
    pod_cpu_set cpus;
    int n_ranks;
    pod__comm_count_call(c);
    pod_cpu_allowed(&cpus);
    share(c, c->node, cpus.bits, N_WORDS, MPI_UINT64_T, MPI_BOR);
    MPI_Comm_size(c->node, &n_ranks);
    const int here = pod_cpu_set_cores(&cpus);
    int sums[] = {pod_cpu_physical_cores(), n_ranks < here ? n_ranks : here};
    if (c->node_rank[c->rank] > 0) sums[0] = sums[1] = 0; /* the first of a host counts it */
    share(c, c->world, sums, 2, MPI_INT, MPI_SUM);
    return (pod_cores){.physical = sums[0], .here = here, .at_work = sums[1]};
}
