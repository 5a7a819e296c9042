/* Memory of which each event needs a little, elsewhere: in large pages, where the system has some,
 * it is found sooner. What is not touched is not taken. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_PAGES_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_PAGES_H

#include <stddef.h>

void *pod__sim_take_pages(size_t bytes);         /* all 0; NULL: none */
void pod__sim_put_pages(void *at, size_t bytes); /* NULL is allowed */

#endif
