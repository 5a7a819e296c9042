/* A run of minipod kernels as one JSON object. */
#include "bench/common/json_option.h"
#include "bench/kernels/kernels.h"
#include "kernels/gemm/blas.h"

static void put_host(pod_json *j, const pod_kernels_bench *b)
{
    const pod_machine *m = &b->host;
    pod_json_open_object(j, "host");
    pod_json_text(j, "hostname", m->hostname);
    pod_json_text(j, "cpu_model", m->cpu_model);
    pod_json_text(j, "cpu_features", m->cpu_features);
    pod_json_int(j, "physical_cores", m->physical_cores);
    pod_json_int(j, "last_cache_bytes", b->plan.cache_bytes);
    pod_json_text(j, "blas", pod_blas_config());
    pod_json_text(j, "compiler", __VERSION__);
    pod_json_double(j, "peak_bf16_gflop_per_s", b->peak.peak_bf16_gflop_per_s);
    pod_json_double(j, "peak_f32_gflop_per_s", b->peak.peak_f32_gflop_per_s);
    pod_json_close(j);
}

pod_status pod_kernels_write_json(pod_kernels_bench *b, const char *path)
{
    pod_json *j = &b->record.json;
    pod_json_text(j, "clock", "wall");
    pod_json_text(j, "machine", b->machine.name);
    pod_json_arguments(j, b->call->config, POD_CMD_KERNELS);
    put_host(j, b);
    if (b->plan.with_check)
        pod_json_int(j, "wrong", pod_kernels_n_wrong(b));
    else
        pod_json_null(j, "wrong");
    pod_table_json(b->record.table, j, "rows");
    return pod_record_write_json(&b->record, path);
}
