/* A machine: a file of `key = value` lines, read into a value.
 *
 * `minipod calibrate` measures this host and writes its file; --machine host reads it. Files of
 * pods are part of the program. Rates are 1e9 FLOPs or bytes per second of one core; 0 or "" means
 * not known. A run measures none of them. */
#ifndef MINIPOD_RUNTIME_MACHINE_MACHINE_H
#define MINIPOD_RUNTIME_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/choice.h"
#include "kernels/base/dtype.h"
#include "kernels/base/status.h"
#include "runtime/machine/op_times.h"

enum { POD_MACHINE_TEXT_BYTES = 96 };

typedef char pod_machine_text[POD_MACHINE_TEXT_BYTES];

typedef struct pod_wrap_rule { /* the extents of chips at which a dimension is a ring */
    enum { POD_WRAP_UNKNOWN, POD_WRAP_NEVER, POD_WRAP_AT, POD_WRAP_EVERY } kind;
    int32_t extent; /* AT this one, EVERY multiple of it */
} pod_wrap_rule;

typedef struct pod_machine { /* a value without pointers: may be sent to other ranks as it is */
#define POD_MACHINE_FIELD_TEXT               pod_machine_text
#define POD_MACHINE_FIELD_COUNT              int64_t
#define POD_MACHINE_FIELD_RATE               double
#define POD_MACHINE_FIELD_SHARE              double
#define POD_MACHINE_FIELD_AMOUNT             double
#define POD_MACHINE_FIELD_WRAP               pod_wrap_rule
#define POD_MACHINE_FIELD_RATES              pod_rates
#define POD_MACHINE_FIELD_TIMES              pod_op_times
#define POD_MACHINE(type, field, need, what) POD_MACHINE_FIELD_##type field;
#include "runtime/machine/machine.def"
    char why_unknown[256]; /* "" if the file was read; else one line that says why not */
} pod_machine;

/* E_IO if the file cannot be read; E_INVALID or E_FORMAT, naming file, line and key, for a key that
 * is not in machine.def, a key that occurs twice, or a bad value; E_INVALID, naming file and keys,
 * if `clock` is missing, or if a machine with clock = virtual or with link_gb_per_s lacks keys that
 * it needs. */
POD_MUST pod_status pod_machine_read(const char *path, pod_machine *out);

/* `name` is a name in runtime/machine/presets ("tpu-v3"), a path, or "host": the file that
 * calibrate wrote for this host. If this host was not calibrated, or its CPU differs from that of
 * the file, that is no error: all rates are 0, the name is "host", and why_unknown says so. */
POD_MUST pod_status pod_machine_load(const char *name, pod_machine *out);

/* Returns the i-th name of a preset; NULL after the last. */
const char *pod_machine_known(int i);
/* Returns the text of a preset, static, with the sources of its numbers; NULL for another name. */
const char *pod_machine_known_text(const char *name);

/* The file that calibrate writes: ${XDG_CONFIG_HOME:-~/.config}/minipod/host.conf. */
POD_MUST pod_status pod_machine_host_path(char *path, size_t bytes);

/* Fills in what is known of this host without measuring; the rates stay 0. */
void pod_machine_describe_host(pod_machine *out);

void pod_machine_print(const pod_machine *m, FILE *to); /* the inverse of read */
/* Prints comment lines on optional keys that the file lacks, or has as 0 if that means the same:
 * what simulations assume. Prints nothing for a host without links, which is not simulated. */
void pod_machine_print_absent(const pod_machine *m, FILE *to);
/* Writes a result file: `-` is standard output. */
POD_MUST pod_status pod_machine_write(const char *path, const pod_machine *m);

bool pod_machine_is_virtual(const pod_machine *m); /* its times are simulated */

/* Returns FLOP/s of one core with operands of this type; 0 if not known. */
double pod_machine_peak_flop_per_s(const pod_machine *m, pod_dtype t);

#endif
