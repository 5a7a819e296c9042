/* The time of a host's instructions, under machine files made up so that it can be done by hand. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/cpu.h"
#include "runtime/exec/cost.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { N = 12, SIDE = 4, CHANNELS = 8, COUNT = N * SIDE * SIDE * CHANNELS };

static pod_machine *made_machine(void)
{
    pod_machine *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    snprintf(m->name, sizeof m->name, "made");
    snprintf(m->clock, sizeof m->clock, "wall");
    m->physical_cores = 4;
    m->peak_f32_gflop_per_s = m->peak_bf16_gflop_per_s = 100;
    m->copy_l2_gb_per_s = 60;
    m->copy_memory_gb_per_s = 10;
    m->instr_overhead_us = 0.5;
    m->tile_gb_per_s = 20;
    m->crowded = 1.2;
    m->crowded_memory = 1.6;
    /* 1 us for 1536 elements: 12 KiB of float32 read and written. */
    pod_op_time relu = {.op = "relu",
                        .impl = "ref",
                        .dtype = POD_F32,
                        .columns = {CHANNELS, CHANNELS},
                        .width = {SIDE, SIDE},
                        .flops = COUNT,
                        .bytes = 8 * COUNT,
                        .us = 1};
    POD_CHECK_OK(pod_op_times_add(&m->op_time, &relu));
    return m;
}

/* relu(relu(x) + x), its squares summed: `add` and `sum_sq` were never measured. */
static const pod_program *compile(pod_arena *a, int n_cores, size_t tile_bytes)
{
    static const int64_t image[] = {N, SIDE, SIDE, CHANNELS};
    const pod_target target = {.name = "reference", .cpu = POD_CPU_REFERENCE_ONLY};
    pod_compile_args args = {.mesh = {.n_dims = 1, .extent = {n_cores}},
                             .target = &target,
                             .tile_bytes = tile_bytes,
                             .node_size = n_cores,
                             .bucket_bytes = 1};
    pod_coll_rules *rules;
    pod_graph *g;
    const pod_program *p = NULL;
    POD_CHECK_OK(pod_coll_rules_parse(a, POD_COLL_RULES_DEFAULT, &rules));
    args.rules = rules;
    POD_CHECK_OK(pod_graph_create(a, &g));
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 4, image), 0);
    pod_value y = pod_relu(g, pod_add(g, pod_relu(g, x), x));
    pod_output(g, "y", pod_sum_sq(g, y));
    POD_CHECK_OK(pod_compile(g, N, &args, a, &p));
    return p;
}

static double seconds_of(const pod_program *p, const pod_instr_time time[], const char *op)
{
    double s = 0;
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (strcmp(p->instr[i].op, op) == 0) s += time[i].seconds;
    return s;
}

static void check_seconds(const char *what, double got, double want)
{
    POD_CHECK(fabs(got - want) <= 1e-9 * want, "%s: %g s, expected %g", what, got, want);
}

typedef struct costed {
    pod_machine *machine;
    const pod_program *program;
    pod_instr_time time[64];
} costed;

static bool cost(int n_cores, size_t tile_bytes, costed *c)
{
    *c = (costed){.machine = made_machine()};
    if (!c->machine) return false;
    c->program = compile(pod_test_arena(), n_cores, tile_bytes);
    if (!c->program || c->program->n_instrs > 64) return false;
    POD_CHECK_OK(pod_cost_program(c->machine, c->program, c->time));
    return true;
}

static void takes_what_was_measured(void)
{
    costed c;
    if (cost(1, 0, &c)) {
        check_seconds("relu", seconds_of(c.program, c.time, "relu"), 2e-6);
        /* Not measured: three times 6 KiB at 10 GB/s. */
        check_seconds("add", seconds_of(c.program, c.time, "add"), 3 * 4.0 * COUNT / 10e9);
        CU_ASSERT_EQUAL(seconds_of(c.program, c.time, "fetch"), 0);
        for (int32_t i = 0; i < c.program->n_instrs; i++)
            if (strcmp(c.program->instr[i].op, "relu") == 0)
                CU_ASSERT_EQUAL(c.time[i].bound, POD_BOUND_VECTOR);
    }
    free(c.machine);
}

