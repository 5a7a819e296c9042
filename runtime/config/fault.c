#include "runtime/config/fault.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/parse.h"

enum { MAX_RANK = 1 << 24, MAX_DIM = 2, WORD_BYTES = 64, WHAT_BYTES = 160 };
static const int64_t MAX_NUMBER = (int64_t)1 << 52;

static const struct {
    const char *name, *must, *may, *what;
} kinds[] = {
#define POD_FAULT(id, name, must, may, what) {name, must, may, what},
#include "runtime/config/fault.def"
};

static const char kind_names[] =
#define POD_FAULT(id, name, must, may, what) " " name
#include "runtime/config/fault.def"
    ;

const char *pod_fault_name(pod_fault_kind k) { return kinds[k].name; }

void pod_fault_help(FILE *to)
{
    for (int k = 0; k < POD_N_FAULT_KINDS; k++) {
        char keys[WORD_BYTES];
        snprintf(keys, sizeof keys, "%s%s%s%s", kinds[k].must, *kinds[k].may ? " [" : "",
                 kinds[k].may, *kinds[k].may ? "]" : "");
        fprintf(to, "  %-19s%-28s%s\n", kinds[k].name, keys, kinds[k].what);
    }
}

/* Returns whether `word` is in a list of words; *place is the number of words before it. */
static bool has_word(const char *list, const char *word, int *place)
{
    const size_t length = strlen(word);
    *place = 0;
    for (const char *at = list; *at; (*place)++) {
        const size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, word, n) == 0) return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static int n_words(const char *list)
{
    int n;
    (void)has_word(list, "", &n);
    return n;
}

/* The next of the parts that `separators` divide, cut to WORD_BYTES; NULL behind the last. */
static const char *next_part(const char *at, const char *separators, char word[WORD_BYTES])
{
    const size_t n = strcspn(at, separators);
    snprintf(word, WORD_BYTES, "%.*s", (int)(n < WORD_BYTES ? n : WORD_BYTES - 1), at);
    return at[n] ? at + n + 1 : NULL;
}

const char *pod_fault_print(const pod_fault *f, char text[POD_FAULT_TEXT_BYTES])
{
    const struct {
        const char *name;
        double value;
    } keys[] = {{"rank", f->rank},           {"dim", f->dim},           {"factor", f->factor},
                {"step", (double)f->step},   {"from", (double)f->from}, {"until", (double)f->until},
                {"write", (double)f->write}, {"byte", (double)f->byte}};
    int place;
    size_t used = (size_t)snprintf(text, POD_FAULT_TEXT_BYTES, "%s", kinds[f->kind].name);
    char separator = ':';
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const bool is_must = has_word(kinds[f->kind].must, keys[i].name, &place);
        if (!is_must && (keys[i].value == 0 || !has_word(kinds[f->kind].may, keys[i].name, &place)))
            continue;
        used += (size_t)snprintf(text + used, POD_FAULT_TEXT_BYTES - used, "%c%s=%.16g", separator,
                                 keys[i].name, keys[i].value);
        separator = ',';
    }
    return text;
}

static pod_status set_key(pod_fault *f, const char *what, const char *key, const char *value)
{
    if (strcmp(key, "factor") == 0) return pod_parse_double(what, value, 1e-6, 1e6, &f->factor);
    int64_t number;
    const bool is_rank = strcmp(key, "rank") == 0, is_dim = strcmp(key, "dim") == 0;
    POD_TRY(pod_parse_int(what, value, is_rank || is_dim || strcmp(key, "byte") == 0 ? 0 : 1,
                          is_rank  ? MAX_RANK
                          : is_dim ? MAX_DIM
                                   : MAX_NUMBER,
                          &number));
    if (is_rank)
        f->rank = (int)number;
    else if (is_dim)
        f->dim = (int)number;
    else if (strcmp(key, "step") == 0)
        f->step = number;
    else if (strcmp(key, "from") == 0)
        f->from = number;
    else if (strcmp(key, "until") == 0)
        f->until = number;
    else if (strcmp(key, "write") == 0)
        f->write = number;
    else
        f->byte = number;
    return POD_OK;
}

