/* Files of jobs: what is read, in which order, and what is refused, with file and line. */
#include "runtime/fleet/jobs/jobs.h"

#include <math.h>

#include "tests/harness/harness.h"

static pod_arena *arena;
static pod_fleet_jobs jobs;

static int open_arena(void) { return pod_arena_create(NULL, &arena) == POD_OK ? 0 : 1; }
static int close_arena(void)
{
    pod_arena_destroy(arena);
    return 0;
}

static pod_status parse(const char *format, const char *text)
{
    char *copy = pod_arena_text(arena, "%s", text);
    return pod_fleet_jobs_parse(arena, format, "f", copy, &jobs);
}

static void own(void)
{
    POD_CHECK_OK(parse("csv", "# made\n\njob,submit_s,chips,steps,step_s,ideal_s,priority,model\n"
                              "\"a b\",0,64,10,0.5,0.25,-3,bert\r\n"
                              "c, 1.5 ,1,3,2,,,\n"));
    CU_ASSERT_EQUAL_FATAL(jobs.n, 2);
    CU_ASSERT(!jobs.is_foreign);
    const pod_fleet_entry *e = jobs.entry;
    CU_ASSERT_STRING_EQUAL(e[0].name, "a b");
    CU_ASSERT_EQUAL(e[0].line, 4);
    CU_ASSERT_EQUAL(e[0].chips, 64);
    CU_ASSERT_EQUAL(e[0].n_steps, 10);
    CU_ASSERT_EQUAL(e[0].run, INT64_C(5000000000));
    CU_ASSERT_EQUAL(e[0].ideal_share, 0.5);
    CU_ASSERT_EQUAL(e[0].priority, -3);
    CU_ASSERT_STRING_EQUAL(e[0].model, "bert");
    CU_ASSERT_STRING_EQUAL(e[0].group, "");
    CU_ASSERT_EQUAL(e[1].submit, INT64_C(1500000000));
    CU_ASSERT_EQUAL(e[1].priority, 0);
    CU_ASSERT(isnan(e[1].ideal_share));
    POD_CHECK_OK(
        parse("csv", "chips,job,duration_s,submit_s,estimate_s,machine\n4,x,60,7,90,tpu-v3\n"));
    CU_ASSERT_EQUAL(jobs.entry[0].n_steps, 0);
    CU_ASSERT_EQUAL(jobs.entry[0].run, INT64_C(60000000000));
    CU_ASSERT_EQUAL(jobs.entry[0].estimate, INT64_C(90000000000));
    CU_ASSERT_STRING_EQUAL(jobs.entry[0].group, "tpu-v3");
    POD_CHECK_OK(parse("csv", "job,submit_s,chips,duration_s,min_chips\nx,0,64,60,16\n"));
    CU_ASSERT_EQUAL(jobs.entry[0].min_chips, 16);
    POD_CHECK_OK(parse("csv", "job,submit_s,chips,steps,duration_s,model,batch\n"
                              "x,0,64,100,,resnet50,4096\ny,0,64,,60,resnet50,4096\n"));
    CU_ASSERT_EQUAL(jobs.entry[0].n_steps, 100);
    CU_ASSERT_EQUAL(jobs.entry[0].run, 0);
    CU_ASSERT_EQUAL(jobs.entry[0].batch, 4096);
    CU_ASSERT_EQUAL(jobs.entry[1].n_steps, 0);
    CU_ASSERT_EQUAL(jobs.entry[1].run, INT64_C(60000000000));
}

static void shapes_and_outcomes(void)
{
    POD_CHECK_OK(parse("csv", "job,submit_s,shape,chips,duration_s,outcome\n"
                              "a,0,4x4x8,,60,failed\nb,0,,64,60,\nc,0,16x8,128,60,completed\n"));
    CU_ASSERT_EQUAL(jobs.entry[0].chips, 128);
    CU_ASSERT_EQUAL(jobs.entry[0].shape[2], 8);
    CU_ASSERT_STRING_EQUAL(jobs.entry[0].outcome, "failed");
    CU_ASSERT_EQUAL(jobs.entry[1].chips, 64);
    CU_ASSERT_EQUAL(jobs.entry[1].shape[0], 0);
    CU_ASSERT_STRING_EQUAL(jobs.entry[1].outcome, "");
    CU_ASSERT_EQUAL(jobs.entry[2].shape[1], 8);
    CU_ASSERT_EQUAL(jobs.entry[2].shape[2], 1);
}

