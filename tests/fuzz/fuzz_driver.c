/* A main for fuzz targets where libFuzzer is absent (gcc): NAME [--runs N] [--seed N] PATH...
 *
 * Calls LLVMFuzzerTestOneInput with the empty input, with every file of the PATHs (files, or
 * folders of files), and then with N mutations of them. The n-th input depends only on the seed
 * and the files: what passes here passes on a faster machine. An input that crashes the target, or
 * holds it longer than HANG_S, is written to "NAME.crash" in the working directory; given as a PATH
 * it is tried alone. There is no guidance by coverage: libFuzzer (POD_FUZZ with clang) digs deeper,
 * this guards what it found. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "kernels/base/parse.h"
#include "kernels/base/rng.h"

enum { MAX_BYTES = 1 << 16, MAX_SEEDS = 256, MAX_EDITS = 6, HANG_S = 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

typedef struct input {
    uint8_t *data;
    size_t bytes;
} input;

static input seeds[MAX_SEEDS];
static int n_seeds;
static uint8_t work[MAX_BYTES];

/* What the signal handler needs. */
static const uint8_t *volatile running;
static volatile size_t running_bytes;
static char crash_path[256];

static void on_crash(int signal_number)
{
    int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0) {
        ssize_t written = write(fd, running, running_bytes);
        (void)written;
        close(fd);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* The input lies in memory of exactly its size, so that a sanitizer sees every byte beyond it. */
static void try_input(const uint8_t *data, size_t bytes)
{
    uint8_t *exact = malloc(bytes ? bytes : 1);
    POD_ASSERT(exact, "no memory for %zu bytes", bytes);
    if (bytes) memcpy(exact, data, bytes);
    running = exact;
    running_bytes = bytes;
    alarm(HANG_S);
    (void)LLVMFuzzerTestOneInput(exact, bytes);
    alarm(0);
    free(exact);
}

static void add_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || n_seeds == MAX_SEEDS) {
        fprintf(stderr, "%s: %s\n", path, f ? "too many files" : "cannot be read");
        exit(2);
    }
    size_t bytes = fread(work, 1, sizeof work, f);
    fclose(f);
    uint8_t *data = malloc(bytes ? bytes : 1);
    POD_ASSERT(data, "no memory for %zu bytes", bytes);
    memcpy(data, work, bytes);
    seeds[n_seeds++] = (input){data, bytes};
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_path(const char *path)
{
    struct dirent **entry;
    int n = scandir(path, &entry, NULL, by_name);
    if (n < 0) {
        add_file(path);
        return;
    }
    for (int i = 0; i < n; i++) {
        char child[1024];
        snprintf(child, sizeof child, "%s/%s", path, entry[i]->d_name);
        if (entry[i]->d_name[0] != '.') add_file(child);
        free(entry[i]);
    }
    free(entry);
}

/* ---- mutations: each edits work[0 .. bytes) and answers the new length ----------------------- */

static size_t below(pod_rng *r, size_t n) { return n ? (size_t)pod_rng_below(r, n) : 0; }

static size_t flip_bit(pod_rng *r, size_t bytes)
{
    if (bytes) work[below(r, bytes)] ^= (uint8_t)(1u << below(r, 8));
    return bytes;
}

static size_t set_byte(pod_rng *r, size_t bytes)
{
    static const uint8_t edges[] = {0,   1,   0x7f, 0x80, 0xff, ' ', '\n',
                                    '"', '-', '0',  '9',  '=',  '['};
    uint8_t value = below(r, 2) ? edges[below(r, sizeof edges)] : (uint8_t)pod_rng_u32(r);
    if (bytes) work[below(r, bytes)] = value;
    return bytes;
}

/* A 32-bit number at the edge of its range, in either byte order: lengths and magic numbers. */
static size_t set_word(pod_rng *r, size_t bytes)
{
    static const uint32_t edges[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x01000000, 0x10000};
    uint32_t value = edges[below(r, sizeof edges / sizeof edges[0])];
    if (bytes >= sizeof value) memcpy(work + below(r, bytes - 3), &value, sizeof value);
    return bytes;
}

