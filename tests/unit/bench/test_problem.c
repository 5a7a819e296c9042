/* Problems of `minipod kernels`: lines, files, the sets that the program knows, what is none. */
#include <string.h>

#include "bench/kernels/problem.h"
#include "tests/harness/harness.h"

static pod_problem parsed(const char *line)
{
    pod_problem p = {0};
    POD_CHECK(pod_problem_parse("line", line, &p) == POD_OK, "'%s': %s", line, pod_error_text());
    return p;
}

static void product(void)
{
    const pod_problem p = parsed("gemm 8*128x64x32 c=bf16 tn");
    CU_ASSERT_EQUAL(p.family, POD_FAMILY_gemm);
    CU_ASSERT_EQUAL(p.product.m, 128);
    CU_ASSERT_EQUAL(p.product.n, 64);
    CU_ASSERT_EQUAL(p.product.k, 32);
    CU_ASSERT_EQUAL(p.n_batch, 8);
    CU_ASSERT(p.trans_a && !p.trans_b);
    CU_ASSERT(p.dtype == POD_BF16 && p.c_dtype == POD_BF16);
    CU_ASSERT_EQUAL(parsed("gemm 1x2x3 f32 bias relu").fused, POD_GEMM_BIAS | POD_GEMM_RELU);
    CU_ASSERT(parsed("gemm 1x2x3 nt nt").trans_b);
}

/* ResNet-50's stem: 224 + 2 * 3 - 7 = 223 places to go, 112 windows with a stride of 2. */
static void convolution(void)
{
    const pod_problem p = parsed("conv.dx 16x224x224x3:7x7x64/2+3");
    CU_ASSERT_EQUAL(p.function, POD_CONV_INPUT_GRAD);
    CU_ASSERT(p.conv.n == 16 && p.conv.h == 224 && p.conv.w == 224 && p.conv.c == 3);
    CU_ASSERT(p.conv.p == 112 && p.conv.q == 112 && p.conv.k == 64);
    CU_ASSERT(p.conv.r == 7 && p.conv.s == 7 && p.conv.stride == 2);
    CU_ASSERT(p.conv.pad_h == 3 && p.conv.pad_w == 3);
    CU_ASSERT_EQUAL(parsed("conv 1x8x8x4:1x1x8").function, -1);
    CU_ASSERT_EQUAL(parsed("conv.dw 1x8x8x4:1x1x8 relu_x").fused,
                    POD_CONV_AFFINE_X | POD_CONV_RELU_X);
}

/* Twice the multiply-adds; each operand once. */
static void work(void)
{
    const pod_problem g = parsed("gemm 2*3x5x7 c=bf16"), c = parsed("conv.dw 2x4x4x3:3x3x5+1"),
                      d = parsed("depthwise.fwd 2x4x4x3:3x3+1 f32"),
                      a = parsed("attention.bwd 2x5x3x7");
    CU_ASSERT_EQUAL(pod_problem_flops(&g), 2 * 2 * 3 * 5 * 7);
    CU_ASSERT_EQUAL(pod_problem_bytes(&g), 2 * 2 * (3 * 7 + 7 * 5 + 3 * 5));
    CU_ASSERT_EQUAL(pod_problem_flops(&c), 2 * 2 * 16 * 5 * 27);
    CU_ASSERT_EQUAL(pod_problem_bytes(&c), 2 * (2 * 16 * 3 + 2 * 16 * 5) + 4 * 5 * 27);
    const pod_problem l = parsed("vocab_loss.fwd 3x5x7"), v = parsed("vocab_loss.grad 3x5x7");
    CU_ASSERT_EQUAL(pod_problem_flops(&l), 2 * 3 * 5 * 7);
    CU_ASSERT_EQUAL(pod_problem_bytes(&l), 2 * (3 * 7 + 5 * 7) + 4 * (5 + 9));
    CU_ASSERT_EQUAL(pod_problem_flops(&v), 6 * 3 * 5 * 7);
    CU_ASSERT_EQUAL(pod_problem_bytes(&v), 2 * (6 * 7 + 5 * 7) + 4 * (5 + 9 + 5 * 7 + 5));
    CU_ASSERT_EQUAL(pod_problem_flops(&a), 5 * 2 * 2 * 3 * 5 * 5 * 7);
    CU_ASSERT_EQUAL(pod_problem_bytes(&a), 2 * 3 * 5 * (8 * 7 * 2 + 4));
    CU_ASSERT_EQUAL(pod_problem_flops(&d), 2 * 2 * 16 * 3 * 9);
    CU_ASSERT_EQUAL(pod_problem_bytes(&d), 4 * (2 * 2 * 16 * 3 + 27));
}

