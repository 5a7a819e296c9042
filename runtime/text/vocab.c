#include "runtime/text/vocab.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/hash.h"
#include "runtime/core/file.h"
#include "runtime/text/chars.h"

#define MAX_FILE_BYTES ((size_t)256 << 20)

const char *const pod_special_token[POD_N_SPECIALS] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                       "[MASK]"};

static const char continuing[] = "##";
enum { CONTINUING_BYTES = sizeof continuing - 1 };

/* ---- the table ------------------------------------------------------------------------------- */

/* FNV's low bits depend on few bits of the last bytes. */
static uint32_t spread(uint64_t h) { return (uint32_t)(h ^ h >> 32); }

/* The slot of a token, or the free one where it belongs. */
static uint32_t find_slot(const pod_vocab *v, uint64_t hash, const char *token, size_t bytes)
{
    for (uint32_t i = spread(hash);; i++) {
        const int32_t id = v->slot[i & (v->n_slots - 1)];
        if (id < 0 || (strncmp(v->token[id], token, bytes) == 0 && v->token[id][bytes] == '\0'))
            return i & (v->n_slots - 1);
    }
}

int32_t pod_vocab_find(const pod_vocab *v, const char *token)
{
    const size_t bytes = strlen(token);
    return v->slot[find_slot(v, pod_hash_bytes(POD_HASH_START, token, bytes), token, bytes)];
}

/* ---- checks ---------------------------------------------------------------------------------- */

static pod_status check_token(const char *where, int64_t line, const char *token)
{
    const size_t bytes = strlen(token);
    int32_t c;
    if (bytes == 0)
        return pod_fail(POD_E_FORMAT, "%s: line %" PRId64 " is empty, want a token", where, line);
    if (bytes > POD_TOKEN_MAX_BYTES)
        return pod_fail(POD_E_FORMAT, "%s: line %" PRId64 ": a token of %zu bytes, want at most %d",
                        where, line, bytes, POD_TOKEN_MAX_BYTES);
    for (size_t i = 0; i < bytes;) {
        const int n = pod_utf8_decode(token + i, bytes - i, &c);
        if (n == 0)
            return pod_fail(POD_E_FORMAT,
                            "%s: line %" PRId64 ", byte %zu: invalid UTF-8, byte %02x", where, line,
                            i + 1, (unsigned char)token[i]);
        i += (size_t)n;
    }
    return POD_OK;
}

