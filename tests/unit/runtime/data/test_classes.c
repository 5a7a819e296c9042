#include "runtime/data/classes.h"

#include <string.h>

#include "tests/harness/harness.h"

enum { MAX = 4 };

/* Names behind one another: "cat dog". */
static int split(const char *text, char room[64], const char *name[MAX])
{
    int n = 0;
    strcpy(room, text);
    for (char *at = strtok(room, " "); at; at = strtok(NULL, " ")) name[n++] = at;
    return n;
}

static void classes_match_by_name(void)
{
    static const struct {
        const char *own, *trained;
        pod_class_match want;
        int first;
        int32_t of[MAX];
    } cases[] = {
        {"cat dog", "cat dog", POD_CLASSES_SAME, 2, {0, 1}},
        {"cat", "cat dog", POD_CLASSES_SAME, 1, {0}},
        {"dog", "cat dog", POD_CLASSES_REORDERED, 0, {1}},
        {"cat eel dog", "cat dog eel", POD_CLASSES_REORDERED, 1, {0, 2, 1}},
        {"a_green b_red", "a_red b_green", POD_CLASSES_RENAMED, 0, {-1, -1}},
        {"cat hound", "cat dog", POD_CLASSES_RENAMED, 1, {0, -1}},
        {"dog hound", "cat dog", POD_CLASSES_OTHER, 0, {1, -1}},
        {"cat dog eel", "cat dog", POD_CLASSES_OTHER, 2, {0, 1, -1}},
        {"eel", "cat dog", POD_CLASSES_OTHER, 0, {-1}},
        {"cat cat dog", "cat cat dog", POD_CLASSES_SAME, 3, {0, 1, 2}}, /* two of one name */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char own_text[64], trained_text[64];
        const char *own[MAX], *trained[MAX];
        int32_t of[MAX];
        int first = -1;
        const int n = split(cases[i].own, own_text, own);
        const int n_trained = split(cases[i].trained, trained_text, trained);
        const pod_class_match got = pod_classes_match(n, own, n_trained, trained, of, &first);
        POD_CHECK(got == cases[i].want && first == cases[i].first,
                  "%s, trained on %s: %d, first %d", cases[i].own, cases[i].trained, (int)got,
                  first);
        POD_CHECK(memcmp(of, cases[i].of, (size_t)n * sizeof of[0]) == 0, "%s, trained on %s",
                  cases[i].own, cases[i].trained);
    }
}

static const double mean[] = {0.25}, std[] = {0.5};

static pod_dataset_info trained_on(int n, const char *const names[])
{
    return (pod_dataset_info){
        .channels = 1, .n_classes = n, .class_names = names, .mean = mean, .std = std};
}

/* Glyphs, whose sample i is of class i mod 10, to a network that knew the last two classes as its
 * first, and two more. */
static void a_set_is_presented_as_trained(void)
{
    pod_dataset *d;
    const char *names[12] = {0};
    POD_CHECK_OK(pod_dataset_open("glyphs:8x8x1:60+30", 1, &d));
    for (int i = 0; i < 10; i++) names[(i + 2) % 10] = d->info.class_names[i];
    names[10] = "more";
    names[11] = "and more";
    const pod_dataset_info trained = trained_on(12, names), unknown = {.n_classes = 0};
    POD_CHECK_OK(pod_dataset_as_trained(d, "x", false, &unknown, NULL));
    CU_ASSERT_EQUAL(pod_dataset_label(d, POD_SPLIT_TEST, 13), 3);
    pod_log log = pod_log_start(1, stdout, stderr, "off", true); /* says nothing */
    POD_CHECK_OK(pod_dataset_as_trained(d, "x", false, &trained, &log));
    for (int i = 0; i < 30; i++)
        CU_ASSERT_EQUAL(pod_dataset_label(d, POD_SPLIT_TEST, i), (i + 2) % 10);
    CU_ASSERT_EQUAL(d->info.n_classes, 12);
    CU_ASSERT_STRING_EQUAL(d->info.class_names[10], "more");
    CU_ASSERT_PTR_EQUAL(d->info.mean, mean);
    CU_ASSERT_PTR_EQUAL(d->info.std, std);
    pod_dataset_close(d);
}

static void what_does_not_match(void)
{
    pod_dataset *d;
    static const char *const two[] = {"ring", "cup"};
    const char *names[10];
    pod_log log = pod_log_start(1, stdout, stderr, "off", true);
    POD_CHECK_OK(pod_dataset_open("glyphs:8x8x1:60+30", 1, &d));
    const pod_dataset_info fewer = trained_on(2, two);
    POD_CHECK_FAILS(pod_dataset_as_trained(d, "x", false, &fewer, &log), POD_E_MISMATCH,
                    "x: class 1 is 'fork', and was 'cup' in training");
    /* The same set under other names: its numbers are right. */
    for (int i = 0; i < 10; i++) names[i] = d->info.class_names[9 - i];
    const pod_dataset_info reversed = trained_on(10, names);
    POD_CHECK_OK(pod_dataset_as_trained(d, "x", true, &reversed, &log));
    CU_ASSERT_EQUAL(pod_dataset_label(d, POD_SPLIT_TEST, 13), 3);
    pod_dataset_close(d);
}

POD_TEST_SUITE("runtime.classes", {"classes match by name", classes_match_by_name},
               {"a set is presented as trained", a_set_is_presented_as_trained},
               {"what does not match", what_does_not_match});
