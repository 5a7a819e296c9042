# Every source is laid out as .clang-format says. Only version 14 is asked: others lay out otherwise.
#   cmake -DROOT=<tree> -DCLANG_FORMAT=<program> -P format.cmake
cmake_minimum_required(VERSION 3.25)

set(files "")
foreach(folder kernels collectives runtime models bench tests)
  file(GLOB_RECURSE found "${ROOT}/${folder}/*.c" "${ROOT}/${folder}/*.h"
    "${ROOT}/${folder}/*.inc")
  list(APPEND files ${found})
endforeach()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run -Werror --ferror-limit=1 ${files}
  RESULT_VARIABLE exit)
if(NOT exit EQUAL 0)
  message(FATAL_ERROR "the files above are not laid out as .clang-format says; to lay them out: "
    "git ls-files -co --exclude-standard '*.c' '*.h' '*.inc' | xargs ${CLANG_FORMAT} -i")
endif()
