#include "kernels/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

static _Thread_local char error_text[TEXT_BYTES];

const char *pod_status_name(pod_status s)
{
    switch (s) {
#define POD_X(name, value) \
    case POD_##name: return #name;
        POD_STATUS_MAP(POD_X)
#undef POD_X
    }
    return "E_?";
}

const char *pod_error_text(void) { return error_text; }

void pod_line_flatten(char *text)
{
    for (char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
}

void pod_error_set(const char *text)
{
    snprintf(error_text, sizeof error_text, "%s", text);
    pod_line_flatten(error_text);
}

void pod__fail(const char *fmt, ...)
{
    /* Formatted aside: the arguments may point into the old record. */
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pod_error_set(text);
}
