#include "runtime/trace/flows.h"

typedef struct arrival {  /* of one part at the collective that is looked at */
    int64_t flight, wait; /* events */
    int meets;            /* the first rank of its group */
} arrival;

typedef struct search {
    const pod_program *program;
    const pod_trace_part *part;
    int n_parts;
    pod_time least;
    arrival *at; /* by part */
    pod_flow *flow;
    int n_flows;
} search;

static int64_t n_flights(const pod_trace_part *p)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++) n += p->event[i].lane == POD_LANE_COMM;
    return n;
}

/* The first in flight from event `from` on; p->n where there is none. */
static int64_t next_flight(const pod_trace_part *p, int64_t from)
{
    int64_t i = from;
    while (i < p->n && p->event[i].lane != POD_LANE_COMM) i++;
    return i;
}

/* The event beside it; -1 where a timeline had no room for it. */
static int64_t wait_of(const pod_trace_part *p, int64_t flight)
{
    for (int64_t i = flight - 1; i <= flight + 1; i += 2) {
        if (i < 0 || i >= p->n) continue;
        const pod_event *e = &p->event[i];
        if (e->lane == POD_LANE_COMPUTE && e->instr == p->event[flight].instr) return i;
    }
    return -1;
}

static int first_of_group(const pod_program *p, int32_t instr, int rank)
{
    const pod_program_coll *c = &p->coll[p->instr[instr].ticket];
    return pod_group_member(&p->mesh, &c->args.group, rank, 0);
}

/* Each part moves on to its next collective; false: not all have one more, the same. */
static bool arrive(search *s)
{
    for (int i = 0; i < s->n_parts; i++) {
        const pod_trace_part *p = &s->part[i];
        arrival *own = &s->at[i];
        own->flight = next_flight(p, own->flight + 1);
        if (own->flight == p->n) return false;
        const int32_t instr = p->event[own->flight].instr;
        if (instr != s->part[0].event[s->at[0].flight].instr) return false;
        own->wait = wait_of(p, own->flight);
        own->meets = first_of_group(s->program, instr, p->rank);
    }
    return true;
}

static pod_time came(const search *s, int i) { return s->part[i].event[s->at[i].flight].begin; }

static bool is_last(const search *s, int i)
{
    for (int j = 0; j < s->n_parts; j++)
        if (s->at[j].meets == s->at[i].meets &&
            (came(s, j) > came(s, i) || (came(s, j) == came(s, i) && j < i)))
            return false;
    return true;
}

static void add_waiters(search *s, int last, int number)
{
    const pod_time at = came(s, last);
    for (int i = 0; i < s->n_parts; i++) {
        const arrival *a = &s->at[i];
        if (i == last || a->meets != s->at[last].meets || a->wait < 0) continue;
        const pod_event *wait = &s->part[i].event[a->wait];
        if (wait->end <= at || at - wait->begin < s->least) continue;
        s->flow[s->n_flows++] = (pod_flow){.from = last,
                                           .to = i,
                                           .flight = s->at[last].flight,
                                           .wait = a->wait,
                                           .waited = at - wait->begin,
                                           .number = number};
    }
}

pod_status pod_flows_find(pod_arena *a, const pod_program *p, const pod_trace_part part[],
                          int n_parts, pod_time least, const pod_flow **out, int *n)
{
    const int64_t n_colls = n_parts > 1 ? n_flights(&part[0]) : 0;
    search s = {.program = p,
                .part = part,
                .n_parts = n_parts,
                .least = least,
                .at = POD_ARENA_NEW(a, arrival, n_parts),
                .flow = POD_ARENA_NEW(a, pod_flow, n_colls * n_parts)};
    if (!s.at || !s.flow) return POD_E_NOMEM;
    for (int i = 0; i < n_parts; i++) s.at[i].flight = -1;
    for (int k = 0; k < n_colls && arrive(&s); k++)
        for (int i = 0; i < n_parts; i++)
            if (is_last(&s, i)) add_waiters(&s, i, k + 1);
    *out = s.flow;
    *n = s.n_flows;
    return POD_OK;
}
