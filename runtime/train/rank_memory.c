#include "runtime/train/rank_memory.h"

#include "runtime/data/images/glyphs.h"
#include "runtime/search/translator.h"

size_t pod_rank_memory_kept(const pod_setup *s, const pod_dataset_info *stored)
{
    if (pod_glyphs_is_spec(s->data)) return 0;
    if (stored->n_tokens > 0) {
        const bool is_kept =
            pod_dataset_is_synthetic(s->data) || stored->text_bytes <= s->data_cache_bytes;
        return is_kept ? (size_t)stored->text_bytes : 0;
    }
    const int64_t rows = s->data_cache_bytes / pod_dataset_sample_bytes(stored);
    const int64_t n_train = stored->n_samples[POD_SPLIT_TRAIN],
                  n_test = stored->n_samples[POD_SPLIT_TEST];
    if (n_train > rows || n_test > rows - n_train) return 0;
    return (size_t)((n_train + n_test) * pod_dataset_sample_bytes(stored));
}

/* Of one loader (loader.c): the fields and the number of each sample. */
static size_t batches_of(const pod_setup *s, const pod_form *form)
{
    const size_t local = (size_t)(s->batch / pod_mesh_size(&s->compile.mesh));
    const size_t sample = (size_t)pod_form_row_bytes(form) + sizeof(int64_t);
    return (size_t)(s->prefetch + 1) * local * sample;
}

pod_rank_memory pod_rank_memory_of(const pod_setup *s, const pod_network *network,
                                   const pod_dataset_info *stored, int64_t n_test,
                                   const pod_program *const program[], int n_programs)
{
    const pod_dataset_info seen = pod_setup_seen(s, stored);
    const pod_setup test = n_test > 0 ? pod_setup_evaluation(s, n_test) : *s;
    const pod_form form = network->task->form(s, &seen),
                   of_test = network->task->form(&test, &seen);
    pod_rank_memory m = {
        .store = program[0]->store_bytes,
        .batches = batches_of(s, &form) + batches_of(&test, &of_test),
        .search = pod_search_bytes(network, s, &seen, n_test),
        .data = pod_rank_memory_kept(s, stored),
    };
    for (int i = 0; i < n_programs; i++) { /* as pod_exec_open_all takes them */
        if (program[i]->step_bytes > m.step) m.step = program[i]->step_bytes;
        if (program[i]->window_bytes > m.window) m.window = program[i]->window_bytes;
    }
    return m;
}

size_t pod_rank_memory_total(const pod_rank_memory *m)
{
    return m->step + m->window + m->store + m->batches + m->search + m->data + m->samples;
}
