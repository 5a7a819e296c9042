#include "bench/kernels/problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/parse.h"

enum { MAX_DIMENSION = 1 << 24 };

static const pod_family families[POD_N_FAMILIES] = {
#define POD_FAMILY(name, form, functions, about) {#name, POD_FORM_##form, (functions), (about)},
#include "bench/kernels/families.def"
};

const pod_family *pod_families(void) { return families; }

int pod_family_n_functions(pod_family_id family)
{
    int n = 1;
    for (const char *p = families[family].functions; *p != '\0'; p++) n += *p == '|';
    return n;
}

/* The i-th of "a|b|c": where it begins, how long it is. */
static const char *function_name(pod_family_id family, int i, int *length)
{
    const char *p = families[family].functions;
    for (; i > 0; i--) p = strchr(p, '|') + 1;
    *length = (int)strcspn(p, "|");
    return p;
}

/* ---- words that may follow a shape ----------------------------------------------------------- */

typedef struct fused_word {
    const char *word;
    unsigned product, conv; /* what it fuses, as bits of POD_GEMM_ and POD_CONV_; 0: nothing */
    unsigned passes;        /* of convolutions, 1 << each that takes it */
    bool is_by_channel;     /* depthwise forward takes it, too */
} fused_word;

enum { FORWARD = 1 << POD_CONV_FORWARD, WEIGHT_GRAD = 1 << POD_CONV_WEIGHT_GRAD };

static const fused_word fused_words[] = {
    {"affine", 0, POD_CONV_AFFINE_X, FORWARD | WEIGHT_GRAD, false},
    {"relu_x", 0, POD_CONV_RELU_X, FORWARD | WEIGHT_GRAD, false},
    {"bias", POD_GEMM_BIAS, POD_CONV_BIAS, FORWARD, false},
    {"relu", POD_GEMM_RELU, POD_CONV_RELU, FORWARD, false},
    {"sums", 0, POD_CONV_SUMS, FORWARD, true},
};

enum { N_FUSED_WORDS = sizeof fused_words / sizeof fused_words[0] };

/* 0: the problem takes no such word. */
static unsigned fused_bit(const fused_word *w, const pod_problem *p)
{
    const pod_problem_form form = families[p->family].form;
    if (form == POD_FORM_PRODUCT) return w->product;
    const bool is_conv = form == POD_FORM_CONV || (form == POD_FORM_DEPTHWISE && w->is_by_channel);
    return is_conv && p->function >= 0 && w->passes & 1u << p->function ? w->conv : 0;
}

typedef struct said_words { /* of those that exclude each other; NULL: none yet */
    const char *type, *c_type, *transposes;
} said_words;

static pod_status say_one(const char *place, const char *word, const char **said)
{
    if (*said && strcmp(*said, word) != 0)
        return pod_fail(POD_E_INVALID, "%s: '%s' and '%s' exclude each other", place, *said, word);
    *said = word;
    return POD_OK;
}

/* Words of ATTENTION; returns whether it is one. */
static bool set_attention_word(const char *word, pod_attention_shape *s)
{
    if (strcmp(word, "causal") == 0)
        s->causal = true;
    else if (strcmp(word, "drop") == 0)
        s->rate = 0.1f;
    else
        return false;
    return true;
}

