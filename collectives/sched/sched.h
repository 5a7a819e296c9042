/* One rank's part of one collective, as data: steps over spans of elements, with dependencies.
 *
 * An algorithm builds the schedule and decides everything: peers, order, spans. Executors run it
 * between processes, within one process, or on a virtual clock, and decide nothing. A step may
 * begin when the steps in its `after` are complete; steps without such an order may run in any
 * order or at the same time. A send is complete when its source may be written again, a receive
 * when its data are in place.
 *
 * Sender, receiver and tag identify a message, and a schedule uses each combination once: so
 * matching never depends on the order in which messages are sent.
 *
 * Ranks that share memory need no messages. Their schedules list them once (pod_sched_share), with
 * the same list in the same order on all of them. A SYNC orders their steps before and after it,
 * and between two SYNCs, REDUCE_FROM and REDUCE_ALL work on the memory of all these ranks at once.
 * A tag identifies a SYNC; tags of SYNCs and of messages are separate.
 *
 * Executors alternate between two SCRATCH buffers from run to run. So a run may end while other
 * ranks still read this rank's SCRATCH. The buffer is written again by the run after the next; a
 * rank begins that run only after it has synchronized, in the next run, with all other ranks, which
 * began the next run after they had read.
 *
 * "Sum" means the reduction by the schedule's operation (pod_sched_set_op); an average is a sum
 * that ends with a DIVIDE.
 *
 * The elements of MAIN and SCRATCH, and so of every message, have the type that is given to the
 * executor. SUM has float32 if that type is bf16 or f16, else the same type. A COPY or RECV_REDUCE
 * between the two types widens or rounds; a RECV_REDUCE rounds once, after the addition. A SEND
 * does not read SUM and a RECV does not write it, but a RECV_REDUCE may do both; REDUCE_FROM and
 * REDUCE_ALL do not use SUM. */
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
    POD_STEP_SEND,        /* sends src to peer */
    POD_STEP_RECV,        /* dst = received */
    POD_STEP_RECV_REDUCE, /* dst = src + received; src and dst are the same span or disjoint */
    POD_STEP_COPY,        /* dst = src; the spans do not overlap */
    POD_STEP_JOIN,        /* only waits */
    POD_STEP_SYNC,        /* complete when every sharing rank has begun its SYNC of this tag */
    POD_STEP_REDUCE_FROM, /* dst = sum of src over the sharing ranks, in their order */
    POD_STEP_REDUCE_ALL,  /* the same, written to dst on every sharing rank */
    POD_STEP_DIVIDE,      /* dst = src / peer, the same span */
    POD_N_STEP_KINDS
} pod_step_kind;

typedef enum pod_buf {
    POD_BUF_MAIN,    /* the caller's buffer: input, and output in its place */
    POD_BUF_SCRATCH, /* the executor's; undefined at the start */
    POD_BUF_SUM,     /* the executor's, for intermediate sums; undefined at the start */
    POD_N_BUFS
} pod_buf;

typedef struct pod_span {
    pod_buf buf;
    int64_t first; /* element */
} pod_span;

enum { POD_NO_STEP = -1 };

typedef struct pod_step {
    pod_step_kind kind;
    int peer, tag;    /* of a message: peer is a rank of the mesh. A SYNC has only a tag; in a
                         DIVIDE peer is the divisor */
    int32_t after[2]; /* earlier steps of this rank, or POD_NO_STEP */
    pod_span src, dst;
    int64_t count; /* elements; 0 for a JOIN */
} pod_step;

/* Returns whether the step is one half of a message. */
static inline bool pod_step_is_message(const pod_step *s)
{
    return s->kind == POD_STEP_SEND || s->kind == POD_STEP_RECV || s->kind == POD_STEP_RECV_REDUCE;
}

/* Returns whether the step needs shared memory. */
static inline bool pod_step_is_shared(const pod_step *s)
{
    return s->kind == POD_STEP_SYNC || s->kind == POD_STEP_REDUCE_FROM ||
           s->kind == POD_STEP_REDUCE_ALL;
}

typedef struct pod_sched pod_sched;

/* Creates an empty schedule for a buffer of `count` elements, in the arena. */
POD_MUST pod_status pod_sched_create(pod_arena *a, int64_t count, pod_sched **out);

/* Sets the operation that combines elements; initially POD_SUM. */
void pod_sched_set_op(pod_sched *s, pod_redop op);
pod_redop pod_sched_op(const pod_sched *s);

/* Adds a step and returns its number. Sticky: after a failure (no memory; an `after` that is not an
 * earlier step; a negative count, tag or span; a span beyond 2^63 - 1) it adds nothing and returns
 * POD_NO_STEP, and pod_sched_finish reports the first cause. */
int32_t pod_sched_add(pod_sched *s, pod_step step);

/* Likewise, by kind of step. A step of 0 elements is not added, on both sides of a message, which
 * know the count; the function then returns `after`. */
