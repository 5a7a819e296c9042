#include "bench/common/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/core/thread.h"

enum { BLOCK_BYTES = 1 << 16 };

typedef struct drawing {
    const char *script;
    pid_t pid;
    int gnuplot; /* a socket: its standard input and output */
} drawing;

static bool put(int to, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = send(to, text, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        text += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* A thread of its own, since gnuplot draws before it has read all. That gnuplot has ended meanwhile
 * its exit code tells. */
static void *feed(void *ctx)
{
    const drawing *d = ctx;
    (void)put(d->gnuplot, d->script, strlen(d->script));
    shutdown(d->gnuplot, SHUT_WR);
    return NULL;
}

/* Answers errno's number. */
static int spawn(int own, pid_t *pid)
{
    extern char **environ;
    char name[] = "gnuplot", *argv[] = {name, NULL};
    posix_spawn_file_actions_t files;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return failed;
    posix_spawn_file_actions_adddup2(&files, own, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, own, STDOUT_FILENO);
    failed = posix_spawnp(pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static int start_gnuplot(drawing *d)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    const int failed = spawn(ends[1], &d->pid);
    close(ends[1]);
    d->gnuplot = ends[0];
    if (failed) close(d->gnuplot);
    return failed;
}

/* gnuplot names what has no key after itself, and a browser shows that as a tooltip. */
static void put_without_names(const char *svg, FILE *to)
{
    static const char begin[] = "<title>gnuplot_plot_", end[] = "</title>";
    for (const char *at; (at = strstr(svg, begin));) {
        fwrite(svg, 1, (size_t)(at - svg), to);
        svg = strstr(at, end);
        if (!svg) return;
        svg += strlen(end);
    }
    fputs(svg, to);
}

/* Whether anything came. */
static bool copy(int from, FILE *to)
{
    char block[BLOCK_BYTES], *svg = NULL;
    size_t bytes = 0;
    ssize_t n;
    FILE *all = open_memstream(&svg, &bytes);
    if (!all) return false;
    while ((n = read(from, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) fwrite(block, 1, (size_t)n, all);
    if (fclose(all) == 0) put_without_names(svg, to);
    free(svg);
    return bytes > 0;
}

static pod_status draw(drawing *d, FILE *to)
{
    pthread_t feeder;
    int code = -1;
    bool is_drawn = false;
    const pod_status s = pod_thread_start(&feeder, feed, d);
    if (s == POD_OK) {
        is_drawn = copy(d->gnuplot, to);
        pthread_join(feeder, NULL);
    }
    close(d->gnuplot);
    while (waitpid(d->pid, &code, 0) < 0 && errno == EINTR) continue;
    if (s != POD_OK) return s;
    if (code != 0) return pod_fail(POD_E_IO, "gnuplot: failed");
    return is_drawn ? POD_OK : pod_fail(POD_E_IO, "gnuplot: drew nothing, so there is no plot");
}

pod_status pod_plot_draw(const char *script, FILE *to, bool *is_installed)
{
    drawing d = {.script = script};
    const int failed = start_gnuplot(&d);
    *is_installed = failed != ENOENT;
    if (!*is_installed) return POD_OK;
    if (failed) return pod_fail(POD_E_IO, "gnuplot: cannot be started: %s", strerror(failed));
    return draw(&d, to);
}

/* What gnuplot itself writes to a file it does not check. */
pod_status pod_plot(const char *script, const char *path, pod_log *log)
{
    bool is_installed = false;
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    const pod_status s = pod_plot_draw(script, pod_file_stream(f), &is_installed);
    if (s == POD_OK && is_installed) return pod_file_close(f);
    if (s == POD_OK)
        pod_log_say(log, POD_LOG_WARNING, "no plot: gnuplot is not installed (gnuplot-nox)");
    pod_file_abandon(f);
    return s;
}

pod_plot_span pod_plot_span_start(void) { return (pod_plot_span){INFINITY, -INFINITY}; }

void pod_plot_span_add(pod_plot_span *s, double value)
{
    if (!isfinite(value)) return;
    s->low = fmin(s->low, value);
    s->high = fmax(s->high, value);
}

void pod_plot_range(FILE *to, char axis, bool is_log, pod_plot_span s)
{
    const double size = fmax(fabs(s.low), fabs(s.high)), by = size > 0 ? size / 10 : 1;
    if (!(s.high - s.low <= 1e-6 * size)) return;
    if (is_log)
        fprintf(to, "set %crange [%.9g:%.9g]\n", axis, s.low / 1.5, s.high * 1.5);
    else
        fprintf(to, "set %crange [%.9g:%.9g]\n", axis, s.low - by, s.high + by);
}

const char *pod_plot_quote(const char *text, char *out, size_t bytes)
{
    size_t n = 0;
    out[n++] = '\'';
    for (; *text && n + 4 < bytes; text++) {
        if (*text == '\'') out[n++] = '\'';
        out[n++] = *text;
    }
    out[n++] = '\'';
    out[n] = '\0';
    return out;
}
