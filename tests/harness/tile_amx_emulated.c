#include "tests/harness/tile_amx_emulated.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/assert.h"

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64, SOURCES = 16 };

/* What ldtilecfg reads. */
typedef struct layout {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[TILES], no_row_bytes[TILES];
    uint8_t rows[TILES], no_rows[TILES];
} layout;

_Static_assert(sizeof(layout) == 64, "ldtilecfg reads 64 bytes");

/* What is beyond its rows and their bytes is zero. */
typedef struct tile {
    int rows;
    size_t row_bytes;
    _Alignas(ROW_BYTES) unsigned char row[ROWS][ROW_BYTES];
} tile;

typedef struct source {
    const char *name;
    int64_t n_products;
} source;

static _Thread_local struct {
    bool is_configured;
    tile tiles[TILES];
    source sources[SOURCES];
} unit;

static bool is_zero(const void *bytes, size_t n)
{
    static const unsigned char zeros[ROW_BYTES];
    return memcmp(bytes, zeros, n) == 0;
}

static void shape_tile(int i, int rows, size_t row_bytes)
{
    tile *t = &unit.tiles[i];
    t->rows = rows;
    t->row_bytes = row_bytes;
    memset(t->row, 0, sizeof t->row);
}

void pod_test_tiles_configure(const void *config)
{
    layout of;
    memcpy(&of, config, sizeof of);
    POD_ASSERT(of.palette == 1, "palette %d, need 1", of.palette);
    POD_ASSERT(of.start_row == 0 && is_zero(of.reserved, sizeof of.reserved) &&
                   is_zero(of.no_row_bytes, sizeof of.no_row_bytes) &&
                   is_zero(of.no_rows, sizeof of.no_rows),
               "what is reserved in the configuration is not zero");
    for (int i = 0; i < TILES; i++) {
        POD_ASSERT(of.rows[i] <= ROWS && of.row_bytes[i] <= ROW_BYTES &&
                       (of.rows[i] == 0) == (of.row_bytes[i] == 0),
                   "tile %d has %d rows of %d bytes", i, of.rows[i], of.row_bytes[i]);
        shape_tile(i, of.rows[i], of.row_bytes[i]);
    }
    unit.is_configured = true;
}

void pod_test_tiles_release(void)
{
    for (int i = 0; i < TILES; i++) shape_tile(i, 0, 0);
    unit.is_configured = false;
}

static tile *tile_at(int i)
{
    POD_ASSERT(i >= 0 && i < TILES, "tile %d of %d", i, TILES);
    POD_ASSERT(unit.is_configured && unit.tiles[i].rows > 0, "tile %d is not configured", i);
    return &unit.tiles[i];
}

void pod_test_tile_zero(int i)
{
    tile *t = tile_at(i);
    memset(t->row, 0, sizeof t->row);
}

void pod_test_tile_load(int i, const void *from, int64_t row_bytes)
{
    tile *t = tile_at(i);
    for (int r = 0; r < t->rows; r++)
        memcpy(t->row[r], (const char *)from + r * row_bytes, t->row_bytes);
}

void pod_test_tile_store(int i, void *to, int64_t row_bytes)
{
    const tile *t = tile_at(i);
    for (int r = 0; r < t->rows; r++) memcpy((char *)to + r * row_bytes, t->row[r], t->row_bytes);
}

/* The values of a row's pairs (2i, 2i + 1). */
static inline __m512 first_of(__m512i pairs)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
}

static inline __m512 second_of(__m512i pairs)
{
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000)));
}

/* For each row the products of first values are summed up, those of second values are, both one
 * after another; then the one sum is added to the other, and this to what the row held. Only tiles
 * are touched, so there is nothing to watch. Not inline: MXCSR is set around it. */
__attribute__((noinline, no_sanitize("address"), no_sanitize("undefined"))) static void multiply(
    tile *sums, const tile *a, const tile *b)
{
    __m512 first[ROWS], second[ROWS]; /* of b */
    for (int k = 0; k < b->rows; k++) {
        const __m512i pairs = _mm512_load_si512(b->row[k]);
        first[k] = first_of(pairs), second[k] = second_of(pairs);
    }
    const __mmask16 columns = (__mmask16)((1u << sums->row_bytes / 4) - 1u);
    for (int m = 0; m < sums->rows; m++) {
        const int *of_a = (const void *)a->row[m];
        __m512 sum_of_first = _mm512_setzero_ps(), sum_of_second = _mm512_setzero_ps();
        for (int k = 0; k < b->rows; k++) {
            const __m512i pair = _mm512_set1_epi32(of_a[k]);
            sum_of_first = _mm512_fmadd_ps(first_of(pair), first[k], sum_of_first);
            sum_of_second = _mm512_fmadd_ps(second_of(pair), second[k], sum_of_second);
        }
        const __m512 sum = _mm512_add_ps(sum_of_first, sum_of_second);
        const __m512 before = _mm512_load_ps(sums->row[m]);
        _mm512_store_ps(sums->row[m], _mm512_maskz_add_ps(columns, before, sum));
    }
}

static void count_product(const char *name)
{
    source *s = unit.sources, *end = s + SOURCES;
    while (s < end && s->name && s->name != name) s++;
    POD_ASSERT(s < end, "%s is one of more than %d sources", name, SOURCES);
    s->name = name;
    s->n_products++;
}

void pod_test_tile_multiply(int sums, int a, int b, const char *name)
{
    /* To nearest, ties to even; subnormals are zeros; nothing is trapped. */
    const unsigned as_tiles_round = 0x9fc0, before = _mm_getcsr();
    tile *to = tile_at(sums);
    const tile *of_a = tile_at(a), *of_b = tile_at(b);
    POD_ASSERT(sums != a && sums != b && a != b, "tiles %d, %d and %d are not three", sums, a, b);
    POD_ASSERT(to->row_bytes % 4 == 0 && of_a->row_bytes % 4 == 0 && of_b->row_bytes % 4 == 0,
               "tiles %d, %d and %d have rows of %zu, %zu and %zu bytes, need whole pairs", sums, a,
               b, to->row_bytes, of_a->row_bytes, of_b->row_bytes);
    POD_ASSERT(to->rows == of_a->rows && to->row_bytes == of_b->row_bytes &&
                   of_a->row_bytes == 4 * (size_t)of_b->rows,
               "tile %d of %dx%zu bytes += %d of %dx%zu by %d of %dx%zu", sums, to->rows,
               to->row_bytes, a, of_a->rows, of_a->row_bytes, b, of_b->rows, of_b->row_bytes);
    _mm_setcsr(as_tiles_round);
    multiply(to, of_a, of_b);
    _mm_setcsr(before);
    count_product(name);
}

int64_t pod_test_tiles_report(void)
{
    int64_t n_products = 0;
    POD_ASSERT(!unit.is_configured, "tiles were not released");
    for (int i = 0; i < SOURCES && unit.sources[i].name; i++) {
        const source *s = &unit.sources[i];
        const char *slash = strrchr(s->name, '/');
        printf("%s: %lld products of emulated tiles\n", slash ? slash + 1 : s->name,
               (long long)s->n_products);
        n_products += s->n_products;
    }
    return n_products;
}
