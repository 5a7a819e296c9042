/* Status codes and the text of the last error.
 *
 * A function that can fail returns a pod_status and is POD_MUST. pod_fail() writes the text once,
 * where the error is detected; callers return the status with POD_TRY. Each thread has its own
 * text, that of its last failure; the caller at the top prints it once. */
#ifndef MINIPOD_KERNELS_BASE_STATUS_H
#define MINIPOD_KERNELS_BASE_STATUS_H

#include <stddef.h>

#define POD_STATUS_MAP(X) \
    X(OK, 0)              \
    X(E_INVALID, -1)      \
    X(E_SHAPE, -2)        \
    X(E_UNSUPPORTED, -3)  \
    X(E_NOMEM, -4)        \
    X(E_IO, -5)           \
    X(E_FORMAT, -6)       \
    X(E_COMM, -7)         \
    X(E_NUMERIC, -8)      \
    X(E_MISMATCH, -9)     \
    X(E_WRITE, -10)

typedef enum pod_status {
#define POD_X(name, value) POD_##name = (value),
    POD_STATUS_MAP(POD_X)
#undef POD_X
} pod_status;

#define POD_MUST         __attribute__((warn_unused_result))
#define POD_PRINTF(f, a) __attribute__((format(printf, f, a)))

const char *pod_status_name(pod_status s); /* "E_SHAPE"; "E_?" if s is no status */

/* Returns the text of this thread's last failure, one line without a newline; "" if there was
 * none. */
const char *pod_error_text(void);
/* Replaces the text by one from another rank or thread. */
void pod_error_set(const char *text);
/* Replaces control characters, which a name or a file may contain, by blanks, so that a text stays
 * one line. */
void pod_line_flatten(char *text);

void pod__fail(const char *fmt, ...) POD_PRINTF(1, 2);

/* Sets the text and returns the status: return pod_fail(POD_E_FORMAT, "%s: ...", path). A macro, so
 * that the compiler sees that it returns its argument. */
#define pod_fail(s, ...) (pod__fail(__VA_ARGS__), (s))

#define POD_TRY(expr)                        \
    do {                                     \
        pod_status pod_s_ = (expr);          \
        if (pod_s_ != POD_OK) return pod_s_; \
    } while (0)

/* Like POD_TRY, for functions with something to release: stores the status in `status` and, if it
 * is not POD_OK, jumps to `label`. */
#define POD_TRY_GOTO(status, expr, label)   \
    do {                                    \
        (status) = (expr);                  \
        if ((status) != POD_OK) goto label; \
    } while (0)

#endif