static pod_status parse_keys(const char *text, pod_fault *f)
{
    const char *must = kinds[f->kind].must, *may = kinds[f->kind].may;
    char part[WORD_BYTES], what[WHAT_BYTES];
    unsigned seen = 0;
    for (const char *at = *text ? text : NULL; at;) {
        int place, of_may;
        at = next_part(at, ",", part);
        char *value = strchr(part, '=');
        if (!value)
            return pod_fail(POD_E_INVALID, "fault: '%s' of %s is not key=value", part,
                            kinds[f->kind].name);
        *value++ = '\0';
        const bool is_must = has_word(must, part, &place);
        if (!is_must && !has_word(may, part, &of_may))
            return pod_fail(POD_E_INVALID, "fault: %s takes '%s%s%s', found '%s'",
                            kinds[f->kind].name, must, *may ? " " : "", may, part);
        const unsigned bit = 1u << (is_must ? place : n_words(must) + of_may);
        if (seen & bit)
            return pod_fail(POD_E_INVALID, "fault: %s of %s stands twice", part,
                            kinds[f->kind].name);
        seen |= bit;
        snprintf(what, sizeof what, "fault: %s of %s", part, kinds[f->kind].name);
        POD_TRY(set_key(f, what, part, value));
    }
    const unsigned all = (1u << n_words(must)) - 1;
    if ((seen & all) != all)
        return pod_fail(POD_E_INVALID, "fault: %s wants '%s', found '%s'", kinds[f->kind].name,
                        must, text);
    return POD_OK;
}

static pod_status parse_one(const char *text, pod_fault *out)
{
    char word[WORD_BYTES];
    const char *keys = next_part(text, ":", word);
    pod_fault f = {0};
    while (f.kind < POD_N_FAULT_KINDS && strcmp(kinds[f.kind].name, word) != 0) f.kind++;
    if (f.kind == POD_N_FAULT_KINDS)
        return pod_fail(POD_E_INVALID, "fault: '%s' is none of%s", word, kind_names);
    POD_TRY(parse_keys(keys ? keys : "", &f));
    if (f.until > 0 && f.until < f.from)
        return pod_fail(POD_E_INVALID, "fault: until %" PRId64 " lies before from %" PRId64,
                        f.until, f.from);
    *out = f;
    return POD_OK;
}

static bool is_slow_together(const pod_fault *a, const pod_fault *b)
{
    return a->kind == POD_FAULT_SLOW && b->kind == POD_FAULT_SLOW && a->rank == b->rank &&
           (a->until == 0 || b->from <= a->until) && (b->until == 0 || a->from <= b->until);
}

/* Two factors on one step are more often one that was typed twice than their product. */
static pod_status check_slow(const pod_fault fault[], int n)
{
    char first[POD_FAULT_TEXT_BYTES], second[POD_FAULT_TEXT_BYTES];
    for (int i = 0; i < n - 1; i++)
        if (is_slow_together(&fault[i], &fault[n - 1]))
            return pod_fail(
                POD_E_INVALID, "fault: a rank is slowed once at a step, found %s and %s",
                pod_fault_print(&fault[i], first), pod_fault_print(&fault[n - 1], second));
    return POD_OK;
}

pod_status pod_faults_parse(const char *text, pod_fault out[POD_MAX_FAULTS], int *n)
{
    enum { PART_BYTES = 256 };
    *n = 0;
    while (text && *text) {
        char part[PART_BYTES];
        const size_t length = strcspn(text, ";");
        if (length >= sizeof part)
            return pod_fail(POD_E_INVALID, "fault: '%.60s...' has more than %d bytes", text,
                            PART_BYTES - 1);
        if (*n == POD_MAX_FAULTS)
            return pod_fail(POD_E_INVALID, "fault: more than %d", POD_MAX_FAULTS);
        memcpy(part, text, length);
        part[length] = '\0';
        POD_TRY(parse_one(part, &out[(*n)++]));
        POD_TRY(check_slow(out, *n));
        text += length + (text[length] == ';');
    }
    return POD_OK;
}

pod_status pod_fault_check_rank(const pod_fault *f, int n, const char *what)
{
    if (f->rank < n) return POD_OK;
    if (n == 1)
        return pod_fail(POD_E_INVALID, "fault: %s of rank %d, but there is 1 %s: 0",
                        pod_fault_name(f->kind), f->rank, what);
    return pod_fail(POD_E_INVALID, "fault: %s of rank %d, but there are %d %ss: 0 to %d",
                    pod_fault_name(f->kind), f->rank, n, what, n - 1);
}
