/* The products of amx_dw/dw.c in tile registers: sums stay in two, three or four of them while the
 * pixels pass. */
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx_dw/dw.h"

void pod__dw_begin(void) { pod_amx_begin(); }
void pod__dw_end(void) { pod_amx_end(); }

/* What one loop over the pixels sees. */
typedef struct unit {
    const char *a[2], *b[4];
    float *c[8]; /* a's first row of tiles, then the second */
    int64_t n_steps, c_bytes;
    bool adds;
} unit;

#define EACH_C_4(DO)     DO(0) DO(1) DO(2) DO(3)
#define EACH_C_3(DO)     DO(0) DO(1) DO(2)
#define EACH_C_2(DO)     DO(0) DO(1)
#define EACH_C_1(DO)     DO(0)
#define LOAD_C(i)        _tile_loadd(i, u->c[i], (size_t)u->c_bytes);
#define ZERO_C(i)        _tile_zero(i);
#define STORE_C(i)       _tile_stored(i, u->c[i], (size_t)u->c_bytes);
#define LOAD(tile, from) _tile_loadd(tile, (from) + at, POD_AMX_ROW_BYTES)

#define UNIT(name, EACH, STEP)                                     \
    static void name(const unit *u)                                \
    {                                                              \
        if (u->adds) {                                             \
            EACH(LOAD_C)                                           \
        } else {                                                   \
            EACH(ZERO_C)                                           \
        }                                                          \
        const int64_t end = u->n_steps * POD__DW_TILE_BYTES;       \
        for (int64_t at = 0; at < end; at += POD__DW_TILE_BYTES) { \
            STEP;                                                  \
        }                                                          \
        EACH(STORE_C)                                              \
    }

UNIT(unit_2x2, EACH_C_4, LOAD(6, u->b[0]); LOAD(4, u->a[0]); _tile_dpbf16ps(0, 4, 6);
     LOAD(5, u->a[1]); _tile_dpbf16ps(2, 5, 6); LOAD(7, u->b[1]); _tile_dpbf16ps(1, 4, 7);
     _tile_dpbf16ps(3, 5, 7))
UNIT(unit_2x1, EACH_C_2, LOAD(6, u->b[0]); LOAD(4, u->a[0]); _tile_dpbf16ps(0, 4, 6);
     LOAD(5, u->a[1]); _tile_dpbf16ps(1, 5, 6))
UNIT(unit_1x4, EACH_C_4, LOAD(4, u->a[0]); LOAD(5, u->b[0]); _tile_dpbf16ps(0, 4, 5);
     LOAD(6, u->b[1]); _tile_dpbf16ps(1, 4, 6); LOAD(7, u->b[2]); _tile_dpbf16ps(2, 4, 7);
     LOAD(5, u->b[3]); _tile_dpbf16ps(3, 4, 5))
UNIT(unit_1x3, EACH_C_3, LOAD(4, u->a[0]); LOAD(5, u->b[0]); _tile_dpbf16ps(0, 4, 5);
     LOAD(6, u->b[1]); _tile_dpbf16ps(1, 4, 6); LOAD(7, u->b[2]); _tile_dpbf16ps(2, 4, 7))
UNIT(unit_1x2, EACH_C_2, LOAD(4, u->a[0]); LOAD(5, u->b[0]); _tile_dpbf16ps(0, 4, 5);
     LOAD(6, u->b[1]); _tile_dpbf16ps(1, 4, 6))
UNIT(unit_1x1, EACH_C_1, LOAD(4, u->a[0]); LOAD(5, u->b[0]); _tile_dpbf16ps(0, 4, 5))

/* n tiles of columns from `first` on, with m tiles of channels from m_first on. */
static void run_unit(const pod__dw_product *p, int64_t m_first, int m, int64_t first, int n)
{
    static void (*const units[2][4])(const unit *) = {{unit_1x1, unit_1x2, unit_1x3, unit_1x4},
                                                      {unit_2x1, unit_2x2}};
    unit u = {.n_steps = p->n_steps, .c_bytes = p->ld * (int64_t)sizeof(float), .adds = p->adds};
    for (int j = 0; j < n; j++) u.b[j] = (const char *)p->paired[first + j];
    for (int i = 0; i < m; i++) {
        u.a[i] = (const char *)(p->transposed + (m_first + i) * p->m_plane);
        for (int j = 0; j < n; j++)
            u.c[i * n + j] = p->sums + (m_first + i) * POD__DW_TILE * p->ld + p->column[first + j];
    }
    units[m - 1][n - 1](&u);
}

/* All m tiles from m_first on, m at a time, with the columns in groups as even as they can be. */
static void multiply_rows(const pod__dw_product *p, int64_t m_first, int64_t m_end, int m,
                          int64_t most)
{
    const int64_t n_groups = (p->n_tiles + most - 1) / most;
    for (int64_t g = 0; g < n_groups; g++) {
        const int64_t first = p->n_tiles * g / n_groups, end = p->n_tiles * (g + 1) / n_groups;
        for (int64_t i = m_first; i < m_end; i += m) run_unit(p, i, m, first, (int)(end - first));
    }
}

void pod__dw_multiply(const pod__dw_product *p)
{
    const int64_t even = p->m_tiles / 2 * 2;
    pod_amx_order();
    if (even > 0) multiply_rows(p, 0, even, 2, 2);
    if (even < p->m_tiles) multiply_rows(p, even, p->m_tiles, 1, 4);
}
