/* make_jpeg FILE HxW rgb|grey|cmyk|progressive: a JPEG file for system tests and for the fuzzers'
 * corpus: two colours side by side. */
#include <stdio.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "tests/harness/jpegs.h"

int main(int argc, char **argv)
{
    int64_t dim[2];
    int n_dims = 0;
    if (argc != 4 || pod_parse_dims("size", argv[2], 2, dim, &n_dims) != POD_OK || n_dims != 2) {
        fprintf(stderr, "want make_jpeg FILE HxW rgb|grey|cmyk|progressive\n");
        return 2;
    }
    const pod_test_jpeg what = {.height = (int)dim[0],
                                .width = (int)dim[1],
                                .components = strcmp(argv[3], "grey") == 0   ? 1
                                              : strcmp(argv[3], "cmyk") == 0 ? 4
                                                                             : 3,
                                .is_progressive = strcmp(argv[3], "progressive") == 0,
                                .left = {200, 40, 90, 10},
                                .right = {20, 160, 220, 70}};
    if (pod_test_jpeg_save(&what, argv[1])) return 0;
    fprintf(stderr, "%s: cannot be written\n", argv[1]);
    return 1;
}
