/* The sets of every family (kernels/base/sets.h): which of them this CPU runs, and that each is picked
 * by a CPU that has no more than it needs. */
#include "kernels/activation/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/combine/combine.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/embed/embed.h"
#include "kernels/gate/gate.h"
#include "kernels/gemm/pack.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/norm/norm.h"
#include "kernels/pointwise/pointwise.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"
#include "kernels/update/update.h"
#include "kernels/vocab_loss/vocab_loss.h"
#include "tests/harness/harness.h"

static void check(const char *family, const char *set, uint32_t needs, bool is_picked)
{
    char what[64];
    snprintf(what, sizeof what, "%s %s", family, set);
    POD_CHECK(is_picked, "%s is not picked", what);
    if (needs & ~pod_cpu_features()) pod_test_skip(what, "this CPU lacks the instructions");
}

#define FAMILY(family)                                                             \
    static void test_##family(void)                                                \
    {                                                                              \
        const pod_##family *const *set = pod_##family##_sets();                    \
        for (; *set; set++)                                                        \
            check(#family, (*set)->name, (*set)->needs,                            \
                  pod_##family##_pick((*set)->needs) == *set);                     \
        CU_ASSERT_PTR_EQUAL(pod_##family##_pick(POD_CPU_REFERENCE_ONLY), set[-1]); \
        CU_ASSERT_EQUAL(set[-1]->needs, 0);                                        \
    }
FAMILY(activation)
FAMILY(attention_kernels)
FAMILY(combine)
FAMILY(depthwise)
FAMILY(embed)
FAMILY(gate)
FAMILY(layernorm)
FAMILY(norm)
FAMILY(pack)
FAMILY(pointwise)
FAMILY(pool)
FAMILY(reduce)
FAMILY(softmax)
FAMILY(update)
FAMILY(vocab_loss)

#define LINE(family)           \
    {                          \
#family, test_##family \
    }
POD_TEST_SUITE("sets", LINE(activation), LINE(attention_kernels), LINE(combine), LINE(depthwise),
               LINE(embed), LINE(gate), LINE(layernorm), LINE(norm), LINE(pack), LINE(pointwise),
               LINE(pool), LINE(reduce), LINE(softmax), LINE(update), LINE(vocab_loss));
