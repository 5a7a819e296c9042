/* Machine files and the JSON writer: print against parse, errors, and cJSON as the judge. */
#include <cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "runtime/core/file.h"
#include "runtime/core/json.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/machine_net.h"
#include "tests/harness/harness.h"

static const char *write_text(const char *text)
{
    const char *path = pod_test_path("m.conf");
    POD_CHECK_OK(pod_file_write_atomic(path, text, strlen(text)));
    return path;
}

static void print_is_the_inverse_of_read(void)
{
    pod_machine m, again;
    pod_machine_describe_host(&m);
    CU_ASSERT_STRING_EQUAL(m.clock, "wall");
    CU_ASSERT_EQUAL(m.physical_cores, pod_cpu_physical_cores());
    m.peak_f32_gflop_per_s = 1.0 / 3;
    m.peak_bf16_gflop_per_s = 2900.5;
    snprintf(m.peak_bf16_kernel, sizeof m.peak_bf16_kernel, "amx");
    m.wraps_x = (pod_wrap_rule){POD_WRAP_AT, 32};
    POD_CHECK_OK(pod_rates_set(&m.kernel_rate, "gemm.f32.large", "blas", 1.0 / 7));
    POD_CHECK_OK(pod_rates_set(&m.kernel_rate, "gemm.f32.large", "ref", 0));
    m.wraps_y = (pod_wrap_rule){.kind = POD_WRAP_NEVER};
    const pod_op_time point = {
        .op = "add", .impl = "ref", .columns = {3, 4}, .width = {1, 2}, .us = 0.1};
    POD_CHECK_OK(pod_op_times_add(&m.op_time, &point));
    POD_CHECK_OK(pod_op_times_add(&m.op_time, &point));
    const char *path = pod_test_path("host.conf");
    POD_CHECK_OK(pod_machine_write(path, &m));
    POD_CHECK_OK(pod_machine_read(path, &again));
    CU_ASSERT_EQUAL(memcmp(&m, &again, sizeof m), 0);
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&again, POD_BF16), 2900.5e9);
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&again, POD_F32), 1e9 * (1.0 / 3));
    POD_CHECK_OK(pod_machine_write("/dev/null", &m)); /* is written as it is */
}

static void bad_files(void)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"clock = wall\nspeed = 3\n", "m.conf:2: speed: a machine file has no such key"},
        {"clock = wall\nclock = wall\n", "m.conf:2: clock: stands twice"},
        {"clock = sun\n", "clock is wall or virtual, found 'sun'"},
        {"name = x\n", "m.conf: there is no key clock (wall or virtual)"},
        {"clock = wall\nphysical_cores = 0\n", "m.conf:2: physical_cores: 0 is not within"},
        {"clock = wall\npeak_f32_gflop_per_s = -1\n", "-1 is not within 0.001"},
        {"clock = wall\nlink_gb_per_s = 0\n", "m.conf:2: link_gb_per_s: 0 is not within 0.001"},
        {"clock = wall\nlink_gb_per_s = 1e-300\n", "1e-300 is not within 0.001 to 1e+09"},
        {"clock = wall\nvector_gop_per_s = 1e-9\n", "vector_gop_per_s: 1e-9 is not within 0.001"},
        {"clock = wall\nlink_gb_per_s = 5\n",
         "m.conf: a machine with link_gb_per_s also needs link_latency_us"},
        {"clock = wall\nmemory_share = 69.5\n", "memory_share: 69.5 is not within 0.001 to 1"},
        {"clock = wall\nvector_share = 0\n", "vector_share: 0 is not within 0.001 to 1"},
        {"clock = wall\nlink_latency_us = -1\n", "link_latency_us: -1 is not within 0 to"},
        {"clock = wall\npeak_f32_gflop_per_s = fast\n", "'fast' is not a finite number"},
        {"clock = wall\nwraps_x = sometimes\n", "m.conf:2: wraps_x: 'sometimes' is not never"},
        {"clock = wall\nwraps_x = every 0\n", "m.conf:2: wraps_x: 0 is not within"},
        {"clock = wall\nkernel_rate = a b\n", "kernel_rate: 'a b' is not a kind, a kernel and"},
        {"clock = wall\nkernel_rate = a b 1 2\n", "'a b 1 2' is not a kind, a kernel and"},
        {"clock = wall\nkernel_rate = a b -1\n", "m.conf:2: kernel_rate: -1 is not within"},
        {"clock = wall\nkernel_rate = a b 1\nkernel_rate = a b 2\n",
         "m.conf:3: kernel_rate: a b st"},
        {"clock = wall\nop_time = add f32\n", "m.conf:2: op_time: 'add f32' is not op, type"},
        {"[a]\nclock = wall\n", "no [section], found [a]"},
        {"clock\n", "m.conf:1: neither"},
        {"name = 12345678901234567890123456789012345678901234567890"
         "12345678901234567890123456789012345678901234567890\n",
         "more than 95 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_machine m;
        pod_status s = pod_machine_read(write_text(rows[i].text), &m);
        POD_CHECK(s != POD_OK && strstr(pod_error_text(), rows[i].part), "row %zu: '%s'", i,
                  pod_error_text());
    }
    pod_machine m;
    POD_CHECK_FAILS(pod_machine_load("/nowhere.conf", &m), POD_E_IO, "/nowhere.conf: cannot read");
    POD_CHECK_FAILS(pod_machine_load("tpu-v9", &m), POD_E_IO,
                    "machine 'tpu-v9': neither a file nor one of host, tpu-v2, ");
}

