#include "collectives/algo/rules.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/parse.h"

typedef struct rule {
    int64_t from, to; /* bytes; to is INT64_MAX where the end is open */
    const pod_coll_algo *algo;
    int64_t chunk_bytes; /* 0: the rule names none */
} rule;

struct pod_coll_rules {
    rule *rules;
    int n_rules;
};

/* ---- text ---------------------------------------------------------------------------------- */

static pod_status parse_collective(const char *text, pod_coll *out)
{
    if (pod_coll_parse(text, out)) return POD_OK;
    return pod_fail(
        POD_E_INVALID,
        "rules: '%s' is neither a collective (allreduce, reduce_scatter, allgather, "
        "broadcast, alltoall, reduce, sendrecv) nor a range of sizes (like 0-64K, 64K-)",
        text);
}

static pod_status parse_range(char *text, rule *out)
{
    char *dash = strchr(text, '-');
    if (!dash) return pod_fail(POD_E_INVALID, "rules: range '%s' has no '-'", text);
    *dash = '\0';
    POD_TRY(pod_parse_size("rules: lower end", text, &out->from));
    out->to = INT64_MAX;
    if (dash[1] != '\0') POD_TRY(pod_parse_size("rules: upper end", dash + 1, &out->to));
    if (out->from >= out->to)
        return pod_fail(POD_E_INVALID, "rules: the range from %" PRId64 " to %" PRId64 " is empty",
                        out->from, out->to);
    return POD_OK;
}

static pod_status find_algo(pod_coll coll, const char *name, const pod_coll_algo **out)
{
    *out = pod_coll_find(coll, name);
    if (*out) return POD_OK;
    char names[512] = "";
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++) {
        if (algos[i].coll != coll) continue;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", algos[i].name);
    }
    return pod_fail(POD_E_INVALID, "rules: '%s' is no algorithm of %s (%s)", name,
                    pod_coll_name(coll), names);
}

static pod_status check_takes_chunk(const pod_coll_algo *algo, const char *chunk)
{
    if (algo->takes_chunk) return POD_OK;
    char names[256] = "";
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++) {
        if (algos[i].coll != algo->coll || !algos[i].takes_chunk) continue;
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", algos[i].name);
    }
    return pod_fail(POD_E_INVALID, "rules: %s moves no blocks in chunks, found '@%s'%s%s%s",
                    algo->name, chunk, *names ? " (those that do: " : "", names, *names ? ")" : "");
}

/* The part of *rest before the separator; *rest becomes what follows, NULL when nothing does. */
static char *take(char **rest, char separator)
{
    char *part = *rest;
    char *end = strchr(part, separator);
    *rest = end ? end + 1 : NULL;
    if (end) *end = '\0';
    return part;
}

/* `coll` comes in as the collective of the rule before and goes out as this one's. */
static pod_status parse_rule(char *text, pod_coll *coll, rule *out)
{
    *out = (rule){.from = 0, .to = INT64_MAX};
    char *rest = text;
    char *word = take(&rest, ':');
    if (rest && !isdigit((unsigned char)*word)) {
        POD_TRY(parse_collective(word, coll));
        word = take(&rest, ':');
    }
    if (rest) {
        POD_TRY(parse_range(word, out));
        word = take(&rest, ':');
    }
    if (rest)
        return pod_fail(POD_E_INVALID, "rules: '%s' stands behind algorithm '%s'", rest, word);
    char *chunk = word;
    word = take(&chunk, '@');
    if (chunk) POD_TRY(pod_parse_size("rules: chunk", chunk, &out->chunk_bytes));
    if (chunk && out->chunk_bytes == 0)
        return pod_fail(POD_E_INVALID, "rules: a chunk of 0 bytes for '%s'", word);
    POD_TRY(find_algo(*coll, word, &out->algo));
    return chunk ? check_takes_chunk(out->algo, chunk) : POD_OK;
}

static int count_of(const char *text, char c)
{
    int n = 0;
    for (; *text; text++) n += *text == c;
    return n;
}

/* Room for so many rules; none is there yet. */
static pod_status create_rules(pod_arena *a, int capacity, pod_coll_rules **out)
{
    pod_coll_rules *r = POD_ARENA_NEW(a, pod_coll_rules, 1);
    rule *rules = POD_ARENA_NEW(a, rule, capacity);
    if (!r || !rules) return POD_E_NOMEM;
    *r = (pod_coll_rules){rules, 0};
    *out = r;
    return POD_OK;
}