static pod_status parse_word(const char *place, const char *word, said_words *said, pod_problem *p)
{
    char op[64];
    const bool is_product = families[p->family].form == POD_FORM_PRODUCT;
    const bool is_transposed = strlen(word) == 2 && strspn(word, "nt") == 2;
    const pod_dtype last_type = families[p->family].form == POD_FORM_ROWS_F32 ? POD_F32 : POD_BF16;
    for (pod_dtype t = POD_F32; t <= last_type; t++)
        if (strcmp(word, pod_dtype_name(t)) == 0) {
            p->dtype = t;
            p->has_dtype = true;
            return say_one(place, word, &said->type);
        }
    if (is_product && (strcmp(word, "c=bf16") == 0 || strcmp(word, "c=f32") == 0)) {
        p->c_dtype = strcmp(word, "c=f32") == 0 ? POD_F32 : POD_BF16;
        return say_one(place, word, &said->c_type);
    }
    if (is_product && is_transposed) {
        p->trans_a = word[0] == 't';
        p->trans_b = word[1] == 't';
        return say_one(place, word, &said->transposes);
    }
    if (families[p->family].form == POD_FORM_ATTENTION && set_attention_word(word, &p->attention))
        return POD_OK;
    for (int i = 0; i < N_FUSED_WORDS; i++)
        if (strcmp(word, fused_words[i].word) == 0 && fused_bit(&fused_words[i], p)) {
            p->fused |= fused_bit(&fused_words[i], p);
            return POD_OK;
        }
    return pod_fail(POD_E_INVALID, "%s: %s takes no word '%.40s'", place,
                    pod_problem_print_op(p, op, sizeof op), word);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static pod_status parse_dims(const char *what, const char *text, int n, int64_t dim[])
{
    int found;
    int64_t parsed[4];
    POD_TRY(pod_parse_dims(what, text, n, parsed, &found));
    if (found != n)
        return pod_fail(POD_E_INVALID, "%s: '%.80s' has %d numbers, need %d", what, text, found, n);
    for (int i = 0; i < n; i++)
        if (parsed[i] > MAX_DIMENSION)
            return pod_fail(POD_E_INVALID, "%s: %" PRId64 " is more than %d", what, parsed[i],
                            MAX_DIMENSION);
    memcpy(dim, parsed, (size_t)n * sizeof dim[0]);
    return POD_OK;
}

/* Operands of more elements than this fit no host, and their number must fit an int64_t. */
static pod_status check_count(const char *what, int n, const int64_t dim[])
{
    const double most = 0x1p40;
    double count = 1;
    for (int i = 0; i < n; i++) count *= (double)dim[i];
    if (count > most)
        return pod_fail(POD_E_INVALID, "%s: %.3g elements are more than %.3g", what, count, most);
    return POD_OK;
}

/* The number behind `mark`, which ends the text before it; `otherwise` without a mark. */
static pod_status cut_number(const char *what, char *text, char mark, int64_t min,
                             int64_t otherwise, int64_t *out)
{
    char *at = strchr(text, mark);
    *out = otherwise;
    if (!at) return POD_OK;
    *at = '\0';
    return pod_parse_int(what, at + 1, min, MAX_DIMENSION, out);
}

static pod_status parse_product(const char *what, char *text, pod_problem *p)
{
    char *star = strchr(text, '*');
    int64_t dim[3];
    p->n_batch = 1;
    if (star) {
        *star = '\0';
        POD_TRY(pod_parse_int(what, text, 1, MAX_DIMENSION, &p->n_batch));
    }
    POD_TRY(parse_dims(what, star ? star + 1 : text, 3, dim));
    p->product = (pod_gemm_shape){dim[0], dim[1], dim[2]};
    for (int i = 0; i < 3; i++)
        POD_TRY(check_count(what, 3, (int64_t[]){p->n_batch, dim[i], dim[(i + 1) % 3]}));
    return POD_OK;
}

/* The dimensions of the product that makes logits. */
static pod_status parse_head(const char *what, char *text, pod_problem *p)
{
    int64_t dim[3];
    POD_TRY(parse_dims(what, text, 3, dim));
    p->product = (pod_gemm_shape){dim[0], dim[1], dim[2]};
    for (int i = 0; i < 3; i++)
        POD_TRY(check_count(what, 2, (int64_t[]){dim[i], dim[(i + 1) % 3]}));
    return POD_OK;
}

/* Output dimensions of a window of r with stride and pad on both sides; at most 0: it fits
 * nowhere. */
static int64_t n_windows(int64_t size, int64_t r, int64_t stride, int64_t pad)
{
    return size + 2 * pad < r ? 0 : (size + 2 * pad - r) / stride + 1;
}

static pod_status check_conv_counts(const char *what, const pod_conv_shape *s)
{
    POD_TRY(check_count(what, 4, (int64_t[]){s->n, s->h, s->w, s->c}));
    POD_TRY(check_count(what, 4, (int64_t[]){s->n, s->p, s->q, s->k}));
    return check_count(what, 4, (int64_t[]){s->k, s->r, s->s, s->c});
}

/* Filters of one channel each, or none: then K is not written. */
static bool is_by_channel(const pod_problem *p)
{
    return families[p->family].form != POD_FORM_CONV;
}

/* NxHxWxC:RxSxK, by channel NxHxWxC:RxS. */
static pod_status parse_conv(const char *what, char *text, pod_problem *p)
{
    int64_t pad, stride, image[4] = {0}, filter[3];
    POD_TRY(cut_number(what, text, '+', 0, 0, &pad));
    POD_TRY(cut_number(what, text, '/', 1, 1, &stride));
    char *colon = strchr(text, ':');
    if (!colon)
        return pod_fail(POD_E_INVALID, "%s: '%.80s' is not NxHxWxC:RxS%s", what, text,
                        is_by_channel(p) ? "" : "xK");
    *colon = '\0';
    POD_TRY(parse_dims(what, text, 4, image));
    POD_TRY(parse_dims(what, colon + 1, is_by_channel(p) ? 2 : 3, filter));
    if (is_by_channel(p)) filter[2] = image[3];
    if (families[p->family].form == POD_FORM_WINDOWS && filter[0] != filter[1])
        return pod_fail(POD_E_INVALID, "%s: windows are square, found %s", what, colon + 1);
    p->conv = (pod_conv_shape){.n = image[0],
                               .h = image[1],
                               .w = image[2],
                               .c = image[3],
                               .p = n_windows(image[1], filter[0], stride, pad),
                               .q = n_windows(image[2], filter[1], stride, pad),
                               .r = filter[0],
                               .s = filter[1],
                               .k = filter[2],
                               .stride = stride,
                               .pad_h = pad,
                               .pad_w = pad};
    if (p->conv.p < 1 || p->conv.q < 1)
        return pod_fail(POD_E_INVALID, "%s: a window of %" PRId64 "x%" PRId64 " fits nowhere", what,
                        filter[0], filter[1]);
    return check_conv_counts(what, &p->conv);
}

static pod_status parse_rows(const char *what, char *text, pod_problem *p)
{
    int64_t dim[2];
    POD_TRY(parse_dims(what, text, 2, dim));
    p->rows = dim[0];
    p->columns = dim[1];
    if (families[p->family].form == POD_FORM_ROWS_F32) p->dtype = POD_F32;
    return check_count(what, 2, dim);
}

static pod_status parse_attention(const char *what, char *text, pod_problem *p)
{
    int64_t dim[4];
    POD_TRY(parse_dims(what, text, 4, dim));
    p->attention = (pod_attention_shape){
        .n = dim[0], .sq = dim[1], .sk = dim[1], .heads = dim[2], .d = dim[3]};
    return check_count(what, 4, dim);
}

static void print_attention(const pod_problem *p, char *text, size_t text_bytes)
{
    const pod_attention_shape *s = &p->attention;
    snprintf(text, text_bytes, "%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64, s->n, s->sq,
             s->heads, s->d);
}

static void print_product(const pod_problem *p, char *text, size_t text_bytes)
{
    char batch[32] = "";
    if (p->n_batch != 1) snprintf(batch, sizeof batch, "%" PRId64 "*", p->n_batch);
    snprintf(text, text_bytes, "%s%" PRId64 "x%" PRId64 "x%" PRId64, batch, p->product.m,
             p->product.n, p->product.k);
}

static void print_conv(const pod_problem *p, char *text, size_t text_bytes)
{
    char k[32] = "", stride[32] = "", pad[32] = "";
    const pod_conv_shape *s = &p->conv;
    if (!is_by_channel(p)) snprintf(k, sizeof k, "x%" PRId64, s->k);
    if (s->stride != 1) snprintf(stride, sizeof stride, "/%" PRId64, s->stride);
    if (s->pad_h != 0) snprintf(pad, sizeof pad, "+%" PRId64, s->pad_h);
    snprintf(text, text_bytes,
             "%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 ":%" PRId64 "x%" PRId64 "%s%s%s", s->n,
             s->h, s->w, s->c, s->r, s->s, k, stride, pad);
}

static void print_rows(const pod_problem *p, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "%" PRId64 "x%" PRId64, p->rows, p->columns);
}

