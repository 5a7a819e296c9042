/* DIR/job/launch.jsonl: how the attempts of a job began and ended, as who starts them sees it.
 * Its form is in job_file.h. A line is one call of the system; one that does not fit on the disk
 * is left out whole, and where that cannot be no line follows it. Local; errors name the file:
 * E_IO where it cannot be opened, E_WRITE of what it does not take. */
#ifndef MINIPOD_RUNTIME_GOODPUT_LAUNCH_FILE_H
#define MINIPOD_RUNTIME_GOODPUT_LAUNCH_FILE_H

#include "kernels/base/status.h"
#include "runtime/core/clock.h"

typedef struct pod_launch_file pod_launch_file;

/* Makes DIR/job where it is missing. A file that is there is gone on with, behind another first
 * line; a torn last one is taken away. Refused while another process has it open. */
POD_MUST pod_status pod_launch_file_open(const char *dir, const char *command, int ranks,
                                         pod_stamp begin, pod_launch_file **out);
POD_MUST pod_status pod_launch_file_put_begin(pod_launch_file *f, int attempt, pod_stamp at);
POD_MUST pod_status pod_launch_file_put_end(pod_launch_file *f, int attempt, pod_stamp at,
                                            int exit_code, const char *reason, const char *text);
/* As if it had not been opened: what was put since goes, and a file that was not there. For a
 * launch of which nothing began; nothing is put any more. */
POD_MUST pod_status pod_launch_file_take_back(pod_launch_file *f);
void pod_launch_file_close(pod_launch_file *f); /* NULL is allowed */

/* E_IO while a process has the file at `path` open by pod_launch_file_open. */
POD_MUST pod_status pod_launch_file_check(const char *path);

#endif
