#include "bench/launch/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

pod_launch_relay pod_launch_relay_start(int from, int to, pod_launch_scanner *listener)
{
    fcntl(from, F_SETFL, O_NONBLOCK);
    return (pod_launch_relay){.from = from, .to = to, .listener = listener};
}

void pod_launch_relay_close(pod_launch_relay *r)
{
    if (r->from >= 0) close(r->from);
    r->from = -1;
}

struct pollfd pod_launch_relay_wants(const pod_launch_relay *r)
{
    if (r->n > 0) return (struct pollfd){.fd = r->to, .events = POLLOUT};
    return (struct pollfd){.fd = r->from, .events = POLLIN};
}

static void take(pod_launch_relay *r)
{
    const ssize_t n = read(r->from, r->bytes, sizeof r->bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        pod_launch_relay_close(r);
        return;
    }
    if (r->listener) pod_launch_scanner_feed(r->listener, r->bytes, (size_t)n);
    r->n = r->to >= 0 ? (size_t)n : 0;
}

static void give(pod_launch_relay *r)
{
    const ssize_t n = write(r->to, r->bytes, r->n);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0) {
        r->reason = errno;
        r->to = -1;
        r->n = 0;
        return;
    }
    r->n -= (size_t)n;
    memmove(r->bytes, r->bytes + n, r->n);
}

void pod_launch_relay_pass(pod_launch_relay *r)
{
    enum { MOST_TURNS = 256 }; /* the caller has other things to look after */
    for (int i = 0; i < MOST_TURNS; i++) {
        struct pollfd fd = pod_launch_relay_wants(r);
        if (fd.fd < 0 || poll(&fd, 1, 0) <= 0) return;
        if (r->n > 0)
            give(r);
        else
            take(r);
    }
}
