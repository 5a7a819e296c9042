/* bleu_score HYPOTHESES REFERENCES 13a|t2t lc|mixed: prints the BLEU of two files of as many lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/text/bleu.h"

static char *read_line(FILE *f, char **line, size_t *room)
{
    if (getline(line, room, f) < 0) return NULL;
    (*line)[strcspn(*line, "\n")] = '\0';
    return *line;
}

int main(int argc, char **argv)
{
    if (argc != 5) return fprintf(stderr, "want HYPOTHESES REFERENCES 13a|t2t lc|mixed\n"), 2;
    FILE *h = fopen(argv[1], "r"), *r = fopen(argv[2], "r");
    if (!h || !r) return fprintf(stderr, "%s: cannot be read\n", h ? argv[2] : argv[1]), 2;
    const pod_bleu_tokens tokens =
        strcmp(argv[3], "13a") == 0 ? POD_BLEU_13A : POD_BLEU_INTERNATIONAL;
    const bool is_cased = strcmp(argv[4], "mixed") == 0;
    char *line = NULL, *want = NULL;
    size_t line_room = 0, want_room = 0;
    pod_bleu_sums sums = {0};
    while (read_line(h, &line, &line_room) && read_line(r, &want, &want_room))
        if (pod_bleu_add(&sums, tokens, is_cased, line, want) != POD_OK) return 1;
    printf("%.6f %s\n", pod_bleu_score(&sums), pod_bleu_name(tokens, is_cased));
    free(line);
    free(want);
    fclose(h);
    fclose(r);
    return 0;
}
