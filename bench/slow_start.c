#include "bench/slow_start.h"

#include <stdio.h>
#include <string.h>

static const double long_s = 5; /* name servers are given so long for one answer: resolv.conf(5) */

/* A line is an address and names; # begins a comment. */
static bool line_has(char *line, const char *name)
{
    char *rest = NULL;
    line[strcspn(line, "#")] = '\0';
    const char *word = strtok_r(line, " \t\n", &rest);
    while (word && (word = strtok_r(NULL, " \t\n", &rest)))
        if (strcmp(word, name) == 0) return true;
    return false;
}

static bool is_in_hosts(const char *name, const char *path)
{
    char line[1024];
    bool found = false;
    FILE *f = fopen(path, "r");
    if (!f) return false;
    while (!found && fgets(line, sizeof line, f)) found = line_has(line, name);
    fclose(f);
    return found;
}

bool pod_slow_start(double seconds, const char *hostname, const char *hosts_path,
                    char text[POD_SLOW_START_BYTES])
{
    if (seconds < long_s || is_in_hosts(hostname, hosts_path)) return false;
    snprintf(text, POD_SLOW_START_BYTES,
             "MPI took %.0f s to start: Open MPI looks up the name of this host, and %s has no "
             "'%s'; if no name server knows it either, add a line '127.0.1.1 %s' there",
             seconds, hosts_path, hostname, hostname);
    return true;
}
