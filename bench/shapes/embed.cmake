# Writes the shapes of this folder into a C source, so that the program needs no data at run time:
#   cmake -DOUT=<file.c> -DFILES=<a.txt;b.txt> -P embed.cmake
cmake_minimum_required(VERSION 3.25)

set(rows "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
  string(APPEND rows "    {\"${name}\",\n     \"${text}\"},\n")
endforeach()
file(WRITE "${OUT}.new"
"#include \"bench/kernels/problem.h\"

const pod__shapes pod__shape_sets[] = {
${rows}    {0, 0},
};
")
file(COPY_FILE "${OUT}.new" "${OUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUT}.new")
