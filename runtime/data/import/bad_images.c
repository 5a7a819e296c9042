#include "runtime/data/import/bad_images.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { N_NAMED = 5 };

pod_status pod__bad_image(pod_bad_images *b, const char *path, pod_status s, const char *reason)
{
    if (s != POD_E_FORMAT) return pod_fail(s, "%s: %s", path, reason);
    b->n++;
    if (b->n_named == N_NAMED || b->n_named + 1 < b->n) return POD_OK;
    const size_t used = strlen(b->named), room = sizeof b->named - used;
    if (b->skip)
        pod_log_say(b->log, POD_LOG_WARNING, "%s: %s; left out", path, reason);
    else if (snprintf(b->named + used, room, "%s%s: %s", used ? "; " : "", path, reason) >=
                 (int)room &&
             used > 0) {
        b->named[used] = '\0'; /* the first one is cut rather than missing */
        return POD_OK;
    }
    b->n_named++;
    return POD_OK;
}

pod_status pod__bad_images_end(const pod_bad_images *b, const char *folder)
{
    const int64_t n_more = b->n - b->n_named;
    char more[48] = "";
    if (b->skip && n_more > 0)
        pod_log_say(b->log, POD_LOG_WARNING, "%" PRId64 " more like these are left out", n_more);
    if (b->skip || b->n == 0) return POD_OK;
    if (b->n == 1)
        return pod_fail(POD_E_FORMAT, "%s (--on-bad-image skip leaves it out)", b->named);
    if (n_more > 0) snprintf(more, sizeof more, "; and %" PRId64 " more", n_more);
    return pod_fail(POD_E_FORMAT,
                    "%s: %" PRId64 " files cannot be used (--on-bad-image skip leaves them out): "
                    "%s%s",
                    folder, b->n, b->named, more);
}

pod_status pod__file_trouble(const char *what, int error)
{
    static const int of_one_file[] = {ENOENT, ENOTDIR,      EACCES, EPERM, ELOOP,
                                      EISDIR, ENAMETOOLONG, ENXIO,  ENODEV};
    pod_status s = error == ENOMEM ? POD_E_NOMEM : POD_E_IO;
    for (size_t i = 0; i < sizeof of_one_file / sizeof of_one_file[0]; i++)
        if (error == of_one_file[i]) s = POD_E_FORMAT;
    return pod_fail(s, "%s: %s", what, strerror(error));
}