/* Without a line of a file of ours: which key is told, "" where a pod may do without it. */
static const char *told_without(const char *machine, const char *key)
{
    char *text, *line = NULL;
    size_t bytes;
    pod_machine m;
    FILE *to = open_memstream(&text, &bytes);
    POD_CHECK_OK(pod_machine_load(machine, &m));
    if (!to) return "no memory";
    pod_machine_print(&m, to);
    fclose(to);
    line = strstr(text, pod_test_text("\n%s =", key));
    POD_CHECK(line != NULL, "%s has no %s", machine, key);
    if (line) memset(line + 1, '#', 1);
    const char *path = write_text(text);
    free(text);
    if (pod_machine_read(path, &m) == POD_OK) return "";
    const char *at = strstr(pod_error_text(), "virtual also needs ");
    return pod_test_text("%s", at ? at + strlen("virtual also needs ") : pod_error_text());
}

static void pods_need_keys(void)
{
    static const struct {
        const char *machine, *key;
    } needed[] = {{"tpu-v3", "cores_per_chip"},  {"tpu-v3", "link_gb_per_s"},
                  {"tpu-v3", "link_latency_us"}, {"tpu-v3", "core_latency_us"},
                  {"tpu-v3", "core_gb_per_s"},   {"tpu-v3", "instr_overhead_us"},
                  {"tpu-v3", "memory_gib"},      {"tpu-v3", "memory_share"},
                  {"tpu-v3", "chips_x"},         {"tpu-v3", "wraps_x"},
                  {"tpu-v3", "feed_gb_per_s"},   {"tpu-v4", "wraps_z"},
                  {"tpu-v4", "chips_z"}},
      free_of[] = {{"tpu-v4", "on_chip_mib"}, {"multipod", "start_up_s"}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        const char *told = told_without(needed[i].machine, needed[i].key);
        POD_CHECK(strcmp(told, needed[i].key) == 0, "without %s: '%s'", needed[i].key, told);
    }
    for (size_t i = 0; i < sizeof free_of / sizeof free_of[0]; i++)
        CU_ASSERT_STRING_EQUAL(told_without(free_of[i].machine, free_of[i].key), "");

    pod_machine m, again;
    POD_CHECK_FAILS(
        pod_machine_read(write_text("clock = virtual\nname =\n"), &m), POD_E_INVALID,
        "m.conf: a machine with clock = virtual also needs name, peak_bf16_gflop_per_s");
    POD_CHECK_OK(pod_machine_load("tpu-v3", &m));
    m.link_latency_us = 0; /* as a file may say */
    const char *path = write_text("");
    POD_CHECK_OK(pod_machine_write(path, &m));
    POD_CHECK_OK(pod_machine_read(path, &again));
    CU_ASSERT_EQUAL(memcmp(&m, &again, sizeof m), 0);
}

