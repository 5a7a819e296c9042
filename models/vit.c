/* The vision transformer (Dosovitskiy et al. 2020) in the size and with the training of DeiT-Ti (Touvron
 * et al. 2020), as timm has it: patches of the image through one convolution, a class token in front,
 * learned positions, blocks with layer norm first and GELU in its exact form, and the logits from the
 * class token. Scopes have timm's names, whose qkv holds side by side what is query, key and value here.
 * Images of 224x224x3 and 1000 classes: 5,717,416 parameters. Class token and positions have no weight
 * decay, as in DeiT.
 *
 * Other images have smaller patches, so that at least seven stand along each side: 4x4 pixels at 32x32. */
#include <math.h>

#include "models/family.h"
#include "models/language_parts.h"

enum { LAYERS = 12, HEADS = 3, HEAD_SIZE = 64, WIDENING = 4, LARGEST_PATCH = 16, FEWEST = 7 };

static const float EPSILON = 1e-6f;
static const float SURVIVAL = 0.9f; /* of the last layer; others in proportion to their place */

static const pod__names names = {"norm1", "attn/qkv", "attn/proj", "norm2", "mlp/fc1", "mlp/fc2"};

/* The largest power of two up to LARGEST_PATCH that divides both sides and leaves FEWEST along each;
 * 1 if there is none. */
static int64_t patch_of(const int64_t image[2])
{
    int64_t p = LARGEST_PATCH;
    while (p > 1 &&
           (image[0] % p || image[1] % p || image[0] < FEWEST * p || image[1] < FEWEST * p))
        p /= 2;
    return p;
}

/* images (N, H, W, C) -> (N, patches, H). */
static pod_value patches(const pod__blocks *b, pod_value images, const pod_model_args *args)
{
    pod_graph *g = b->g;
    const pod_shape in = pod_graph_type(g, images)->shape;
    const int64_t p = patch_of(in.dim + 1), n_patches = in.dim[1] / p * (in.dim[2] / p);
    pod_scope_begin(g, "patch_embed");
    pod_scope_begin(g, "proj");
    pod_value w = pod_weight(g, "w", (pod_shape){4, {b->hidden, p, p, in.dim[3]}},
                             (pod_init){POD_INIT_HE, 0.5f}, POD_ROLE_WEIGHT);
    pod_value bias = pod_weight(g, "b", (pod_shape){1, {b->hidden}}, (pod_init){POD_INIT_ZERO, 0},
                                POD_ROLE_BIAS);
    pod_value x = pod__conv2d(g, images, w, (pod_conv2d_attr){.stride = (int)p}, args);
    x = pod_bias_add(g, x, bias);
    pod_scope_end(g);
    pod_scope_end(g);
    return pod_reshape(g, x, (pod_shape){3, {in.dim[0], n_patches, b->hidden}});
}

/* Puts the class token in front, and adds positions, as one bias of all tokens: rows. */
static pod_value tokens(const pod__blocks *b, pod_value images, pod_value x)
{
    pod_graph *g = b->g;
    if (!x.id) return x;
    const int64_t *dim = pod_graph_type(g, x)->shape.dim, n = dim[0], count = dim[1] + 1;
    const pod_init init = {POD_INIT_TRUNCATED, 0.02f};
    pod_value class =
        pod_weight(g, "cls_token", (pod_shape){2, {1, b->hidden}}, init, POD_ROLE_BIAS);
    pod_value places =
        pod_weight(g, "pos_embed", (pod_shape){2, {count, b->hidden}}, init, POD_ROLE_BIAS);
    class = pod_embed_rows(g, pod_positions(g, images, 1), class, b->args->travel);
    x = pod_reshape(g, pod_concat_rows(g, class, x), (pod_shape){2, {n, count * b->hidden}});
    places = pod_reshape(g, places, (pod_shape){1, {count * b->hidden}});
    return pod__to_rows(b, pod_bias_add(g, x, places));
}

static double or_own(double given, double own) { return given > 0 ? given : own; }

pod_value pod__vit(pod_graph *g, int param, pod_value images, const pod_model_args *args)
{
    (void)param;
    pod__need_images(g, "vit", images, 1);
    if (pod_graph_failed(g)) return (pod_value){0};
    const pod_type in = *pod_graph_type(g, images);
    const int64_t n = in.shape.dim[0];
    const double heads = fmax(1, round(HEADS * or_own(args->width, 1)));
    const int layers = (int)ceil(LAYERS * or_own(args->depth, 1));
    const float drop = 1 - (args->survival >= 0 ? args->survival : SURVIVAL);
    const pod_language_args how = {.travel = in.dtype,
                                   .bf16_products = args->bf16_products,
                                   .draws = args->draws,
                                   .plain_attention = args->plain_attention};
    pod__blocks b = {.g = g,
                     .args = &how,
                     .hidden = (int64_t)heads * HEAD_SIZE,
                     .heads = (int64_t)heads,
                     .inner = (int64_t)heads * HEAD_SIZE * WIDENING,
                     .epsilon = EPSILON,
                     .attention_bias = true,
                     .activation = pod__gelu_erf,
                     .kernel = {POD_INIT_TRUNCATED, 0.02f},
                     .to_residual = {POD_INIT_TRUNCATED, 0.02f}};
    pod__residual path = {.x = tokens(&b, images, patches(&b, images, args))};
    for (int i = 0; i < layers; i++) {
        b.drop_samples = layers > 1 ? drop * (float)i / (float)(layers - 1) : 0;
        pod_scope_begin(g, "blocks/%d", i);
        pod__attention_first(&b, &path, &names, n, (pod__look){.causal = false});
        pod__feed_forward_first(&b, &path, &names, n);
        pod_scope_end(g);
    }
    pod_value x = pod__to_sequences(&b, pod__norm_first(&b, &path, "norm"), n);
    x = pod__to_rows(&b, pod_gather_rows(g, x, pod_positions(g, images, 1)));
    if (args->dropout > 0 && args->draws.id) x = pod_dropout(g, x, args->draws, args->dropout);
    return pod__logits(g, x, args);
}