#define CHANNELS "NxHxWxC:RxS[/STRIDE][+PAD]"
static const struct {
    const char *text;
    pod_status (*parse)(const char *what, char *text, pod_problem *p);
    void (*print)(const pod_problem *p, char *text, size_t text_bytes);
} forms[] = {[POD_FORM_PRODUCT] = {"MxNxK or BATCH*MxNxK", parse_product, print_product},
             [POD_FORM_CONV] = {"NxHxWxC:RxSxK[/STRIDE][+PAD]", parse_conv, print_conv},
             [POD_FORM_DEPTHWISE] = {CHANNELS, parse_conv, print_conv},
             [POD_FORM_WINDOWS] = {CHANNELS, parse_conv, print_conv},
             [POD_FORM_ATTENTION] = {"NxSxHEADSxD", parse_attention, print_attention},
             [POD_FORM_ROWS] = {"ROWSxC", parse_rows, print_rows},
             [POD_FORM_ROWS_F32] = {"ROWSxC", parse_rows, print_rows},
             [POD_FORM_HEAD] = {"RxVxH", parse_head, print_product}};

const char *pod_problem_form_text(pod_problem_form form) { return forms[form].text; }

const char *pod_problem_print_shape(const pod_problem *p, char *text, size_t text_bytes)
{
    forms[families[p->family].form].print(p, text, text_bytes);
    return text;
}

