/* Patterns of layers with a bias. */
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "runtime/passes/fuse/fuse.h"

/* `last` is about to do what `first` does, and more. */
static void take_attr(pod__site *last, const pod__site *first)
{
    last->node.attr = first->node.attr;
    last->node.attr_bytes = first->node.attr_bytes;
}

/* ---- conv_bias ---- */

pod__verdict pod__fuse_conv_bias(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.bias_add)) return pod__no_match();
    pod__site *conv = pod__maker_of(f, at->in[0]);
    if (!pod__site_is(conv, pod_op_named.conv2d)) return pod__no_match();
    if (!pod__only_reader(f, at->in[0], pod_op_named.bias_add))
        return pod__refused("the convolution has other readers");
    pod__site *relu = pod__only_reader(f, at->out[0], pod_op_named.relu), *last = relu ? relu : at;
    const unsigned bits = POD_CONV_BIAS | (relu ? POD_CONV_RELU : 0);
    pod__fuse_types types;
    const pod_fuse_args args = pod__fuse_args_of(f, conv, &types);
    const char *why = pod_conv2d_why_not(&args, bits);
    if (why) return pod__refused(why);
    take_attr(last, conv);
    if (pod_conv2d_fuse(&last->node, bits, f->plan->arena) != POD_OK) f->no_memory = true;
    pod__set_inputs(last, (pod_value[]){conv->in[0], conv->in[1], at->in[1]}, 3);
    pod__clear(conv);
    if (relu) pod__clear(at);
    return pod__fused();
}

/* ---- matmul_bias: relu(x w + b), stored as what it is cast to ---- */

pod__verdict pod__fuse_matmul_bias(pod__fuse *f, pod__site *at)
{
    if (!pod__site_is(at, pod_op_named.bias_add)) return pod__no_match();
    const pod_value product = at->in[0], bias = at->in[1];
    pod__site *matmul = pod__maker_of(f, product);
    if (!pod__site_is(matmul, pod_op_named.matmul)) return pod__no_match();
    if (pod__readers_of(f, product).n != 1) return pod__refused("the product has other readers");
    pod__site *relu = pod__only_reader(f, at->out[0], pod_op_named.relu), *last = relu ? relu : at;
    pod__site *cast = pod__only_reader(f, last->out[0], pod_op_named.cast);
    if (cast) last = cast;
    const unsigned bits = POD_GEMM_BIAS | (relu ? POD_GEMM_RELU : 0);
    const pod_dtype c_dtype = pod_graph_type(f->from, last->out[0])->dtype;
    pod__fuse_types types;
    const pod_fuse_args args = pod__fuse_args_of(f, matmul, &types);
    const char *why = pod_matmul_why_not(&args, bits, c_dtype);
    if (why) return pod__refused(why);
    take_attr(last, matmul);
    if (pod_matmul_fuse(&last->node, bits, c_dtype, f->plan->arena) != POD_OK) f->no_memory = true;
    pod__set_inputs(last, (pod_value[]){matmul->in[0], matmul->in[1], bias}, 3);
    pod__clear(matmul);
    if (last != at) pod__clear(at);
    if (relu && last != relu) pod__clear(relu);
    return pod__fused();
}
