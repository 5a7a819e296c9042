/* Rounds pi to bfloat16 and counts the cores of a mesh, with headers and libraries from the install
 * tree. */
#include <stdio.h>

#include "collectives/mesh/mesh.h"
#include "kernels/base/bf16.h"

int main(void)
{
    pod_mesh mesh;
    if (pod_mesh_parse("4x2", &mesh) != POD_OK) return 1;
    float pi = pod_bf16_to_f32(pod_bf16_from_f32(3.14159265f));
    printf("%g %d\n", (double)pi, pod_mesh_size(&mesh));
    return 0;
}
