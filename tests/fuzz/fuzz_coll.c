/* Parsers of meshes and rules, as options and as files, on any text: what parses prints, and the
 * print reads back the same. */
#include <string.h>

#include "collectives/algo/rules.h"
#include "collectives/mesh/mesh.h"
#include "kernels/base/assert.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void try_mesh(const char *text)
{
    pod_mesh m;
    if (pod_mesh_parse(text, &m) != POD_OK) return;
    POD_ASSERT(pod_mesh_size(&m) >= 1, "size %d", pod_mesh_size(&m));
    char printed[POD_MESH_TEXT_BYTES];
    pod_mesh_print(&m, printed, sizeof printed);
    pod_mesh again;
    char reprinted[POD_MESH_TEXT_BYTES];
    POD_ASSERT(pod_mesh_parse(printed, &again) == POD_OK, "'%s': %s", printed, pod_error_text());
    POD_ASSERT(strcmp(pod_mesh_print(&again, reprinted, sizeof reprinted), printed) == 0,
               "'%s' reads back as '%s'", printed, reprinted);
}

static void check_printed(pod_arena *arena, const pod_coll_rules *rules)
{
    const char *printed = pod_coll_rules_print(arena, rules);
    pod_coll_rules *again;
    POD_ASSERT(printed && pod_coll_rules_parse(arena, printed, &again) == POD_OK, "'%s': %s",
               printed ? printed : "", pod_error_text());
    POD_ASSERT(strcmp(printed, pod_coll_rules_print(arena, again)) == 0,
               "'%s' reads back as something else", printed);
}

static void try_rules(const char *text, const char *path)
{
    pod_arena *arena;
    POD_ASSERT(pod_arena_create(NULL, &arena) == POD_OK, "%s", pod_error_text());
    pod_coll_rules *rules;
    if (pod_coll_rules_parse(arena, text, &rules) == POD_OK) check_printed(arena, rules);
    if (pod_coll_rules_read(arena, path, &rules) == POD_OK) check_printed(arena, rules);
    pod_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[512];
    if (bytes >= sizeof text) return 0;
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    try_mesh(text);
    try_rules(text, fuzz_file(data, bytes));
    return 0;
}