/* Sorted by time, those of one second as in the file. */
static void philly(void)
{
    POD_CHECK_OK(parse("philly", "timestamp,duration,num_gpus,gpu_time,cluster\n"
                                 "2017-10-09 07:01:55,66.9,1,66,b\n"
                                 "2017-10-01 00:00:00,0.2,8,1,a\n"
                                 "2017-10-09 07:01:55,5,2,10,c\n"
                                 "2017-10-09 07:01:55,5,0,0,c\n"));
    CU_ASSERT_EQUAL_FATAL(jobs.n, 3);
    CU_ASSERT_EQUAL(jobs.n_skipped, 1);
    CU_ASSERT(jobs.is_foreign);
    CU_ASSERT_EQUAL(jobs.entry[0].submit, INT64_C(1506816000000000000));
    CU_ASSERT_EQUAL(jobs.entry[0].run, INT64_C(1000000000)); /* a second at least */
    CU_ASSERT_EQUAL(jobs.entry[1].run, INT64_C(66000000000));
    CU_ASSERT_STRING_EQUAL(jobs.entry[1].group, "b");
    CU_ASSERT_STRING_EQUAL(jobs.entry[2].group, "c");
    CU_ASSERT_STRING_EQUAL(jobs.entry[2].name, "philly-4");
}

static void openb_and_swf(void)
{
    POD_CHECK_OK(
        parse("openb", "name,num_gpu,creation_time,deletion_time\np,1,5,9\nq,0,6,7\nr,8,1,1\n"));
    CU_ASSERT_EQUAL_FATAL(jobs.n, 1);
    CU_ASSERT_EQUAL(jobs.n_skipped, 2);
    CU_ASSERT_EQUAL(jobs.entry[0].run, INT64_C(4000000000));
    POD_CHECK_OK(parse("swf", "; Version: 2\n1 10 3 60 4 -1 -1 8 120 -1 1 1 1 1 1 1 -1 -1\n"
                              " 2 11 3 -1 4 -1 -1 8 120 -1 0 1 1 1 1 1 -1 -1\n"
                              "3 12 3 5 4 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1"));
    CU_ASSERT_EQUAL_FATAL(jobs.n, 2);
    CU_ASSERT_EQUAL(jobs.n_skipped, 1);
    CU_ASSERT_EQUAL(jobs.entry[0].chips, 8);
    CU_ASSERT_EQUAL(jobs.entry[0].estimate, INT64_C(120000000000));
    CU_ASSERT_EQUAL(jobs.entry[1].chips, 4);
    CU_ASSERT_EQUAL(jobs.entry[1].estimate, 0);
}

#define HEAD          "job,submit_s,chips,duration_s\n"
#define HEAD_OF_SHAPE "job,submit_s,shape,chips,duration_s,min_chips\n"
#define HEAD_OF_WORDS "job,submit_s,chips,duration_s,model,phase,outcome\n"
#define HEAD_OF_BATCH "job,submit_s,chips,duration_s,model,batch,step_s\n"

