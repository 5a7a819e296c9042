#include "runtime/data/samples.h"

#include <string.h>

int64_t pod_field_row_bytes(const pod_field *f)
{
    int64_t bytes = (int64_t)pod_dtype_bytes(f->dtype);
    for (int i = 0; i < f->n_dims; i++) bytes *= f->dim[i];
    return bytes;
}

int64_t pod_form_row_bytes(const pod_form *f)
{
    int64_t bytes = 0;
    for (int i = 0; i < f->n_fields; i++) bytes += pod_field_row_bytes(&f->field[i]);
    return bytes;
}

void pod_samples_pad_zeros(const pod_samples *s, void *const row[])
{
    for (int i = 0; i < s->form.n_fields; i++)
        memset(row[i], 0, (size_t)pod_field_row_bytes(&s->form.field[i]));
}