static void printed(void)
{
    static const char *const lines[] = {
        "gemm 256x256x256 bf16",
        "gemm 96*128x64x128 f32 c=bf16 tt bias relu",
        "conv 16x56x56x64:3x3x128/2+1 bf16",
        "conv.fwd 2x9x8x5:1x1x7 f32 affine relu_x bias relu sums",
        "conv.dw 2x9x8x5:3x2x7 bf16 affine",
        "depthwise 16x112x112x32:3x3+1 bf16",
        "depthwise.fwd 1x28x28x240:5x5/2+2 f32 sums",
        "pool.max_grad 16x112x112x64:3x3/2+1 bf16",
        "attention 8x128x12x64 bf16",
        "attention.bwd 2x33x3x5 f32 causal drop",
        "norm 50176x64 bf16",
        "update.adam_step 4608x512 f32",
        "vocab_loss.grad 160x30522x768 bf16",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[POD_PROBLEM_TEXT_BYTES];
        const pod_problem p = parsed(lines[i]);
        CU_ASSERT_STRING_EQUAL(pod_problem_print(&p, text, sizeof text), lines[i]);
    }
}

static void refused(void)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"", "no problem in it"},
        {"gem 1x2x3", "'gem' is none of gemm|conv"},
        {"gemm", "'gemm' has no shape behind it"},
        {"gemm.fwd 1x2x3", "gemm has no functions"},
        {"conv.up 1x8x8x4:1x1x8", "conv has the functions fwd|dx|dw"},
        {"conv. 1x8x8x4:1x1x8", "conv has the functions fwd|dx|dw"},
        {"gemm 1x2", "'1x2' has 2 numbers, need 3"},
        {"gemm 1x2x3x4", "1x2x3x4"},
        {"gemm 1x0x3", "1x0x3"},
        {"gemm 0*1x2x3", "0 is not within"},
        {"gemm 1x2x16777217", "16777217 is more than"},
        {"gemm 16777216x16777216x1", "elements are more than"},
        {"gemm 1x2x3 tx", "gemm takes no word 'tx'"},
        {"gemm 1x2x3 sums", "takes no word 'sums'"},
        {"gemm 1x2x3 nt f32 tn", "'nt' and 'tn' exclude each other"},
        {"gemm 1x2x3 nn tt", "'nn' and 'tt' exclude each other"},
        {"gemm 1x2x3 c=f32 c=bf16", "'c=f32' and 'c=bf16' exclude each other"},
        {"norm 64x64 bf16 f32", "'bf16' and 'f32' exclude each other"},
        {"conv 1x8x8x4:1x1x8 bias", "takes no word 'bias'"},
        {"conv.dx 1x8x8x4:1x1x8 bias", "takes no word 'bias'"},
        {"depthwise 1x8x8x4:3x3x4", "3x3x4"},
        {"depthwise 1x8x8x4", "is not NxHxWxC:RxS"},
        {"depthwise 1x8x8x4:3x3 sums", "takes no word 'sums'"},
        {"pool 1x8x8x4:3x2", "windows are square"},
        {"vocab_loss 2*1x2x3", "2*1x2x3"},
        {"vocab_loss.fwd 1x2x3 nt", "vocab_loss.fwd takes no word 'nt'"},
        {"norm 64", "'64' has 1 numbers, need 2"},
        {"norm.apply 64x64 relu", "norm.apply takes no word 'relu'"},
        {"update 64x64 bf16", "update takes no word 'bf16'"},
        {"attention 8x128x768", "'8x128x768' has 3 numbers, need 4"},
        {"attention 8x128x12x64 relu", "attention takes no word 'relu'"},
        {"gemm 1x2x3 causal", "takes no word 'causal'"},
        {"conv 1x8x8x4", "is not NxHxWxC:RxSxK"},
        {"conv 1x8x8x4:9x9x8", "a window of 9x9 fits nowhere"},
        {"conv 1x8x8x4:1x1x8/0", "0 is not within"},
        {"conv 1x8x8x4:1x1x8+-1", "-1"},
        {"gemm 1x2x3\001", "a control character"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pod_problem p = {.n_batch = 77};
        const pod_status s = pod_problem_parse("a.txt:3", cases[i].line, &p);
        POD_CHECK(s == POD_E_INVALID && strstr(pod_error_text(), cases[i].text) &&
                      strncmp(pod_error_text(), "a.txt:3: ", 9) == 0,
                  "'%s': %s, want '%s'", cases[i].line, pod_error_text(), cases[i].text);
        CU_ASSERT_EQUAL(p.n_batch, 77);
    }
}

