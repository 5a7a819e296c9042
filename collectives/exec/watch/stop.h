/* Requests by signal that the job saves and ends.
 *
 * SIGUSR1, SIGUSR2 and SIGXCPU are requests each time they arrive. So is SIGPIPE if standard output
 * has no reader any more, with a warning on standard error; a pipe of any other kind that breaks is
 * reported by the write that fails. The first SIGTERM, SIGINT or SIGHUP is a request; the second of
 * the same kind ends this process as it would have without pod_stop_install. A signal that was
 * ignored when the program started (nohup) stays ignored. A signal reaches ranks at different
 * steps, or only one of them, so the ranks vote on what they do (vote.h).
 *
 * mpirun (Open MPI 4) forwards SIGUSR1 and SIGUSR2. For SIGTERM, SIGHUP, Ctrl-C's SIGINT and a
 * reader that has left, it sends SIGTERM to all ranks and SIGKILL a second later
 * (odls_base_sigkill_timeout), and exits with 1 whatever the ranks return: a step and a save that
 * take longer are lost, and no rank can prevent it. Open MPI 5 waits a quarter of a second, which
 * cannot be changed. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_STOP_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_STOP_H

#include <stdbool.h>

void pod_stop_install(void); /* call it once per process */
/* Installs only the handler of SIGUSR1, SIGUSR2, SIGXCPU and SIGPIPE. Call it before MPI starts, so
 * that a program that is asked to stop during its start stops as soon as it can. */
void pod_stop_hear(void);
bool pod_stop_asked(void); /* this rank was asked; stays true */

#endif