/* ---- a line ---------------------------------------------------------------------------------- */

static pod_status parse_op(const char *place, const char *op, pod_problem *p)
{
    const size_t name_bytes = strcspn(op, ".");
    for (int f = 0; f < POD_N_FAMILIES; f++) {
        const pod_family_id family = (pod_family_id)f;
        if (strlen(families[f].name) != name_bytes ||
            strncmp(op, families[f].name, name_bytes) != 0)
            continue;
        p->family = family;
        p->function = families[f].functions[0] == '\0' ? 0 : -1;
        if (op[name_bytes] == '\0') return POD_OK;
        for (int i = 0; i < pod_family_n_functions(family); i++) {
            int length;
            const char *name = function_name(family, i, &length);
            p->function = i;
            if (length > 0 && strlen(op + name_bytes + 1) == (size_t)length &&
                strncmp(op + name_bytes + 1, name, (size_t)length) == 0)
                return POD_OK;
        }
        return pod_fail(POD_E_INVALID, "%s: '%.60s': %s has %s%s", place, op, families[f].name,
                        families[f].functions[0] ? "the functions " : "no functions",
                        families[f].functions);
    }
    char known[256] = "";
    for (int f = 0; f < POD_N_FAMILIES; f++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", f ? "|" : "",
                 families[f].name);
    return pod_fail(POD_E_INVALID, "%s: '%.60s' is none of %s", place, op, known);
}