static void files(void)
{
    pod_arena *a = pod_test_arena();
    pod_problem *p = NULL;
    int n = 0;
    POD_CHECK_OK(
        pod_problems_parse(a, "x", "# head\n\ngemm 1x2x3 # tail\n \t\nconv 1x8x8x4:1x1x8", &p, &n));
    CU_ASSERT(n == 2 && p[1].family == POD_FAMILY_conv);
    CU_ASSERT_EQUAL(pod_problems_parse(a, "x", "gemm 1x2x3\n\ngemm 1x2\n", &p, &n), POD_E_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(pod_error_text(), "x:3: gemm"));
    CU_ASSERT_EQUAL(pod_problems_parse(a, "x", "# nothing\n", &p, &n), POD_E_FORMAT);
    CU_ASSERT_EQUAL(pod_problems_load(a, "resnet5", &p, &n), POD_E_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(pod_error_text(), "neither a file nor one of all, gemm"));
}

static const char *const vectors[] = {
#define POD_VECTOR(family, function, ...) #family "." #function,
#include "bench/kernels/vector_ops.def"
};
enum { N_VECTORS = sizeof vectors / sizeof vectors[0] };

/* families.def and vector_ops.def name the same functions of each family bound by memory. */
static void functions(void)
{
    bool is_in_families[N_VECTORS] = {false};
    for (int f = 0; f < POD_N_FAMILIES; f++) {
        const pod_problem_form form = pod_families()[f].form;
        if (form != POD_FORM_ROWS && form != POD_FORM_ROWS_F32 && form != POD_FORM_WINDOWS)
            continue;
        for (int k = 0; k < pod_family_n_functions((pod_family_id)f); k++) {
            const pod_problem p = {.family = (pod_family_id)f, .function = k};
            char op[64];
            int i = 0;
            pod_problem_print_op(&p, op, sizeof op);
            while (i < N_VECTORS && strcmp(vectors[i], op) != 0) i++;
            if (i < N_VECTORS) is_in_families[i] = true;
            POD_CHECK(i < N_VECTORS,
                      "%s is in families.def: want a line in vector_ops.def, found none", op);
        }
    }
    for (int i = 0; i < N_VECTORS; i++)
        POD_CHECK(is_in_families[i],
                  "%s is in vector_ops.def: want its name in families.def, found none", vectors[i]);
}

/* Every set can be read, and all of them together are all of their problems. */
static void sets(void)
{
    pod_arena *a = pod_test_arena();
    pod_problem *p = NULL, *all = NULL;
    int n = 0, n_all = 0;
    for (int i = 0; pod_problems_known(i); i++)
        POD_CHECK_OK(pod_problems_load(a, pod_problems_known(i), &p, &n));
    POD_CHECK_OK(pod_problems_load(a, "all", &all, &n_all));
    CU_ASSERT(n == n_all && n > 50);
}

POD_TEST_SUITE("bench.problem", {"product", product}, {"convolution", convolution}, {"work", work},
               {"printed", printed}, {"refused", refused}, {"files", files},
               {"functions", functions}, {"sets", sets});
