#include "kernels/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024, TRACE_BYTES = 2048 };

static _Thread_local char error_text[TEXT_BYTES];
static _Thread_local char error_trace[TRACE_BYTES];

const char *pod_status_name(pod_status s)
{
    switch (s) {
#define POD_X(name, value, text) \
    case POD_##name: return #name;
        POD_STATUS_MAP(POD_X)
#undef POD_X
    }
    return "E_?";
}

const char *pod_status_text(pod_status s)
{
    switch (s) {
#define POD_X(name, value, text) \
    case POD_##name: return text;
        POD_STATUS_MAP(POD_X)
#undef POD_X
    }
    return "unknown status";
}

const char *pod_error_text(void) { return error_text; }

const char *pod_error_trace(void) { return error_trace; }

void pod_line_flatten(char *text)
{
    for (char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
}

void pod_error_set(const char *text)
{
    snprintf(error_text, sizeof error_text, "%s", text);
    pod_line_flatten(error_text);
    error_trace[0] = '\0';
}

static void add_place(const char *file, int line)
{
    size_t used = strlen(error_trace);
    snprintf(error_trace + used, sizeof error_trace - used, "%s%s:%d", used ? "\n" : "", file,
             line);
}

pod_status pod__fail(const char *file, int line, pod_status s, const char *fmt, ...)
{
    /* Formatted aside: the arguments may point into the old record. */
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pod_error_set(text);
    add_place(file, line);
    return s;
}

pod_status pod__trace(const char *file, int line, pod_status s)
{
    add_place(file, line);
    return s;
}
