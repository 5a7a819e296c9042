/* The parts of `minipod data` that read text. Private to this folder. */
#ifndef MINIPOD_BENCH_DATA_TEXT_H
#define MINIPOD_BENCH_DATA_TEXT_H

#include "bench/command.h"
#include "runtime/data/import/import.h"

/* `import text` and `import pairs`: the words from the third on are files or folders. */
POD_MUST pod_status pod__data_import_text(pod_call *call, const char *path,
                                          const pod_import_text *text);
/* `make vocab`: likewise. Writes the vocabulary to `path`. */
POD_MUST pod_status pod__data_make_vocab(pod_call *call, const char *path);

#endif