pod_status pod_problem_parse(const char *place, const char *line, pod_problem *out)
{
    char text[POD_PROBLEM_LINE_BYTES], what[320];
    if (strlen(line) >= sizeof text)
        return pod_fail(POD_E_INVALID, "%s: '%.40s...' has more than %d bytes", place, line,
                        POD_PROBLEM_LINE_BYTES - 1);
    for (const char *c = line; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' && *c != '\t' && *c != '\r')
            return pod_fail(POD_E_INVALID, "%s: a control character", place);
    memcpy(text, line, strlen(line) + 1);
    pod_problem p = {.dtype = POD_BF16, .c_dtype = POD_F32, .n_batch = 1};
    static const char blanks[] = " \t\r";
    char *rest, *op = strtok_r(text, blanks, &rest);
    if (!op) return pod_fail(POD_E_INVALID, "%s: no problem in it", place);
    POD_TRY(parse_op(place, op, &p));
    char *shape = strtok_r(NULL, blanks, &rest);
    if (!shape) return pod_fail(POD_E_INVALID, "%s: '%.60s' has no shape behind it", place, op);
    snprintf(what, sizeof what, "%s: %s", place, families[p.family].name);
    POD_TRY(forms[families[p.family].form].parse(what, shape, &p));
    said_words said = {0};
    for (const char *word; (word = strtok_r(NULL, blanks, &rest));)
        POD_TRY(parse_word(place, word, &said, &p));
    if (families[p.family].form == POD_FORM_CONV && p.fused & POD_CONV_RELU_X)
        p.fused |= POD_CONV_AFFINE_X;
    *out = p;
    return POD_OK;
}

/* ---- print ----------------------------------------------------------------------------------- */

const char *pod_problem_print_op(const pod_problem *p, char *text, size_t text_bytes)
{
    int length = 0;
    const char *function = p->function < 0 ? "" : function_name(p->family, p->function, &length);
    snprintf(text, text_bytes, "%s%s%.*s", families[p->family].name, length ? "." : "", length,
             function);
    return text;
}

static void add_word(const char *word, char *text, size_t text_bytes)
{
    const size_t used = strlen(text);
    snprintf(text + used, text_bytes - used, "%s%s", used ? " " : "", word);
}

const char *pod_problem_print_words(const pod_problem *p, char *text, size_t text_bytes)
{
    static const char *const transposed[] = {"nn", "nt", "tn", "tt"};
    text[0] = '\0';
    add_word(pod_dtype_name(p->dtype), text, text_bytes);
    if (families[p->family].form == POD_FORM_PRODUCT) {
        if (p->c_dtype == POD_BF16) add_word("c=bf16", text, text_bytes);
        if (p->trans_a || p->trans_b)
            add_word(transposed[2 * p->trans_a + p->trans_b], text, text_bytes);
    }
    if (p->attention.causal) add_word("causal", text, text_bytes);
    if (p->attention.rate > 0) add_word("drop", text, text_bytes);
    for (int i = 0; i < N_FUSED_WORDS; i++)
        if (p->fused & fused_bit(&fused_words[i], p))
            add_word(fused_words[i].word, text, text_bytes);
    return text;
}

const char *pod_problem_print(const pod_problem *p, char *text, size_t text_bytes)
{
    char op[64], shape[POD_PROBLEM_TEXT_BYTES], words[64];
    snprintf(text, text_bytes, "%s %s %s", pod_problem_print_op(p, op, sizeof op),
             pod_problem_print_shape(p, shape, sizeof shape),
             pod_problem_print_words(p, words, sizeof words));
    return text;
}

/* ---- work ------------------------------------------------------------------------------------ */

enum { FORWARD_MATMULS = 2, BACKWARD_MATMULS = 5 };

double pod_problem_flops(const pod_problem *p)
{
    const pod_gemm_shape s = p->product;
    switch (families[p->family].form) {
    case POD_FORM_PRODUCT: return 2 * (double)p->n_batch * (double)s.m * (double)s.n * (double)s.k;
    /* The gradients compute the logits again. */
    case POD_FORM_HEAD: return (p->function == 0 ? 2 : 6) * (double)s.m * (double)s.n * (double)s.k;
    case POD_FORM_CONV: return pod_conv_flops(&p->conv);
    case POD_FORM_DEPTHWISE: return pod_conv_flops(&p->conv) / (double)p->conv.c;
    case POD_FORM_ATTENTION:
        return pod_attention_matmul_flops(&p->attention) *
               (p->function == 0 ? FORWARD_MATMULS : BACKWARD_MATMULS);
    default: return 0;
    }
}

static double product_bytes(const pod_problem *p)
{
    const double m = (double)p->product.m, n = (double)p->product.n, k = (double)p->product.k;
    return (double)p->n_batch * ((double)pod_dtype_bytes(p->dtype) * (m * k + k * n) +
                                 (double)pod_dtype_bytes(p->c_dtype) * m * n);
}

static double conv_bytes(const pod_problem *p)
{
    const pod_conv_shape *s = &p->conv;
    const int64_t n_filters = families[p->family].form == POD_FORM_DEPTHWISE ? 1 : s->k;
    const pod_dtype w_dtype = p->function == POD_CONV_WEIGHT_GRAD ? POD_F32 : p->dtype;
    return (double)pod_dtype_bytes(p->dtype) *
               (double)(s->n * s->h * s->w * s->c + s->n * s->p * s->q * s->k) +
           (double)pod_dtype_bytes(w_dtype) * (double)(n_filters * s->r * s->s * s->c);
}

/* h, the table, bias, labels, weights, lse; and gradients, of which that of the table is float32. */
static double head_bytes(const pod_problem *p)
{
    const double m = (double)p->product.m, n = (double)p->product.n, k = (double)p->product.k;
    const double t = (double)pod_dtype_bytes(p->dtype), f32 = 4;
    return t * (m * k + n * k) + f32 * (n + 3 * m) +
           (p->function == 0 ? 0 : t * m * k + f32 * (n * k + n));
}

/* q, k, v and o; backward also do, dq, dk and dv. */
static double attention_bytes(const pod_problem *p)
{
    const pod_attention_shape *s = &p->attention;
    const double rows = (double)s->n * (double)s->heads * (double)s->sq;
    const double n_tensors = p->function == 0 ? 4 : 8;
    return rows *
           (n_tensors * (double)s->d * (double)pod_dtype_bytes(p->dtype) + (double)sizeof(float));
}

double pod_problem_bytes(const pod_problem *p)
{
    switch (families[p->family].form) {
    case POD_FORM_PRODUCT: return product_bytes(p);
    case POD_FORM_ATTENTION: return attention_bytes(p);
    case POD_FORM_HEAD: return head_bytes(p);
    default: return conv_bytes(p);
    }
}
