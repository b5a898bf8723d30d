# Installs the finished build into a fresh prefix, then builds and runs the consumer against it, and
# looks at what the installed command links to. Run with cmake -P; see tests/CMakeLists.txt.

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(prefix "${WORK_DIR}/prefix")
file(REMOVE_RECURSE "${WORK_DIR}")

run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")

execute_process(
  COMMAND "${WORK_DIR}/build/consumer"
  OUTPUT_VARIABLE printed
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed STREQUAL "0.897598")
  message(FATAL_ERROR "the consumer printed '${printed}', not 2*pi/7 = 0.897598")
endif()

execute_process(
  COMMAND "${prefix}/bin/ropewalk" --version
  OUTPUT_VARIABLE printed
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "(^| )${VERSION}$")
  message(FATAL_ERROR "the installed command says version '${printed}', not ${VERSION}")
endif()

execute_process(
  COMMAND "${prefix}/bin/ropewalk-check" --version
  OUTPUT_VARIABLE printed
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed STREQUAL "ropewalk-check ${VERSION}")
  message(FATAL_ERROR "the installed checker says '${printed}', not version ${VERSION}")
endif()

# The licence promise: no GPL library on the link line. GMP, MPFR, MPFI and fplll are LGPL, the QD that
# fplll may use is BSD-like, TBB is Apache-2.0, toml++ and fmt are MIT, SQLite in the public domain, Open MPI and what it stands on (hwloc, libevent, PMIx;
# libudev is LGPL) BSD; Clp and CoinUtils are under the EPL, what
# they call (LAPACK, BLAS, also those of ATLAS, bzip2, zlib) under BSD-like licences; the rest is the compiler's and the system's own runtime.
set(allowed "gmp|mpfr|mpfi|fplll|qd|tbb|fmt|tomlplusplus|Clp|CoinUtils|lapack|blas|atlas|cblas|f77blas|bz2|z")
string(APPEND allowed "|sqlite3|openblas|pcre2-8|mpi|mpi_cxx|open-rte|open-pal|hwloc|event_core.*|event_pthreads.*|udev|cap|pmix|util|ltdl|dl")
string(APPEND allowed "|stdc[+][+]|gcc_s|gfortran|quadmath|m|c|asan|ubsan|pthread|dl|rt")
file(
  GET_RUNTIME_DEPENDENCIES
  EXECUTABLES "${prefix}/bin/ropewalk"
  RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing)
foreach(library IN LISTS libraries missing)
  get_filename_component(file "${library}" NAME)
  if(NOT file MATCHES "^(lib(${allowed})|ld-linux.*)[.]so")
    message(FATAL_ERROR "the installed command links to ${file}, which is not on the list of allowed libraries")
  endif()
endforeach()
