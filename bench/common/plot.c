#include "bench/common/plot.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/core/file.h"

/* Runs it from one file into the other; answers errno's number. */
static int run_gnuplot(FILE *script, FILE *svg, int *code)
{
    extern char **environ;
    char name[] = "gnuplot", *argv[] = {name, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return failed;
    posix_spawn_file_actions_adddup2(&files, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, fileno(svg), STDOUT_FILENO);
    failed = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed) return failed;
    while (waitpid(pid, code, 0) < 0 && errno == EINTR) continue;
    return 0;
}

/* gnuplot names what has no key after itself, and a browser shows that as a tooltip. gnuplot does not
 * check what it writes: its last line says whether all of it is there. */
static pod_status copy_without_names(FILE *from, FILE *to)
{
    static const char begin[] = "<title>gnuplot_plot_", end[] = "</title>";
    char *line = NULL;
    size_t room = 0;
    bool has_any = false, is_whole = false;
    rewind(from);
    for (; getline(&line, &room, from) > 0; has_any = true) {
        is_whole = is_whole || strcmp(line, "</svg>\n") == 0;
        const char *rest = line;
        for (const char *at; rest && (at = strstr(rest, begin));) {
            fwrite(rest, 1, (size_t)(at - rest), to);
            rest = strstr(at, end);
            if (rest) rest += strlen(end);
        }
        if (rest) fputs(rest, to);
    }
    free(line);
    if (is_whole) return POD_OK;
    return has_any ? pod_fail(POD_E_WRITE, "gnuplot's drawing is cut off: is there room for "
                                           "temporary files?")
                   : pod_fail(POD_E_IO, "gnuplot drew nothing");
}

static pod_status draw(FILE *script, FILE *svg, FILE *to, bool *is_installed)
{
    int code = -1;
    const int failed = run_gnuplot(script, svg, &code);
    *is_installed = failed != ENOENT;
    if (!*is_installed) return POD_OK;
    if (failed) return pod_fail(POD_E_IO, "gnuplot cannot be started: %s", strerror(failed));
    if (code != 0) return pod_fail(POD_E_IO, "gnuplot failed");
    return copy_without_names(svg, to);
}

pod_status pod_plot_draw(const char *text, FILE *to, bool *is_installed)
{
    FILE *script = tmpfile(), *svg = tmpfile();
    pod_status s = POD_OK;
    if (script) fputs(text, script);
    if (!script || !svg || fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)
        s = pod_fail(POD_E_IO, "no temporary files for gnuplot: %s", strerror(errno));
    if (s == POD_OK) s = draw(script, svg, to, is_installed);
    if (script) fclose(script);
    if (svg) fclose(svg);
    return s;
}

/* What gnuplot itself writes to a file it does not check. */
static pod_status plot(const char *script, const char *path, pod_log *log)
{
    bool is_installed = false;
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    const pod_status s = pod_plot_draw(script, pod_file_stream(f), &is_installed);
    if (s == POD_OK && is_installed) return pod_file_close(f);
    if (s == POD_OK)
        pod_log_say(log, POD_LOG_WARNING, "no plot: gnuplot is not installed (gnuplot-nox)");
    pod_file_abandon(f);
    return s == POD_OK ? s : pod_fail(s, "%s: cannot write: %s", path, pod_error_text());
}

pod_status pod_plot_print(void (*print)(const void *what, FILE *to), const void *what,
                          const char *path, pod_log *log)
{
    char *script = NULL;
    size_t bytes;
    FILE *to = open_memstream(&script, &bytes);
    if (!to) return pod_fail(POD_E_NOMEM, "%s: no memory for the plot's script", path);
    print(what, to);
    fclose(to);
    const pod_status s = plot(script, path, log);
    free(script);
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
