/* The store holds the variables by name: weights, moving statistics, and optimizer states, all
 * float32. The train and eval programs and the checkpoint share one store. */
#ifndef MINIPOD_RUNTIME_EXEC_STORE_H
#define MINIPOD_RUNTIME_EXEC_STORE_H

#include <stdbool.h>

#include "kernels/base/status.h"
#include "runtime/program/program.h"

typedef struct pod_store pod_store;

/* Creates all variables of the program with their initial values. Random values depend only on the
 * seed and the variable's name, so that all ranks and all programs get the same. Of a sharded
 * variable the store holds only the shard of core `core`; such a variable starts with zeros or
 * ones. */
POD_MUST pod_status pod_store_create(const pod_program *p, int core, uint64_t seed,
                                     pod_store **out);
void pod_store_destroy(pod_store *s); /* NULL is allowed */

int pod_store_n(const pod_store *s);
const pod_program_variable *pod_store_variable(const pod_store *s, int i);
int pod_store_find(const pod_store *s, const char *name); /* -1: there is none */
float *pod_store_data(pod_store *s, int i);               /* aligned to 64 bytes */
int64_t pod_store_count(const pod_store *s, int i);       /* elements at pod_store_data */
bool pod_store_is_dealt(const pod_store *s, int i);       /* whether it is sharded over the cores */
int pod_store_core(const pod_store *s);
size_t pod_store_bytes(const pod_store *s);

/* Returns the FNV-1a hash of the names and bits of all variables except optimizer states; it must
 * be equal on all ranks. */
uint64_t pod_store_hash(const pod_store *s);

#endif