static pod_status parse_rules(char *text, pod_coll *coll, pod_coll_rules *r)
{
    for (char *rest = text; rest; r->n_rules++)
        POD_TRY(parse_rule(take(&rest, ';'), coll, &r->rules[r->n_rules]));
    return POD_OK;
}

pod_status pod_coll_rules_parse(pod_arena *a, const char *text, pod_coll_rules **out)
{
    char *copy = pod_arena_text(a, "%s", text);
    pod_coll_rules *r = NULL;
    if (!copy) return POD_E_NOMEM;
    POD_TRY(create_rules(a, count_of(text, ';') + 1, &r));
    pod_coll coll = POD_ALLREDUCE;
    POD_TRY(parse_rules(copy, &coll, r));
    *out = r;
    return POD_OK;
}

/* ---- file ---------------------------------------------------------------------------------- */

/* The whole file as a text. */
static pod_status read_text(const char *path, char text[POD_COLL_RULES_FILE_BYTES + 2])
{
    FILE *file = fopen(path, "r");
    if (!file) return pod_fail(POD_E_IO, "%s: %s", path, strerror(errno));
    const size_t n = fread(text, 1, POD_COLL_RULES_FILE_BYTES + 1, file);
    const bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) return pod_fail(POD_E_IO, "%s: it cannot be read", path);
    if (n > POD_COLL_RULES_FILE_BYTES)
        return pod_fail(POD_E_INVALID, "%s: more than %d bytes of rules", path,
                        (int)POD_COLL_RULES_FILE_BYTES);
    text[n] = '\0';
    if (strlen(text) < n) return pod_fail(POD_E_INVALID, "%s: a byte 0 in a text", path);
    return POD_OK;
}

/* What of a line is rules, without blanks around it. */
static char *rules_of_line(char *line)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\r");
    size_t n = strlen(line);
    while (n > 0 && strchr(" \t\r", line[n - 1])) n--;
    line[n] = '\0';
    return line;
}

pod_status pod_coll_rules_read(pod_arena *a, const char *path, pod_coll_rules **out)
{
    char *rest = POD_ARENA_NEW(a, char, POD_COLL_RULES_FILE_BYTES + 2);
    pod_coll_rules *r = NULL;
    if (!rest) return POD_E_NOMEM;
    POD_TRY(read_text(path, rest));
    POD_TRY(create_rules(a, count_of(rest, ';') + count_of(rest, '\n') + 1, &r));
    pod_coll coll = POD_ALLREDUCE;
    for (int line = 1; rest; line++) {
        char *rules = rules_of_line(take(&rest, '\n'));
        if (*rules == '\0') continue;
        const pod_status parsed = parse_rules(rules, &coll, r);
        if (parsed != POD_OK) return pod_fail(parsed, "%s:%d: %s", path, line, pod_error_text());
    }
    if (r->n_rules == 0) return pod_fail(POD_E_INVALID, "%s: there is no rule in it", path);
    *out = r;
    return POD_OK;
}

pod_status pod_coll_rules_load(pod_arena *a, const char *text, pod_coll_rules **out)
{
    return text[0] == '@' ? pod_coll_rules_read(a, text + 1, out)
                          : pod_coll_rules_parse(a, text, out);
}

/* ---- print --------------------------------------------------------------------------------- */

static const char *print_range(const rule *r, char text[64])
{
    char from[32];
    char to[32] = "";
    pod_print_size(r->from, from, sizeof from);
    if (r->to != INT64_MAX) pod_print_size(r->to, to, sizeof to);
    snprintf(text, 64, "%s-%s", from, to);
    return text;
}

/* "@256K", or nothing. */
static const char *print_chunk(const rule *r, char text[40])
{
    char size[32];
    snprintf(text, 40, "%s%s", r->chunk_bytes ? "@" : "",
             r->chunk_bytes ? pod_print_size(r->chunk_bytes, size, sizeof size) : "");
    return text;
}

const char *pod_coll_rules_print(pod_arena *a, const pod_coll_rules *r)
{
    const char *text = "";
    pod_coll coll = POD_N_COLLS;
    for (int i = 0; i < r->n_rules && text; i++) {
        const rule *rule_i = &r->rules[i];
        bool is_new = rule_i->algo->coll != coll;
        char range[64], chunk[40];
        coll = rule_i->algo->coll;
        text = pod_arena_text(a, "%s%s%s%s%s:%s%s", text, i ? ";" : "",
                              is_new ? pod_coll_name(coll) : "", is_new ? ":" : "",
                              print_range(rule_i, range), rule_i->algo->name,
                              print_chunk(rule_i, chunk));
    }
    return text;
}

/* ---- choice -------------------------------------------------------------------------------- */

