# Every header stands alone: each is compiled as the only include of a file, twice over, so that its
# guard is tried too.
#   cmake -DROOT=<tree> -DWORK=<directory> -DCC=<compiler> -DINCLUDES=<list> -P headers.cmake
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")
set(sources "")
foreach(layer kernels collectives runtime models bench)
  file(GLOB_RECURSE headers RELATIVE "${ROOT}" "${ROOT}/${layer}/*.h")
  foreach(header IN LISTS headers)
    string(MAKE_C_IDENTIFIER "${header}" name)
    file(WRITE "${WORK}/${name}.c" "#include \"${header}\"\n#include \"${header}\"\nint x;\n")
    list(APPEND sources "${WORK}/${name}.c")
  endforeach()
endforeach()

list(LENGTH sources n)
if(n EQUAL 0)
  message(FATAL_ERROR "${ROOT}: no headers found")
endif()
list(REMOVE_ITEM INCLUDES "")
list(TRANSFORM INCLUDES PREPEND -isystem)
execute_process(
  COMMAND ${CC} -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror -fsyntax-only
    -I${ROOT} ${INCLUDES} ${sources}
  RESULT_VARIABLE exit)
if(NOT exit EQUAL 0)
  message(FATAL_ERROR "a header does not stand alone")
endif()
message("${n} headers stand alone")
file(REMOVE_RECURSE "${WORK}")
