/* Files of `key = value` lines, read with inih.
 *
 * Blank lines and lines that begin with # or ; are comments, and so is text after " #" or " ;"
 * behind a value. A value that begins with one of them is empty. A quoted value, "..." or '...',
 * may contain #. It may not contain a ; after a blank, at which inih would end it. Blanks before a
 * key mean nothing (inih alone would take such a line for a continuation). A line must fit into
 * inih's buffer. Control characters are refused. */
#ifndef MINIPOD_RUNTIME_CORE_INI_H
#define MINIPOD_RUNTIME_CORE_INI_H

#include "kernels/base/status.h"

/* Called for each key; `place` is "FILE:LINE". A status other than POD_OK ends the reading. */
typedef pod_status pod_ini_fn(void *ctx, const char *place, const char *section, const char *key,
                              const char *value);

/* E_IO if the file cannot be read; E_FORMAT, naming file and line, if a line has another form;
 * otherwise the first status of `fn` that is not POD_OK. */
POD_MUST pod_status pod_ini_read(const char *path, pod_ini_fn *fn, void *ctx);

/* The same for a text that is not empty; `name` replaces the file in places and messages. */
POD_MUST pod_status pod_ini_read_text(const char *name, const char *text, pod_ini_fn *fn,
                                      void *ctx);

#endif