int32_t pod_sched_send(pod_sched *s, int peer, int tag, pod_span src, int64_t count, int32_t after);
int32_t pod_sched_recv(pod_sched *s, int peer, int tag, pod_span dst, int64_t count, int32_t after);
/* span += received. The step rounds its sum of bf16 or f16 unless span is in POD_BUF_SUM; for several
 * additions one after another, see pod__sum_receive (algo/tree/tree.h). */
int32_t pod_sched_recv_reduce(pod_sched *s, int peer, int tag, pod_span span, int64_t count,
                              int32_t after, int32_t after_too);
/* dst = src on this rank. */
int32_t pod_sched_copy(pod_sched *s, pod_span src, pod_span dst, int64_t count, int32_t after);
/* Always adds the step. */
int32_t pod_sched_sync(pod_sched *s, int tag, int32_t after);
/* dst = the sum of src over the sharing ranks. */
int32_t pod_sched_reduce_from(pod_sched *s, pod_span src, pod_span dst, int64_t count,
                              int32_t after);
/* span of all sharing ranks = its sum over them. */
int32_t pod_sched_reduce_all(pod_sched *s, pod_span span, int64_t count, int32_t after);
/* Returns a step that waits for both; adds none if one of them suffices. */
int32_t pod_sched_join(pod_sched *s, int32_t a, int32_t b);

/* Adds a step that divides a span by n after all steps so far. */
int32_t pod_sched_divide(pod_sched *s, pod_span span, int64_t count, int n);

/* Sets the ranks that share memory in this schedule, including this rank, in the order in which
 * they are summed. Call it at most once, before the first step that needs it. Copies the list.
 * Sticky, also for more than POD_COMBINE_MAX_INPUTS ranks. */
void pod_sched_share(pod_sched *s, const int rank[], int n);
const int *pod_sched_shared(const pod_sched *s, int *n); /* n is 0 if no memory is shared */

POD_MUST pod_status pod_sched_finish(const pod_sched *s); /* reports the first failure */

pod_arena *pod_sched_arena(const pod_sched *s); /* also for data of the algorithm while it builds */
const pod_step *pod_sched_steps(const pod_sched *s,
                                int32_t *n);         /* borrowed until a step is added */
int64_t pod_sched_count(const pod_sched *s);         /* elements of MAIN */
int64_t pod_sched_scratch_count(const pod_sched *s); /* elements of SCRATCH that it needs */
int64_t pod_sched_sum_count(const pod_sched *s);     /* elements of SUM that it needs */
/* Returns the element type of a buffer if that of MAIN is `t`. */
pod_dtype pod_sched_dtype(pod_buf buf, pod_dtype t);
int pod_sched_n_tags(const pod_sched *s); /* tags are below this */

/* Verifies the schedules of all ranks together; all[r] is rank r's. Fails with E_INVALID and one
 * line that names rank and step, for: a span outside its buffer, or in SUM where that is not
 * allowed; a message without its other half, sent twice, or with two counts; ranks with different
 * lists of sharing ranks; a SYNC that one of these ranks lacks; a deadlock; two steps, of one rank
 * or of two sharing ranks, that access the same element without an order between them, if one of
 * them writes; a step that accesses another rank's memory before that rank has begun, or its MAIN
 * when that rank may be done. Steps of two ranks are ordered by SYNCs and by messages between
 * sharing ranks.
 *
 * The model for deadlocks is rendezvous: a send and its receive complete together, when both may
 * begin. So a schedule that passes needs no buffered messages, and runs on any transport that
 * begins each step as soon as it may begin. Also fails with E_UNSUPPORTED for more than 2^30 - 1
 * steps in all, and with E_NOMEM. */
POD_MUST pod_status pod_sched_verify(const pod_sched *const all[], int n_ranks);

enum { POD_STEP_TEXT_BYTES = 160 };
const char *pod_step_kind_name(pod_step_kind kind); /* "recv_reduce" */
/* Writes "send main[0..4) to 1 tag 0 after 3" to `text`; returns `text`. */
const char *pod_step_print(const pod_step *step, char *text, size_t text_bytes);
/* Prints one rank's steps, a line each. */
void pod_sched_print(FILE *out, int rank, const pod_sched *s);

/* Draws which rank holds what: for each round a table of ranks by ranges of MAIN. A cell lists the
 * ranks whose contributions are in the sum ("0-2": of three ranks; "1x2": rank 1 twice), and a star
 * marks elements that the round wrote. Round k has the events that need k messages or sums over
 * shared memory, one after another. Spans must be within their buffers (pod_sched_verify). Fails
 * with E_UNSUPPORTED for more than 64 ranks or 1024 elements, and with E_INVALID for unmatched
 * messages or a deadlock, with the texts of pod_sched_verify. Prints nothing on failure. */
POD_MUST pod_status pod_sched_draw(FILE *out, const pod_sched *const all[], int n_ranks);

#endif