static size_t cut_span(pod_rng *r, size_t bytes)
{
    size_t at = below(r, bytes), n = below(r, bytes - at + 1);
    memmove(work + at, work + at + n, bytes - at - n);
    return bytes - n;
}

static size_t cut_tail(pod_rng *r, size_t bytes) { return below(r, bytes + 1); }

static size_t insert(pod_rng *r, size_t bytes, const uint8_t *from, size_t n)
{
    if (n > sizeof work - bytes) n = sizeof work - bytes;
    size_t at = below(r, bytes + 1);
    memmove(work + at + n, work + at, bytes - at);
    memcpy(work + at, from, n);
    return bytes + n;
}

static size_t repeat_span(pod_rng *r, size_t bytes)
{
    static uint8_t copy[MAX_BYTES];
    size_t at = below(r, bytes), n = below(r, bytes - at + 1);
    memcpy(copy, work + at, n);
    return insert(r, bytes, copy, n);
}

static size_t splice(pod_rng *r, size_t bytes)
{
    const input other = seeds[below(r, (size_t)n_seeds)];
    size_t at = below(r, other.bytes), n = below(r, other.bytes - at + 1);
    return insert(r, bytes, other.data + at, n);
}

static size_t insert_number(pod_rng *r, size_t bytes)
{
    static const char *const numbers[] = {"-1",    "0",   "2147483648", "9223372036854775807",
                                          "1e999", "nan", "-0.0",       "99999999999999999999"};
    const char *text = numbers[below(r, sizeof numbers / sizeof numbers[0])];
    return insert(r, bytes, (const uint8_t *)text, strlen(text));
}

typedef size_t edit_fn(pod_rng *r, size_t bytes);
static edit_fn *const edits[] = {flip_bit, set_byte,    set_word, cut_span,
                                 cut_tail, repeat_span, splice,   insert_number};

static void try_mutation(uint64_t seed, uint64_t n)
{
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST, .sample = n});
    const input from = seeds[below(&r, (size_t)n_seeds)];
    size_t bytes = from.bytes, n_edits = 1 + below(&r, MAX_EDITS);
    memcpy(work, from.data, bytes);
    for (size_t i = 0; i < n_edits; i++)
        bytes = edits[below(&r, sizeof edits / sizeof edits[0])](&r, bytes);
    try_input(work, bytes);
}

static int parse_arguments(int argc, char **argv, int64_t *runs, int64_t *seed)
{
    for (int i = 1; i < argc; i++) {
        int64_t *number = strcmp(argv[i], "--runs") == 0   ? runs
                          : strcmp(argv[i], "--seed") == 0 ? seed
                                                           : NULL;
        if (!number) {
            add_path(argv[i]);
        } else if (i + 1 == argc ||
                   pod_parse_int(argv[i], argv[i + 1], 0, INT32_MAX, number) != POD_OK) {
            fprintf(stderr, "%s: want a whole number\n", argv[i]);
            return 2;
        } else {
            i++;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    int64_t runs = 20000, seed = 1;
    int exit_code = parse_arguments(argc, argv, &runs, &seed);
    if (exit_code) return exit_code;
    const char *slash = strrchr(argv[0], '/');
    snprintf(crash_path, sizeof crash_path, "%s.crash", slash ? slash + 1 : argv[0]);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++) signal(caught[i], on_crash);

    try_input(work, 0);
    for (int i = 0; i < n_seeds; i++) try_input(seeds[i].data, seeds[i].bytes);
    if (n_seeds == 0) runs = 0;
    for (int64_t n = 0; n < runs; n++) try_mutation((uint64_t)seed, (uint64_t)n);
    printf("%s: %d files, %lld mutations with seed %lld\n", argv[0], n_seeds, (long long)runs,
           (long long)seed);
    for (int i = 0; i < n_seeds; i++) free(seeds[i].data);
    return 0;
}