static void host_may_be_unknown(void)
{
    char path[700];
    setenv("XDG_CONFIG_HOME", pod_test_path("config"), 1);
    POD_CHECK_OK(pod_machine_host_path(path, sizeof path));
    CU_ASSERT_PTR_NOT_NULL(strstr(path, "/config/minipod/host.conf"));
    pod_machine m;
    POD_CHECK_OK(pod_machine_load("host", &m));
    POD_CHECK(strstr(m.why_unknown, "run minipod calibrate"), "'%s'", m.why_unknown);
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&m, POD_F32), 0.0);

    m.why_unknown[0] = '\0';
    m.peak_f32_gflop_per_s = 100;
    POD_CHECK_OK(pod_dir_make_for(path));
    POD_CHECK_OK(pod_machine_write(path, &m));
    POD_CHECK_OK(pod_machine_load("host", &m));
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&m, POD_F32), 100e9);
    CU_ASSERT_STRING_EQUAL(m.why_unknown, "");

    snprintf(m.cpu_model, sizeof m.cpu_model, "Abacus");
    POD_CHECK_OK(pod_machine_write(path, &m));
    POD_CHECK_OK(pod_machine_load("host", &m));
    POD_CHECK(strstr(m.why_unknown, "of a Abacus"), "'%s'", m.why_unknown);
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&m, POD_F32), 0.0);

    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", "/h", 1);
    POD_CHECK_OK(pod_machine_host_path(path, sizeof path));
    CU_ASSERT_STRING_EQUAL(path, "/h/.config/minipod/host.conf");
    POD_CHECK_FAILS(pod_machine_host_path(path, 10), POD_E_IO, "more than 9 bytes");
    unsetenv("HOME");
    POD_CHECK_FAILS(pod_machine_host_path(path, sizeof path), POD_E_IO, "HOME");
}

/* ---- machines known by name ------------------------------------------------------------------ */

static void known_machines(void)
{
    int n = 0;
    for (; pod_machine_known(n); n++) {
        pod_machine m, again;
        pod_mesh mesh;
        pod_net net;
        const char *path = pod_test_path("known.conf");
        POD_CHECK_OK(pod_machine_load(pod_machine_known(n), &m));
        CU_ASSERT_STRING_EQUAL(m.name, pod_machine_known(n));
        CU_ASSERT_STRING_EQUAL(m.clock, "virtual");
        POD_CHECK_OK(pod_mesh_parse("2x4x8", &mesh));
        POD_CHECK_OK(pod_machine_net(&m, &mesh, &net));
        CU_ASSERT_TRUE(m.peak_bf16_gflop_per_s > 0);
        POD_CHECK_OK(pod_machine_write(path, &m));
        POD_CHECK_OK(pod_machine_read(path, &again));
        CU_ASSERT_EQUAL(memcmp(&m, &again, sizeof m), 0);
    }
    CU_ASSERT_EQUAL(n, 5);
}

static void machines_wrap_meshes(void)
{
    static const struct {
        const char *machine, *mesh, *want; /* what comes out, or a part of why not */
    } rows[] = {
        {"tpu-v3", "2x32x32", "2ox32x32"},
        {"tpu-v3", "2x16x32", "2ox16ox32"},
        {"tpu-v3", "2x64x32", "tpu-v3 has 32 chips along dimension 1, found an extent of 64"},
        {"tpu-v3", "1x8x8", "1ox8ox8o"},
        {"tpu-v3", "32x32", "32x32"}, /* without the cores */
        {"tpu-v3", "32", "32"},
        {"tpu-v3", "2x32ox32", "2ox32ox32"},
        {"tpu-v3", "2x32wx32", "2ox32wx32"},
        {"tpu-v3", "2x16wx32",
         "mesh 2x16wx32: on tpu-v3 dimension 1 does not wrap at an extent of 16"},
        {"tpu-v3", "2wx32x32", "dimension 0 does not wrap"},
        {"tpu-v3", "4x32x32", "cores of a chip, tpu-v3 has 2"},
        {"tpu-v2", "2x16x16", "2ox16x16"},
        {"tpu-v2", "2x16x8", "2ox16x8o"},
        {"multipod", "2x128x32", "2ox128ox32"},
        {"multipod", "2x128wx32", "dimension 1 does not wrap"},
        {"tpu-v4", "4x8x16", "4x8x16"},
        {"tpu-v4", "2x8x6", "2ox8x6o"},
        {"host", "2x3o", "2x3o"}, /* says nothing of it */
        {"host", "2wx3", "2wx3"},
    };
    setenv("XDG_CONFIG_HOME", pod_test_dir(), 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_machine m;
        pod_mesh mesh;
        char text[POD_MESH_TEXT_BYTES];
        POD_CHECK_OK(pod_machine_load(rows[i].machine, &m));
        POD_CHECK_OK(pod_mesh_parse(rows[i].mesh, &mesh));
        const pod_status s = pod_machine_wrap_mesh(&m, &mesh);
        if (s == POD_OK)
            POD_CHECK(strcmp(pod_mesh_print(&mesh, text, sizeof text), rows[i].want) == 0,
                      "%s %s: %s", rows[i].machine, rows[i].mesh, text);
        else
            POD_CHECK(s == POD_E_INVALID && strstr(pod_error_text(), rows[i].want), "%s %s: %s",
                      rows[i].machine, rows[i].mesh, pod_error_text());
    }
    unsetenv("XDG_CONFIG_HOME");
}

