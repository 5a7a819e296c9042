/* Being asked to stop, by a signal: who runs the job wants it to save and to end.
 *
 * SIGUSR1 asks as often as it comes. Of SIGTERM the first asks; the second ends this process as it
 * would have without pod_stop_install. A signal reaches ranks at different steps or only one of
 * them: what they do about it they settle by a vote (collectives/exec/vote.h). */
#ifndef MINIPOD_COLLECTIVES_EXEC_STOP_H
#define MINIPOD_COLLECTIVES_EXEC_STOP_H

#include <stdbool.h>

void pod_stop_install(void); /* once a process, from then on */
bool pod_stop_asked(void);   /* this rank was; stays true */

#endif
