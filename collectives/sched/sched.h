/* One rank's part of one collective, as data: steps over spans of elements, with dependencies.
 *
 * An algorithm builds it, and chooses everything there is to choose: peers, order, spans. Executors
 * carry it out between processes, in one, or on a virtual clock, and choose nothing. A step may
 * begin when the steps it names in `after` are complete; steps that are not so ordered may run in
 * any order or at once. A send is complete when its source may be written again, a receive when its
 * data is in place.
 *
 * A message is named by sender, receiver and tag, and a schedule uses each name once: matching
 * never depends on which of two messages was sent first.
 *
 * Ranks that can read and write each other's memory may do without messages. A schedule names them
 * once (pod_sched_share), the same list in the same order on all of them; a SYNC orders what they
 * do before it and after it, and between two of them REDUCE_FROM and REDUCE_ALL work on the memory
 * of all at once. A SYNC is named by its tag, apart from the tags of messages.
 *
 * SCRATCH of a run is not that of the run before: an executor has two and takes turns. So a run may
 * end while others still read this rank's SCRATCH. It is written again by the run after next, and
 * who begins that has met all others in the next one, which they began when they had read.
 *
 * A "sum" here is by the schedule's operation (pod_sched_set_op); an average is a sum that a DIVIDE
 * ends.
 *
 * The elements of MAIN and SCRATCH, and so of every message, have the type that the executor is
 * told. SUM holds float32 where that type is bf16 or f16, else the same type: a COPY or RECV_REDUCE whose
 * ends differ widens or rounds, the latter once, after it has added. No message leaves from or
 * arrives in SUM, and REDUCE_FROM and REDUCE_ALL do not touch it. */
#ifndef MINIPOD_COLLECTIVES_SCHED_SCHED_H
#define MINIPOD_COLLECTIVES_SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/arena.h"
#include "kernels/base/dtype.h"
#include "kernels/base/status.h"
#include "kernels/combine/combine.h"

typedef enum pod_step_kind {
    POD_STEP_SEND,        /* src to peer */
    POD_STEP_RECV,        /* dst = received */
    POD_STEP_RECV_REDUCE, /* dst = src + received; src and dst are the same span or disjoint */
    POD_STEP_COPY,        /* dst = src; the spans do not overlap */
    POD_STEP_JOIN,        /* only waits */
    POD_STEP_SYNC,        /* complete when every sharing rank has begun its own of this tag */
    POD_STEP_REDUCE_FROM, /* dst = sum of src over the sharing ranks, in their order */
    POD_STEP_REDUCE_ALL,  /* the same, stored to dst on every sharing rank */
    POD_STEP_DIVIDE,      /* dst = src / peer, the same span */
    POD_N_STEP_KINDS
} pod_step_kind;

typedef enum pod_buf {
    POD_BUF_MAIN,    /* the caller's one buffer: what goes in, and in its place what comes out */
    POD_BUF_SCRATCH, /* the executor's; its contents at the start are undefined */
    POD_BUF_SUM,     /* the executor's, for sums on the way; likewise undefined */
    POD_N_BUFS
} pod_buf;

typedef struct pod_span {
    pod_buf buf;
    int64_t first; /* element */
} pod_span;

enum { POD_NO_STEP = -1 };

typedef struct pod_step {
    pod_step_kind kind;
    int peer, tag;    /* of a message, where the peer is a rank of the mesh; of a SYNC the tag; of a
                         DIVIDE the peer is the divisor */
    int32_t after[2]; /* earlier steps of this rank, or POD_NO_STEP */
    pod_span src, dst;
    int64_t count; /* elements; 0 for a JOIN */
} pod_step;

/* One half of a message. */
static inline bool pod_step_is_message(const pod_step *s)
{
    return s->kind == POD_STEP_SEND || s->kind == POD_STEP_RECV || s->kind == POD_STEP_RECV_REDUCE;
}

/* Of ranks that share memory alone. */
static inline bool pod_step_is_shared(const pod_step *s)
{
    return s->kind == POD_STEP_SYNC || s->kind == POD_STEP_REDUCE_FROM ||
           s->kind == POD_STEP_REDUCE_ALL;
}

typedef struct pod_sched pod_sched;

/* An empty schedule over a buffer of `count` elements; it lives in the arena. */
POD_MUST pod_status pod_sched_create(pod_arena *a, int64_t count, pod_sched **out);

/* By which elements are combined; POD_SUM before it is said. */
void pod_sched_set_op(pod_sched *s, pod_redop op);
pod_redop pod_sched_op(const pod_sched *s);

/* Adds a step and answers its number. Sticky: after a failure (no memory, `after` that names no
 * earlier step, a negative count, tag or span, a span past 2^63 - 1) it adds nothing, answers
 * POD_NO_STEP, and pod_sched_finish reports the first cause. */
