/* Files of `key = value` lines, read with inih.
 *
 * Blank lines and lines that begin with # or ; are comments; so is what follows " #" or " ;" behind a
 * value, and a value that begins with one of them is empty. A value in quotes, "..." or '...', is
 * what stands between them, a # included; a ; behind a blank ends it there, too, and is refused.
 * Blanks before a key mean nothing (inih alone would take such a line for a continuation).
 * A line must fit into inih's buffer; control characters are refused. */
#ifndef MINIPOD_RUNTIME_CORE_INI_H
#define MINIPOD_RUNTIME_CORE_INI_H

#include "kernels/base/status.h"

/* Called for each key; `place` is "FILE:LINE". What it returns ends the reading unless POD_OK. */
typedef pod_status pod_ini_fn(void *ctx, const char *place, const char *section, const char *key,
                              const char *value);

/* E_IO when the file cannot be read; E_FORMAT, naming file and line, when a line has no such form;
 * otherwise the first status that `fn` returned. */
POD_MUST pod_status pod_ini_read(const char *path, pod_ini_fn *fn, void *ctx);

/* The same of a text that is not empty; `name` stands for the file in places and messages. */
POD_MUST pod_status pod_ini_read_text(const char *name, const char *text, pod_ini_fn *fn,
                                      void *ctx);

#endif
