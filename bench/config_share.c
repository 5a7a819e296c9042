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