/* Each slice of each machine is found by its cores and is a mesh that the machine can be cut into;
 * between two there is none. */
static void machines_have_slices(void)
{
    const char *name;
    for (int i = 0; (name = pod_machine_known(i)); i++) {
        pod_machine m;
        int n_slices = 0, last = 0;
        POD_CHECK_OK(pod_machine_load(name, &m));
        for (int cores = 1; cores <= 8192; cores++) {
            pod_mesh mesh;
            if (pod_machine_slice(&m, cores, &mesh) != POD_OK) continue;
            POD_CHECK(pod_mesh_size(&mesh) == cores, "%s: %d", name, cores);
            POD_CHECK_OK(pod_machine_wrap_mesh(&m, &mesh));
            n_slices++;
            last = cores;
        }
        POD_CHECK(n_slices >= 2, "%s: %d slices", name, n_slices);
        POD_CHECK(last == m.cores_per_chip * m.chips_x * m.chips_y * m.chips_z, "%s ends at %d",
                  name, last);
    }
    pod_machine m;
    pod_mesh mesh;
    POD_CHECK_OK(pod_machine_load("tpu-v3", &m));
    POD_CHECK_FAILS(
        pod_machine_slice(&m, 1000, &mesh), POD_E_INVALID,
        "tpu-v3 has no slice of 1000 cores; the nearest: 512 (2x16x16), 1024 (2x16x32)");
    POD_CHECK_FAILS(pod_machine_slice(&m, 4096, &mesh), POD_E_INVALID,
                    "the nearest: 2048 (2x32x32)");
    m.slices[0] = '\0';
    POD_CHECK_FAILS(pod_machine_slice(&m, 8, &mesh), POD_E_INVALID, "lists no slices; --mesh");
    snprintf(m.slices, sizeof m.slices, "2x2x2,2y");
    POD_CHECK_FAILS(pod_machine_slice(&m, 32, &mesh), POD_E_INVALID, "'2y' is no mesh");
}

/* On which machines a first extent of three is no cores of a chip: pods whose chips have one. */
static void machines_of_chips(void)
{
    static const struct {
        const char *machine;
        bool is_of_chips;
    } rows[] = {{"tpu-v2", false},
                {"tpu-v3", false},
                {"multipod", false},
                {"tpu-v4", true},
                {"host", false}};
    setenv("XDG_CONFIG_HOME", pod_test_dir(), 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_machine m;
        pod_mesh mesh;
        POD_CHECK_OK(pod_machine_load(rows[i].machine, &m));
        POD_CHECK_OK(pod_mesh_parse("2x4x4", &mesh));
        POD_CHECK_OK(pod_machine_wrap_mesh(&m, &mesh));
        POD_CHECK(mesh.is_of_chips == rows[i].is_of_chips, "%s", rows[i].machine);
    }
    unsetenv("XDG_CONFIG_HOME");
}

static void machine_nets(void)
{
    pod_machine m;
    pod_mesh mesh;
    pod_net net;
    POD_CHECK_OK(pod_machine_load("tpu-v3", &m));
    POD_CHECK_OK(pod_mesh_parse("2x32x32", &mesh));
    POD_CHECK_OK(pod_machine_net(&m, &mesh, &net));
    CU_ASSERT_EQUAL(net.link_bytes_per_s[0], 225e9);
    CU_ASSERT_EQUAL(net.link_bytes_per_s[2], 70e9);
    CU_ASSERT_DOUBLE_EQUAL(net.link_latency_s[1], 1e-6, 1e-18);
    CU_ASSERT_EQUAL(net.reduce_bytes_per_s, 150e9);
    CU_ASSERT_TRUE(net.is_chip_shared);
    POD_CHECK_OK(pod_mesh_parse("32x32", &mesh));
    POD_CHECK_OK(pod_machine_net(&m, &mesh, &net));
    CU_ASSERT_EQUAL(net.link_bytes_per_s[0], 70e9);
    CU_ASSERT_FALSE(net.is_chip_shared);
    POD_CHECK_OK(pod_machine_load(write_text("clock = wall\nname = slow\n"), &m));
    POD_CHECK_FAILS(pod_machine_net(&m, &mesh, &net), POD_E_INVALID,
                    "machine slow: its file has no link_gb_per_s");
}

