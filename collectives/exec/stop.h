/* Being asked to stop, by a signal: who runs the job wants it to save and to end.
 *
 * SIGUSR1, SIGUSR2 and SIGXCPU ask as often as they come, and so does SIGPIPE where standard output
 * has no reader any more, which is said on standard error; a broken pipe of any other kind is told
 * by the write that fails. Of SIGTERM, SIGINT and SIGHUP the first asks; the second of the same
 * ends this process as it would have without pod_stop_install. What was ignored when the program
 * started (nohup) stays so. A signal reaches ranks at different steps or only one of them: what
 * they do about it they settle by a vote (vote.h).
 *
 * mpirun (Open MPI 4) hands on SIGUSR1 and SIGUSR2 as they are. Of SIGTERM, SIGHUP, SIGINT as
 * Ctrl-C sends it, and of a reader that has gone, it makes SIGTERM for all ranks, SIGKILL a second later (odls_base_sigkill_timeout) and its own exit
 * code 1, whatever theirs: a step and a save that take longer than that second are lost, and no
 * rank can do anything about it. Open MPI 5 waits a quarter of a second, which cannot be set. */
#ifndef MINIPOD_COLLECTIVES_EXEC_STOP_H
#define MINIPOD_COLLECTIVES_EXEC_STOP_H

#include <stdbool.h>

void pod_stop_install(void); /* once a process, from then on */
/* Those that ask as often as they come, also before MPI is open: who is asked while it starts stops
 * when it can. */
void pod_stop_hear(void);
bool pod_stop_asked(void); /* this rank was; stays true */

#endif