/* Half the samples each, and 1 + 0.6 / 3 times as long, since two of four cores work. */
static void cores_crowd_each_other(void)
{
    costed c;
    if (cost(2, 0, &c)) check_seconds("relu", seconds_of(c.program, c.time, "relu"), 1.2e-6);
    free(c.machine);
}

/* A third of the samples each, on half a core each. */
static void ranks_take_turns(void)
{
    costed c;
    if (cost(6, 0, &c))
        check_seconds("relu", seconds_of(c.program, c.time, "relu"), 2e-6 / 6 * 1.6 * 6 / 4);
    free(c.machine);
}

/* One instruction: the ops of three tiles, and x in, y out at 20 GB/s. */
static void tiles_wait_for_memory(void)
{
    costed c;
    if (cost(1, sizeof(float) * SIDE * SIDE * CHANNELS * 4 * 4, &c)) {
        CU_ASSERT_EQUAL(pod_test_n_instrs(c.program, "tiled"), 1);
        double sum_s = 0;
        for (int32_t i = 0; i < c.program->n_instrs; i++) {
            const pod_instr *in = &c.program->instr[i];
            if (in->n_works < 2) continue;
            CU_ASSERT_EQUAL(in->n_tiles, 3);
            sum_s = 2 * in->work[in->n_works - 1].sum_bytes * 3 / 60e9;
            check_seconds("tile from memory", c.time[i].memory_s,
                          (in->cost.bytes_read + in->cost.bytes_written) / 20e9);
            double ops_s = 2e-6; /* two relu */
            for (int w = 0; w < in->n_works; w++)
                if (strcmp(in->work[w].op, "relu") != 0)
                    ops_s +=
                        3 * (in->work[w].cost.bytes_read + in->work[w].cost.bytes_written) / 10e9;
            check_seconds("ops", c.time[i].vector_s, ops_s + sum_s);
        }
    }
    free(c.machine);
}

/* Two of four cores: what is in tiles takes 1 + 0.2 / 3 times as long, the rest 1 + 0.6 / 3. */
static void tiles_crowd_less(void)
{
    costed c;
    if (cost(2, sizeof(float) * SIDE * SIDE * CHANNELS * 4 * 4, &c)) {
        int n_tiled = 0;
        for (int32_t i = 0; i < c.program->n_instrs; i++) {
            const pod_instr *in = &c.program->instr[i];
            if (in->n_tiles < 2) continue;
            n_tiled++;
            check_seconds("tile from memory", c.time[i].memory_s,
                          (in->cost.bytes_read + in->cost.bytes_written) / 20e9 * (1 + 0.2 / 3));
        }
        CU_ASSERT_EQUAL(n_tiled, 1);
    }
    free(c.machine);
}

static void names_what_is_missing(void)
{
    costed c;
    if (cost(1, 0, &c)) {
        const pod_op_times times = c.machine->op_time;
        c.machine->op_time.n = 0;
        POD_CHECK_FAILS(pod_cost_program(c.machine, c.program, c.time), POD_E_INVALID,
                        "machine made: its file has no op_time");
        c.machine->op_time = times;
        c.machine->crowded_memory = 0;
        POD_CHECK_FAILS(pod_cost_program(c.machine, c.program, c.time), POD_E_INVALID,
                        "has no crowded_memory");
        snprintf(c.machine->why_unknown, sizeof c.machine->why_unknown, "not measured yet");
        POD_CHECK_FAILS(pod_cost_program(c.machine, c.program, c.time), POD_E_INVALID,
                        "machine: not measured yet");
    }
    free(c.machine);
}

POD_TEST_SUITE("runtime.cost_host", {"takes what was measured", takes_what_was_measured},
               {"cores crowd each other", cores_crowd_each_other},
               {"ranks take turns", ranks_take_turns},
               {"tiles wait for memory", tiles_wait_for_memory},
               {"tiles crowd less", tiles_crowd_less},
               {"names what is missing", names_what_is_missing});