/* Sixteen ranks on two cores: eight do what one would do alone, but wait for links side by side. */
static void nets_of_crowds(void)
{
    pod_machine m;
    pod_mesh mesh;
    pod_net alone, crowd;
    POD_CHECK_OK(pod_machine_load(
        write_text("clock = wall\nname = small\nphysical_cores = 2\nlink_gb_per_s = 8\n"
                   "link_latency_us = 1\nmessage_us = 2\nreduce_gb_per_s = 16\n"
                   "copy_memory_gb_per_s = 10\nshare_gb_per_s = 4\nsync_us = 3\n"),
        &m));
    POD_CHECK_OK(pod_mesh_parse("2", &mesh));
    POD_CHECK_OK(pod_machine_net(&m, &mesh, &alone));
    CU_ASSERT_DOUBLE_EQUAL(alone.sync_s, 3e-6, 1e-18);
    POD_CHECK_OK(pod_mesh_parse("4x4", &mesh));
    POD_CHECK_OK(pod_machine_net(&m, &mesh, &crowd));
    CU_ASSERT_EQUAL(crowd.link_bytes_per_s[0], alone.link_bytes_per_s[0]);
    CU_ASSERT_DOUBLE_EQUAL(crowd.reduce_bytes_per_s, 2e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(crowd.memory_bytes_per_s, 0.5e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(crowd.message_s, 16e-6, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(crowd.sync_s, 24e-6, 1e-18);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static const double doubles[] = {0, -0.1, 1.0 / 3, 1e-300, 123456789.123456789, 5e-324, 1e300};

static char *write_json(int line_depth)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    pod_json j = pod_json_start(to, line_depth);
    pod_json_open_object(&j, NULL);
    pod_json_text(&j, "text", "a\"b\\c\n\x01\x7f \xc3\xa9 \xff \xc3 \xed\xa0\x80");
    pod_json_open_array(&j, "doubles");
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
        pod_json_double(&j, NULL, doubles[i]);
    pod_json_double(&j, NULL, (double)NAN);
    pod_json_double(&j, NULL, (double)-INFINITY);
    pod_json_close(&j);
    pod_json_int(&j, "int", INT64_MIN);
    pod_json_decimal(&j, "decimal", -1000002, 6);
    pod_json_open_object(&j, "empty");
    pod_json_close(&j);
    pod_json_bool(&j, "yes", true);
    pod_json_text(&j, "none", NULL);
    pod_json_close(&j);
    fclose(to);
    return text;
}

static void json_reads_back(void)
{
    for (int line_depth = 0; line_depth < 4; line_depth++) {
        char *text = write_json(line_depth);
        cJSON *root = cJSON_Parse(text);
        POD_CHECK(root != NULL, "not JSON: %s", text);
        const cJSON *array = cJSON_GetObjectItem(root, "doubles");
        const int n = sizeof doubles / sizeof doubles[0];
        CU_ASSERT_EQUAL(cJSON_GetArraySize(array), n + 2);
        for (int i = 0; i < n; i++)
            POD_CHECK(cJSON_GetArrayItem(array, i)->valuedouble == doubles[i], "%g", doubles[i]);
        CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetArrayItem(array, n)));
        CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetArrayItem(array, n + 1)));
        CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(root, "text")->valuestring,
                               "a\"b\\c\n\x01\x7f \xc3\xa9 \xef\xbf\xbd \xef\xbf\xbd "
                               "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"int\": -9223372036854775808"));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"decimal\": -1.000002"));
        CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(root, "yes")));
        CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(root, "none")));
        CU_ASSERT_EQUAL(strchr(text, '\n') == NULL, line_depth == 0);
        cJSON_Delete(root);
        free(text);
    }
}

POD_TEST_SUITE("runtime.machine", {"print is the inverse of read", print_is_the_inverse_of_read},
               {"bad files", bad_files}, {"pods need keys", pods_need_keys},
               {"host may be unknown", host_may_be_unknown}, {"known machines", known_machines},
               {"machines wrap meshes", machines_wrap_meshes}, {"slices", machines_have_slices},
               {"machines of chips", machines_of_chips}, {"machine nets", machine_nets},
               {"nets of crowds", nets_of_crowds}, {"json reads back", json_reads_back});
