# Installs minipod from its build tree and builds and runs the programs beside this file against it:
#   cmake -DBUILD=<build tree> -DWORK=<directory> -DCC=<compiler> -DFLAGS=<flags> -P run.cmake
cmake_minimum_required(VERSION 3.25)

function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE exit OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT exit EQUAL 0)
    message(FATAL_ERROR "${what}: exit ${exit}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
step("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
step("configure" ${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_C_COMPILER=${CC} -DCMAKE_C_FLAGS=${FLAGS})
step("build" ${CMAKE_COMMAND} --build ${WORK}/build)
step("run" ${WORK}/build/consumer)
if(NOT output STREQUAL "3.14062 8\n")
  message(FATAL_ERROR "the consumer prints '${output}', want '3.14062 8'")
endif()
step("run" ${WORK}/build/planner)
if(NOT output MATCHES "^8\\.[12][0-9] GFLOPs, [0-9]+ us\n$")
  message(FATAL_ERROR "the planner prints '${output}', want the 8.2 GFLOPs of ResNet-50")
endif()
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${WORK}/build/planner RESOLVED_DEPENDENCIES_VAR libraries)
if(libraries MATCHES "libmpi|libhdf5|libjpeg|libpng|libutf8proc")
  message(FATAL_ERROR "the inner library brings ${libraries}")
endif()

file(GLOB_RECURSE installed LIST_DIRECTORIES true "${WORK}/prefix/*")
foreach(path IN LISTS installed)
  file(GLOB inside "${path}/*")
  if(IS_DIRECTORY "${path}" AND NOT inside)
    message(FATAL_ERROR "${path} is an empty folder")
  endif()
endforeach()
if(NOT EXISTS "${WORK}/prefix/share/minipod/conf/quickstart.conf")
  message(FATAL_ERROR "share/minipod/conf has no quickstart.conf")
endif()

# A project without C is told so.
file(WRITE "${WORK}/without/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(without LANGUAGES NONE)
find_package(minipod 0.1 REQUIRED)
")
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${WORK}/without -B ${WORK}/without/build
  -DCMAKE_PREFIX_PATH=${WORK}/prefix RESULT_VARIABLE exit OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(exit EQUAL 0 OR NOT output MATCHES "minipod needs the language C")
  message(FATAL_ERROR "a project without C: exit ${exit}\n${output}")
endif()
file(REMOVE_RECURSE "${WORK}")
