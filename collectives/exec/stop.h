/* Being asked to stop, by a signal: who runs the job wants it to save and to end.
 *
 * SIGUSR1 asks as often as it comes. Of SIGTERM the first asks, and of SIGINT; the second of either
 * ends this process as it would have without pod_stop_install. A signal reaches ranks at different
 * steps or only one of them: what they do about it they settle by a vote (vote.h).
 *
 * mpirun (Open MPI 4) hands on SIGUSR1 as it is. Of SIGTERM, and of SIGINT as Ctrl-C sends it, it
 * makes SIGTERM for all ranks, SIGKILL a second later (odls_base_sigkill_timeout) and its own exit
 * code 1, whatever theirs: a step and a save that take longer than that second are lost, and no
 * rank can do anything about it. */
#ifndef MINIPOD_COLLECTIVES_EXEC_STOP_H
#define MINIPOD_COLLECTIVES_EXEC_STOP_H

#include <stdbool.h>

void pod_stop_install(void); /* once a process, from then on */
/* SIGUSR1 alone, also before MPI is open: who is asked while it starts stops when it can. */
void pod_stop_hear(void);
bool pod_stop_asked(void); /* this rank was; stays true */

#endif