static bool covers(const rule *r, const pod_coll_args *args, int64_t bytes)
{
    return r->algo->coll == args->coll && r->from <= bytes && bytes < r->to;
}

static int64_t bytes_of(const pod_coll_args *args)
{
    return args->count * (int64_t)pod_dtype_bytes(args->dtype);
}

/* Whether the candidate applies; tells `out`, unless that is NULL. */
static bool try_candidate(FILE *out, const pod_coll_algo *algo, const char *from, const pod_mesh *m,
                          const pod_coll_args *args)
{
    const char *reason = algo->why_not(m, args);
    if (out && reason) fprintf(out, "  %s (%s) refuses: %s\n", algo->name, from, reason);
    if (out && !reason) fprintf(out, "  %s (%s): %s\n", algo->name, from, algo->good_for);
    return !reason;
}

static const pod_coll_algo *choose(FILE *out, const pod_coll_rules *r, const pod_mesh *m,
                                   pod_coll_args *args)
{
    int64_t bytes = bytes_of(args);
    for (int i = 0; i < r->n_rules; i++) {
        const rule *rule_i = &r->rules[i];
        if (!covers(rule_i, args, bytes)) continue;
        char range[64], chunk[40], from[120];
        snprintf(from, sizeof from, "rule %s%s%s", print_range(rule_i, range),
                 rule_i->chunk_bytes ? " " : "", print_chunk(rule_i, chunk));
        pod_coll_args with = *args;
        if (rule_i->chunk_bytes) with.chunk_bytes = rule_i->chunk_bytes;
        if (!try_candidate(out, rule_i->algo, from, m, &with)) continue;
        *args = with;
        return rule_i->algo;
    }
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++)
        if (algos[i].coll == args->coll && try_candidate(out, &algos[i], "no rule", m, args))
            return &algos[i];
    POD_ASSERT(false, "no algorithm of %s applies", pod_coll_name(args->coll));
    return NULL;
}

const pod_coll_algo *pod_coll_pick(const pod_coll_rules *r, const pod_mesh *m, pod_coll_args *args)
{
    return choose(NULL, r, m, args);
}

bool pod_coll_rules_apply(const pod_coll_rules *r, const pod_mesh *m, const pod_coll_args *args,
                          pod_coll_refusal *why_not)
{
    pod_coll_refusal first = {NULL, NULL};
    for (int i = 0; i < r->n_rules; i++) {
        if (!covers(&r->rules[i], args, bytes_of(args))) continue;
        pod_coll_args with = *args;
        if (r->rules[i].chunk_bytes) with.chunk_bytes = r->rules[i].chunk_bytes;
        const char *reason = r->rules[i].algo->why_not(m, &with);
        if (!reason) return true;
        if (!first.algo) first = (pod_coll_refusal){r->rules[i].algo, reason};
    }
    *why_not = first;
    return false;
}

const char *pod_coll_rules_missed(pod_arena *a, const pod_coll_rules *r, const pod_mesh *m,
                                  const pod_coll_args args[], int n)
{
    int n_missed = 0, largest = 0;
    pod_coll_refusal why = {NULL, NULL}, found;
    for (int i = 0; i < n; i++) {
        if (pod_coll_rules_apply(r, m, &args[i], &found)) continue;
        if (n_missed++ > 0 && bytes_of(&args[i]) <= bytes_of(&args[largest])) continue;
        largest = i;
        why = found;
    }
    if (n_missed == 0) return NULL;
    pod_coll_args with = args[largest];
    const char *name = pod_coll_name(with.coll), *runs = pod_coll_pick(r, m, &with)->name;
    const int64_t bytes = bytes_of(&with);
    char of[64] = "";
    if (n_missed > 1) snprintf(of, sizeof of, " (the largest of %d that go by no rule)", n_missed);
    if (why.algo)
        return pod_arena_text(a, "algo: %s refuses (%s): %s of %" PRId64 " bytes goes by %s%s",
                              why.algo->name, why.reason, name, bytes, runs, of);
    return pod_arena_text(a, "algo: no rule is for %s of %" PRId64 " bytes, which goes by %s%s",
                          name, bytes, runs, of);
}

void pod_coll_explain(FILE *out, const pod_coll_rules *r, const pod_mesh *m,
                      const pod_coll_args *args)
{
    char size[32];
    pod_coll_args picked = *args;
    fprintf(out, "%s of %s over %d ranks\n", pod_coll_name(args->coll),
            pod_print_size(bytes_of(args), size, sizeof size), pod_group_size(m, &args->group));
    choose(out, r, m, &picked);
}
