/* Configuration files and printed configurations on any text: they neither crash nor lie. What a
 * file sets prints, and parses back to the same print. */
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/config/config.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_round_trip(const pod_config *c)
{
    const char *printed = pod_config_print(c);
    pod_config *again = NULL;
    pod_status s = pod_config_parse(printed, &again);
    POD_ASSERT(s == POD_OK, "%s: printed\n%s", pod_error_text(), printed);
    POD_ASSERT(strcmp(pod_config_print(again), printed) == 0, "another print of\n%s", printed);
    pod_config_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const pod_command_form train = {"train", POD_CMD_TRAIN, "", 0, ""};
    char option[] = "--conf", path[64], text[4096];
    snprintf(path, sizeof path, "%s", fuzz_file(data, bytes));
    char *argv[] = {option, path, NULL}, *environment[] = {NULL};
    pod_config *c = NULL;
    if (pod_config_from_args(&train, 2, argv, environment, &c) == POD_OK) {
        check_round_trip(c);
        pod_config_destroy(c);
    }
    if (bytes >= sizeof text) return 0;
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (pod_config_parse(text, &c) == POD_OK) {
        check_round_trip(c);
        pod_config_destroy(c);
    }
    return 0;
}