static bool has_capital(const char *token)
{
    return strpbrk(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL;
}

static pod_status find_specials(const char *where, pod_vocab *v)
{
    for (int k = 0; k < POD_N_SPECIALS; k++) {
        v->special[k] = pod_vocab_find(v, pod_special_token[k]);
        if (v->special[k] < 0)
            return pod_fail(POD_E_FORMAT,
                            "%s: lines 1 to %" PRId32
                            " have no %s; want [PAD], [UNK], [CLS], [SEP] and [MASK], each a line",
                            where, v->n, pod_special_token[k]);
    }
    return POD_OK;
}

/* [unused0] to [unused99] are of the released vocabularies. */
static bool is_bracketed(const char *token)
{
    return token[0] == '[' && token[strlen(token) - 1] == ']';
}

pod_status pod_vocab_make(const char *where, int64_t n, const char *const token[], pod_arena *a,
                          const pod_vocab **out)
{
    if (n < 1 || n > POD_VOCAB_MAX)
        return pod_fail(POD_E_FORMAT, "%s: has %" PRId64 " tokens, want 1 to %d, one per line",
                        where, n, POD_VOCAB_MAX);
    pod_vocab *v = POD_ARENA_NEW(a, pod_vocab, 1);
    if (!v) return POD_E_NOMEM;
    *v = (pod_vocab){.n = (int32_t)n, .token = token, .n_slots = 16};
    while (v->n_slots < 2 * n) v->n_slots *= 2;
    int32_t *slot = POD_ARENA_NEW(a, int32_t, v->n_slots);
    if (!slot) return POD_E_NOMEM;
    memset(slot, 0xff, v->n_slots * sizeof *slot);
    v->slot = slot;
    for (int32_t id = 0; id < v->n; id++) {
        POD_TRY(check_token(where, id + 1, token[id]));
        const size_t bytes = strlen(token[id]);
        int32_t *at =
            &slot[find_slot(v, pod_hash_bytes(POD_HASH_START, token[id], bytes), token[id], bytes)];
        if (*at >= 0)
            return pod_fail(POD_E_FORMAT,
                            "%s: line %" PRId32 ": '%s' is in line %" PRId32 " too, want it once",
                            where, id + 1, token[id], *at + 1);
        *at = id;
        if (bytes > v->longest) v->longest = bytes;
        v->has_capitals = v->has_capitals || (!is_bracketed(token[id]) && has_capital(token[id]));
    }
    POD_TRY(find_specials(where, v));
    *out = v;
    return POD_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static char *strip(char *line)
{
    size_t bytes = strlen(line);
    const char *begin = pod_text_strip(line, &bytes);
    line += begin - line;
    line[bytes] = '\0';
    return line;
}

pod_status pod_vocab_read(const char *path, pod_arena *a, const pod_vocab **out)
{
    char *text;
    int64_t n = 0;
    POD_TRY(pod_file_read_text(a, path, MAX_FILE_BYTES, &text));
    for (const char *p = text; *p; p++) n += *p == '\n' || p[1] == '\0';
    const char **token = POD_ARENA_NEW(a, const char *, n > 0 ? n : 1);
    if (!token) return POD_E_NOMEM;
    for (int64_t i = 0; i < n; i++) {
        char *end = text + strcspn(text, "\n");
        const bool is_last = *end == '\0';
        *end = '\0';
        token[i] = strip(text);
        text = end + !is_last;
    }
    return pod_vocab_make(path, n, token, a, out);
}

pod_status pod_vocab_write(const char *path, int64_t n, const char *const token[])
{
    pod_file *f;
    POD_TRY(pod_file_open(path, &f));
    for (int64_t i = 0; i < n; i++) fprintf(pod_file_stream(f), "%s\n", token[i]);
    return pod_file_close(f);
}

/* ---- splitting ------------------------------------------------------------------------------- */

static bool is_boundary(const char *word, size_t bytes, size_t at)
{
    return at == bytes || ((unsigned char)word[at] & 0xc0) != 0x80;
}

/* The longest token that the word has at `begin`; *end is then its end. -1: there is none. */
static int32_t find_longest(const pod_vocab *v, const char *word, size_t bytes, size_t begin,
                            size_t *end)
{
    uint64_t hash_to[POD_TOKEN_MAX_BYTES];
    char piece[CONTINUING_BYTES + POD_TOKEN_MAX_BYTES];
    const size_t prefix = begin > 0 ? CONTINUING_BYTES : 0;
    size_t most = v->longest > prefix ? v->longest - prefix : 0;
    if (most > bytes - begin) most = bytes - begin;
    uint64_t h = pod_hash_bytes(POD_HASH_START, continuing, prefix);
    for (size_t i = 0; i < most; i++) hash_to[i] = h = pod_hash_bytes(h, word + begin + i, 1);
    memcpy(piece, continuing, prefix);
    memcpy(piece + prefix, word + begin, most);
    for (size_t n = most; n > 0; n--) {
        if (!is_boundary(word, bytes, begin + n)) continue;
        const int32_t id = v->slot[find_slot(v, hash_to[n - 1], piece, prefix + n)];
        if (id < 0) continue;
        *end = begin + n;
        return id;
    }
    return -1;
}

size_t pod_vocab_split(const pod_vocab *v, const char *word, size_t bytes, int32_t id[])
{
    size_t n = 0;
    for (size_t begin = 0; begin < bytes;) {
        id[n] = find_longest(v, word, bytes, begin, &begin);
        if (id[n++] < 0) return 0;
    }
    return n;
}