static void refused(void)
{
    static const struct {
        const char *format, *text, *says;
    } cases[] = {
        {"csv", "", "f: has no line with the names"},
        {"csv", "# nothing\n", "f: has no line with the names"},
        {"csv", HEAD, "f: has no jobs"},
        {"csv", "job,submit_s,duration_s\n", "f:1: column 'chips' is missing"},
        {"csv", "job,submit,chips,duration_s\n", "column 'submit_s' is missing, found 'submit'"},
        {"csv", "job,submit_s,chips\n", "f:1: want the column duration_s, or steps and"},
        {"csv", "job,job,submit_s,chips\n", "f:1: column 'job' stands twice"},
        {"csv", "job,submit_s,chips,duration_s,gpus\n", "f:1: there is no column 'gpus'"},
        {"csv", HEAD "a,0,4\n", "f:2: 3 fields, want 4"},
        {"csv", HEAD "a,0,4,1,\n", "f:2: 5 fields, want 4"},
        {"csv", HEAD ",0,4,1\n", "f:2: a job without a name"},
        {"csv", HEAD "\"a,b\",0,4,1\n", "f:2: job 'a,b' has a comma"},
        {"csv", HEAD "\"a\"\"b\",0,4,1\n", "f:2: job 'a\"b' has a comma, a quote"},
        {"csv", HEAD_OF_WORDS "a,0,4,1,,,\"cancelled, by user\"\n",
         "f:2: outcome 'cancelled, by user' has a comma"},
        {"csv", HEAD_OF_WORDS "a,0,4,1,\"m,n\",,\n", "f:2: model 'm,n' has a comma"},
        {"csv", HEAD_OF_WORDS "a,0,4,1,,\"a \"\"b\"\"\",\n", "f:2: phase 'a \"b\"' has a comma"},
        {"csv", HEAD_OF_WORDS "a,0,4,1,,a\rb,\n", "f:2: phase"},
        {"csv", HEAD "\"a,0,4,1\n", "f:2: a quote does not end"},
        {"csv", HEAD "\"a\"b,0,4,1\n", "f:2: 'b' behind a quote"},
        {"csv", HEAD "a,-1,4,1\n", "f:2: submit_s"},
        {"csv", HEAD "a,nan,4,1\n", "f:2: submit_s"},
        {"csv", HEAD "a,0,0,1\n", "f:2: chips"},
        {"csv", HEAD "a,0,4.5,1\n", "f:2: chips"},
        {"csv", HEAD "a,0,4,0\n", "f:2: duration_s"},
        {"csv", HEAD "a,0,4,\n", "f:2: job 'a' has neither"},
        {"csv", HEAD "a,5,4,1\nb,4,4,1\n", "f:3: submit_s 4 goes back"},
        {"csv", HEAD "a,5,4,1\na,6,4,1\n", "f:3: job 'a' again: line 2"},
        {"csv", "job,submit_s,chips,steps,step_s\na,0,4,1000000000,1000\n",
         "f:2: job 'a' trains for"},
        {"csv", "job,submit_s,chips,steps,step_s,ideal_s\na,0,4,10,1,2\n", "f:2: ideal_s"},
        {"csv", "job,submit_s,chips,duration_s,min_chips\na,0,4,1,5\n", "f:2: min_chips"},
        {"csv", HEAD_OF_SHAPE "a,0,4xx,,1,\n",
         "f:2: shape '4xx' of job 'a', want one such as 4x4x8"},
        {"csv", HEAD_OF_SHAPE "a,0,4x0,,1,\n", "f:2: shape '4x0'"},
        {"csv", HEAD_OF_SHAPE "a,0,4x4,15,1,\n", "f:2: shape 4x4 has 16 chips, found chips 15"},
        {"csv", HEAD_OF_SHAPE "a,0,4096x4096x4,,1,\n", "f:2: shape 4096x4096x4 has more than"},
        {"csv", HEAD_OF_SHAPE "a,0,4x4,,1,8\n", "f:2: job 'a' has a shape and min_chips"},
        {"csv", "job,submit_s,shape,duration_s\na,0,,1\n", "f:2: job 'a' has neither chips nor"},
        {"csv", HEAD_OF_BATCH "a,0,4,1,,64,\n", "f:2: job 'a' has a batch and no model"},
        {"csv", HEAD_OF_BATCH "a,0,4,1,m,64,2\n", "f:2: job 'a' has a batch, from which step_s"},
        {"csv", HEAD_OF_BATCH "a,0,4,,m,64,\n", "f:2: job 'a' has neither steps nor duration_s"},
        {"csv", HEAD_OF_BATCH "a,0,4,1,m,0,\n", "f:2: batch"},
        {"philly", "timestamp,duration,num_gpus\n", "f:1: column 'cluster' is missing"},
        {"philly", "timestamp,duration,num_gpus,cluster\n2017-10-09,1,1,a\n", "is no time like"},
        {"philly", "timestamp,duration,num_gpus,cluster\n2017-10-09 10:00:00x,1,1,a\n", "no time"},
        {"philly", "timestamp,duration,num_gpus,cluster\n2017-13-09 10:00:00,1,1,a\n", "no time"},
        {"philly", "timestamp,duration,num_gpus,cluster\n2017-10-09 10:00:00,-1,1,a\n", "f:2: dur"},
        {"openb", "name,num_gpu,creation_time,deletion_time\n,8,1,2\n",
         "f:2: a pod without a name"},
        {"openb", "name,num_gpu,creation_time,deletion_time\n\"a,b\",8,1,2\n", "f:2: name 'a,b'"},
        {"openb", "name,num_gpu,creation_time,deletion_time,pod_phase\np,8,1,2,\"x,y\"\n",
         "f:2: pod_phase 'x,y' has a comma"},
        {"openb", "name,num_gpu,creation_time\n", "f:1: column 'deletion_time' is missing"},
        {"openb", "name,num_gpu,creation_time,deletion_time\np,1,9,5\n", "f:2: deletion_time 5 is"},
        {"swf", "1 2 3\n", "f:1: 3 numbers, want the 18 of SWF"},
        {"swf", "1 -1 3 60 4 -1 -1 8 120 -1 1 1 1 1 1 1 -1 -1\n", "f:1: submit time -1"},
        {"swf", "; only this\n", "f: has no jobs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        POD_CHECK_FAILS(parse(cases[i].format, cases[i].text), POD_E_FORMAT, cases[i].says);
    POD_CHECK_FAILS(parse("phily", HEAD), POD_E_INVALID, "no format 'phily'; did you mean philly");
    POD_CHECK_FAILS(pod_fleet_jobs_read(arena, "swf:/nowhere/x", &jobs), POD_E_IO, "/nowhere/x");
    POD_CHECK_FAILS(pod_fleet_jobs_read(arena, "/nowhere:x", &jobs), POD_E_IO, "/nowhere:x");
}

POD_TEST_SUITE_WITH("runtime.fleet_jobs", open_arena, close_arena, {"own", own}, {"philly", philly},
                    {"openb and swf", openb_and_swf}, {"shapes and outcomes", shapes_and_outcomes},
                    {"refused", refused});
