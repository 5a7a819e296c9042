/* The two programs of a search: encode, which reads the sources, and step, which is run once a
 * token. */
#include <string.h>

#include "runtime/data/text/sentence_pairs.h"
#include "runtime/search/inner.h"

enum { NAME_BYTES = 24 };

pod__search_size pod__search_size_of(const pod_network *network, const pod_setup *s,
                                     const pod_dataset_info *data, int64_t n_samples)
{
    const int64_t most = POD_SEARCH_ROWS / s->beam;
    return (pod__search_size){.n_sentences = n_samples > 0 && n_samples < most ? n_samples : most,
                              .width = s->beam,
                              .room = s->seq_len,
                              .n_tokens = data->n_tokens,
                              .hidden = network->search.hidden,
                              .n_values = network->search.n_values,
                              .dtype = s->precision};
}

static const char *name_of(char text[NAME_BYTES], const char *what, int i)
{
    snprintf(text, NAME_BYTES, "%s_%d", what, i);
    return text;
}

static pod_value integers(pod_graph *g, const char *name, int64_t n, int64_t width)
{
    const int64_t dim[] = {n, width};
    return pod_input(g, name, pod_type_of(POD_I32, width > 0 ? 2 : 1, dim), 0);
}

static void build_encode(const pod_translator_args *args, const pod__search_size *z, pod_graph *g)
{
    const pod_network *net = args->network;
    const int64_t n = z->n_sentences * args->size;
    char name[NAME_BYTES];
    pod_value source[POD_MAX_SEARCH_VALUES] = {{0}};
    pod_network_in in = {.data = &args->data->info};
    in.field[POD_PAIRS_SOURCE] = integers(g, "source", n, z->room);
    in.field[POD_PAIRS_SOURCE_LENGTHS] = integers(g, "source_lengths", n, 0);
    net->search.encode(net->ctx, g, &in, source);
    for (int i = 0; i < z->n_values; i++) pod_output(g, name_of(name, "source", i), source[i]);
}

static void build_step(const pod_translator_args *args, const pod__search_size *z, pod_graph *g)
{
    const pod_network *net = args->network;
    const int64_t n = z->n_sentences * args->size;
    const int64_t source_dim[] = {n, z->room, z->hidden};
    const int64_t earlier_dim[] = {n, z->width, z->room, z->hidden};
    char name[NAME_BYTES];
    pod_value source[POD_MAX_SEARCH_VALUES], earlier[POD_MAX_SEARCH_VALUES];
    pod_value rows[POD_MAX_SEARCH_VALUES] = {{0}};
    const pod_network_step in = {.data = &args->data->info,
                                 .token = integers(g, "token", n, z->width),
                                 .count = integers(g, "count", n, z->width),
                                 .lengths = integers(g, "lengths", n, 0),
                                 .source = source,
                                 .earlier = earlier};
    for (int i = 0; i < z->n_values; i++) {
        source[i] =
            pod_input(g, name_of(name, "source", i), pod_type_of(z->dtype, 3, source_dim), 0);
        earlier[i] =
            pod_input(g, name_of(name, "earlier", i), pod_type_of(z->dtype, 4, earlier_dim), 0);
    }
    pod_output(g, "logits", net->search.step(net->ctx, g, &in, rows));
    for (int i = 0; i < z->n_values; i++) pod_output(g, name_of(name, "row", i), rows[i]);
}

/* As an evaluation, on the averages where there are any. */
static pod_status compile(const pod_translator_args *args, const pod__search_size *z, int which,
                          pod_arena *for_graph, pod_arena *arena, const pod_program **out)
{
    pod_graph *g;
    pod_compile_args how = args->setup->compile;
    const bool of_averages = args->setup->ema > 0;
    POD_TRY(pod_graph_create(for_graph, &g));
    if (of_averages) pod_scope_begin(g, "ema");
    if (which == POD_SEARCH_ENCODE)
        build_encode(args, z, g);
    else
        build_step(args, z, g);
    if (of_averages) pod_scope_end(g);
    POD_TRY(pod_graph_finish(g));
    how.accumulate = 1;
    how.target = args->target;
    return pod_compile(g, z->n_sentences * args->size, &how, arena, out);
}

pod_status pod__search_compile(const pod_translator_args *args, const pod__search_size *z,
                               pod_arena *arena, pod__search_programs *out)
{
    char name[NAME_BYTES];
    pod__search_programs p;
    if (z->n_values == 0)
        return pod_fail(POD_E_UNSUPPORTED, "%s: has no search", args->network->name);
    for (int which = 0; which < POD_SEARCH_N_PROGRAMS; which++) {
        pod_arena *for_graph;
        POD_TRY(pod_arena_create(NULL, &for_graph));
        const pod_status s = compile(args, z, which, for_graph, arena, &p.program[which]);
        pod_arena_destroy(for_graph);
        POD_TRY(s);
    }
    const pod_program *encode = p.program[POD_SEARCH_ENCODE], *step = p.program[POD_SEARCH_STEP];
    p.source_ids = pod_program_find_input(encode, "source");
    p.source_lengths = pod_program_find_input(encode, "source_lengths");
    p.token = pod_program_find_input(step, "token");
    p.count = pod_program_find_input(step, "count");
    p.lengths = pod_program_find_input(step, "lengths");
    for (int i = 0; i < z->n_values; i++) {
        p.source[i] = pod_program_find_input(step, name_of(name, "source", i));
        p.earlier[i] = pod_program_find_input(step, name_of(name, "earlier", i));
    }
    *out = p;
    return POD_OK;
}

pod_status pod_search_compile(const pod_translator_args *args, int64_t n_samples, pod_arena *arena,
                              const pod_program *out[POD_SEARCH_N_PROGRAMS])
{
    const pod__search_size z =
        pod__search_size_of(args->network, args->setup, &args->data->info, n_samples);
    pod__search_programs p;
    POD_TRY(pod__search_compile(args, &z, arena, &p));
    memcpy(out, p.program, sizeof p.program);
    return POD_OK;
}
