#include "bench/config_share.h"

#include <stdlib.h>
#include <string.h>

#include "bench/command.h"

pod_status pod_config_share(pod_comm *comm, pod_status mine, pod_config **config)
{
    const bool reads = pod_comm_rank(comm) == 0;
    const char *printed = reads && mine == POD_OK ? pod_config_print(*config) : "";
    struct {
        pod_status status;
        uint64_t bytes;
    } head = {mine, strlen(printed) + 1};
    pod_comm_broadcast(comm, 0, &head, sizeof head);
    if (head.status != POD_OK) return head.status;
    char *text = malloc(head.bytes);
    if (!text) pod_comm_abort(comm, POD_EXIT_FAILED);
    memcpy(text, printed, reads ? head.bytes : 0);
    pod_comm_broadcast(comm, 0, text, head.bytes);
    const pod_status s = pod_comm_agree(comm, reads ? POD_OK : pod_config_parse(text, config));
    free(text);
    return s;
}

pod_status pod_config_command_words(const pod_config *c, pod_arena *arena, char ***out, int *n)
{
    const bool typed = pod_config_source(c, POD_OPT_CONF) == POD_FROM_COMMAND_LINE;
    const int n_args = pod_config_n_args(c), n_files = typed ? pod_config_n_files(c) : 0;
    char **words = POD_ARENA_NEW(arena, char *, n_args + 2 * n_files + 1);
    int k = 0;
    if (!words) return POD_E_NOMEM;
    words[k++] = pod_arena_text(arena, "%s", pod_config_arg(c, 0));
    for (int i = 0; i < n_files; i++) {
        words[k++] = pod_arena_text(arena, "--conf");
        words[k++] = pod_arena_text(arena, "%s", pod_config_file(c, i));
    }
    for (int i = 1; i < n_args; i++) words[k++] = pod_arena_text(arena, "%s", pod_config_arg(c, i));
    for (int i = 0; i < k; i++)
        if (!words[i]) return POD_E_NOMEM;
    *out = words;
    *n = k;
    return POD_OK;
}