int32_t pod_sched_add(pod_sched *s, pod_step step);

/* The same in the words of an algorithm. A step of no elements is not added, on either side, since
 * both know the count: the answer is then `after`, what the step would have waited for. */
int32_t pod_sched_send(pod_sched *s, int peer, int tag, pod_span src, int64_t count, int32_t after);
int32_t pod_sched_recv(pod_sched *s, int peer, int tag, pod_span dst, int64_t count, int32_t after);
/* span += received. */
int32_t pod_sched_recv_reduce(pod_sched *s, int peer, int tag, pod_span span, int64_t count,
                              int32_t after, int32_t after_too);
/* dst = src on this rank. */
int32_t pod_sched_copy(pod_sched *s, pod_span src, pod_span dst, int64_t count, int32_t after);
/* Always added, whatever there is to do between. */
int32_t pod_sched_sync(pod_sched *s, int tag, int32_t after);
/* dst = the sum of src over the sharing ranks. */
int32_t pod_sched_reduce_from(pod_sched *s, pod_span src, pod_span dst, int64_t count,
                              int32_t after);
/* span of all sharing ranks = its sum over them. */
int32_t pod_sched_reduce_all(pod_sched *s, pod_span span, int64_t count, int32_t after);
/* What waits for both; no step is added where one of them is enough. */
int32_t pod_sched_join(pod_sched *s, int32_t a, int32_t b);

/* Divides a span by n when all steps so far are complete. */
int32_t pod_sched_divide(pod_sched *s, pod_span span, int64_t count, int n);

/* The ranks that share memory with this one in this schedule, itself among them, in the order in
 * which sums are made. At most once, before the first step that needs it. Copied; sticky, also for
 * more ranks than POD_COMBINE_MAX_INPUTS. */
void pod_sched_share(pod_sched *s, const int rank[], int n);
const int *pod_sched_shared(const pod_sched *s, int *n); /* n is 0 when nothing is shared */

POD_MUST pod_status pod_sched_finish(const pod_sched *s); /* the first failure of any add */

pod_arena *pod_sched_arena(const pod_sched *s); /* for notes an algorithm takes while it builds */
const pod_step *pod_sched_steps(const pod_sched *s,
                                int32_t *n);         /* borrowed while nothing is added */
int64_t pod_sched_count(const pod_sched *s);         /* elements of MAIN */
int64_t pod_sched_scratch_count(const pod_sched *s); /* elements of SCRATCH it needs */
int64_t pod_sched_sum_count(const pod_sched *s);     /* elements of SUM it needs */
/* What the elements of a buffer are when those of MAIN are `t`. */
pod_dtype pod_sched_dtype(pod_buf buf, pod_dtype t);
int pod_sched_n_tags(const pod_sched *s); /* tags are below this */

/* Finds fault in the parts of all ranks together; all[r] is rank r's. E_INVALID with one line that
 * names rank and step, for: a span outside its buffer, or in SUM where that may not be; a message
 * without its other half, sent twice, or of two counts; ranks that do not agree on who shares; a
 * SYNC to which one of them does not come; a deadlock; two steps that touch the same element, one
 * of them writing, without an order between them, whether of one rank or of two that share; a step
 * that touches another rank's memory before that rank has begun, or its MAIN when it may be done.
 * What orders steps of two ranks is SYNCs and messages among those that share.
 *
 * The deadlock model is rendezvous: a send and its receive complete together, when both may begin.
 * A schedule that passes needs no message buffered anywhere, so it runs under any transport that
 * begins each step when it may. E_NOMEM. */
POD_MUST pod_status pod_sched_verify(const pod_sched *const all[], int n_ranks);

enum { POD_STEP_TEXT_BYTES = 160 };
const char *pod_step_kind_name(pod_step_kind kind); /* "recv_reduce" */
/* "send main[0..4) to 1 tag 0 after 3", into `text`; returns `text`. */
const char *pod_step_print(const pod_step *step, char *text, size_t text_bytes);
/* One rank's steps, a line each. */
void pod_sched_print(FILE *out, int rank, const pod_sched *s);

/* Draws who holds what: for each round a table of ranks and stretches of MAIN, where a cell lists
 * the ranks whose contributions are in the sum ("0-2" is the sum of three; "1x2" counts one twice)
 * and a star marks what the round wrote. Round k is what takes k messages or sums over shared
 * memory, one after another, to come about. A step whose span lies outside its buffer must have
 * been ruled out by verify. E_UNSUPPORTED beyond 64 ranks or 1024 elements; E_INVALID for unmatched
 * messages or a deadlock, with the texts of pod_sched_verify. Nothing is printed on failure. */
POD_MUST pod_status pod_sched_draw(FILE *out, const pod_sched *const all[], int n_ranks);

#endif
