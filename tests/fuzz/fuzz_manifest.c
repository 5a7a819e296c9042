/* Any text as a checkpoint's manifest, as it is and with a last line that vouches for it, and as what
 * `latest` holds: what is read is within its ranges, and prints to a text that reads the same. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/checkpoint/parts.h"
#include "tests/fuzz/fuzz_file.h"

enum { TAIL_BYTES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static bool same_file(const pod_checkpoint_receipt *a, const pod_checkpoint_receipt *b)
{
    return a->bytes == b->bytes && a->crc == b->crc;
}

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool same_eval(const pod_eval_row *a, const pod_eval_row *b)
{
    bool same = a->n_done == b->n_done && same_number(a->epochs, b->epochs) &&
                same_number(a->at_s, b->at_s) && same_number(a->loss, b->loss);
    for (int i = 0; i < POD_MAX_METRICS; i++)
        same = same && same_number(a->metric[i], b->metric[i]);
    return same;
}

static void check(const pod__manifest *m, pod_arena *a)
{
    pod__manifest again;
    POD_ASSERT(m->step >= 0 && m->ranks >= 1 && m->ranks <= POD__CHECKPOINT_MAX_RANKS,
               "step %" PRId64 ", %d ranks", m->step, m->ranks);
    const size_t room = pod__manifest_room(m->ranks, m->evals.n);
    char *text = pod_arena_get(a, 1, room);
    POD_ASSERT(text, "no memory for %zu bytes", room);
    const size_t bytes = pod__manifest_print(m, text, room);
    POD_ASSERT(bytes < room, "%zu bytes, room for %zu", bytes, room);
    POD_ASSERT(pod__manifest_parse("again", text, bytes, a, &again) == POD_OK, "'%s' is refused",
               text);
    bool same =
        m->step == again.step && m->ranks == again.ranks && same_file(&m->index, &again.index);
    for (int r = 0; same && r < m->ranks; r++) same = same_file(&m->shard[r], &again.shard[r]);
    same = same && m->evals.n == again.evals.n;
    for (int64_t i = 0; same && i < m->evals.n; i++)
        same = same_eval(&m->evals.row[i], &again.evals.row[i]);
    POD_ASSERT(same, "'%s' is read as another", text);
}

static void parse(const char *text, size_t bytes)
{
    pod_arena *a;
    pod__manifest m;
    if (pod_arena_create(NULL, &a) != POD_OK) return;
    if (pod__manifest_parse("fuzz", text, bytes, a, &m) == POD_OK) check(&m, a);
    pod_arena_destroy(a);
}

static void read_latest(const uint8_t *data, size_t bytes, const char *text)
{
    char printed[256];
    int64_t step;
    if (bytes > 64 || strncmp(text, "step-", 5) != 0) return; /* a file a run takes its time */
    if (pod__latest_read(fuzz_file(data, bytes), &step) != POD_OK) return;
    pod__latest_print(step, printed, sizeof printed);
    POD_ASSERT(step >= 0 && strcmp(printed, text) == 0, "'%s' is read as '%s'", text, printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + TAIL_BYTES);
    POD_ASSERT(text, "no memory for %zu bytes", bytes);
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    read_latest(data, bytes, text);
    parse(text, bytes);
    const int tail =
        snprintf(text + bytes, TAIL_BYTES, "  \"manifest_crc32\": \"%08" PRIx32 "\"\n}\n",
                 pod__checkpoint_crc(0, data, bytes));
    parse(text, bytes + (size_t)tail);
    free(text);
    return 0;
}
