# Writes the machine files of this folder into a C source, so that the program needs no data at run
# time:
#   cmake -DOUT=<file.c> -DCONFS=<a.conf;b.conf> -P embed.cmake
cmake_minimum_required(VERSION 3.25)

set(rows "")
foreach(conf IN LISTS CONFS)
  get_filename_component(name "${conf}" NAME_WE)
  file(READ "${conf}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
  string(APPEND rows "    {\"${name}\",\n     \"${text}\"},\n")
endforeach()
file(WRITE "${OUT}.new"
"#include \"runtime/machine/machine_presets.h\"

const pod__machine_preset pod__machine_presets[] = {
${rows}    {NULL, NULL},
};
")
file(COPY_FILE "${OUT}.new" "${OUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUT}.new")
