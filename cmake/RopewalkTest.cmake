# Catch2 test executables.
#
#   ropewalk_test(theory_tests SOURCES … LINK ropewalk::theory …)
#
# builds build/<preset>/bin/tests/theory_tests and registers each of its test cases with ctest under
# "theory_tests/<name of the case>". A case that prints "ropewalk test skipped:" (see skipped() in
# tests/catch.hpp) counts as skipped. Test sources may use the strings ROPEWALK_SOURCE_DIR,
# ROPEWALK_SHARED_DIR (optional data beside the checkout; cases that read it are skipped where it is
# absent), ROPEWALK_BINARY (the built command) and ROPEWALK_PYTHON (an interpreter that sees mpmath).
#
# RUNS_PROGRAMS is for tests that wait for other programs: they are compiled without optimisation, in
# half the time, and never instrumented themselves. Under the sanitizers nobody looks for leaks in
# these programs, which would take as long as most of them run; the tests of the libraries do.
#
# Catch2 2 and 3 both work: what differs is here and in tests/catch.hpp. Test sources include
# "tests/catch.hpp" and link ropewalk_catch, which brings main().

find_package(Catch2 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH "${Catch2_DIR}")
include(Catch)

# The system's interpreter first: it is the one that Debian's python3-mpmath is installed for.
find_program(ROPEWALK_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(ROPEWALK_PYTHON python3 REQUIRED)

if(Catch2_VERSION VERSION_LESS 3)
  add_library(ropewalk_catch STATIC "${PROJECT_SOURCE_DIR}/tests/catch_main.cpp")
  target_link_libraries(ropewalk_catch PUBLIC Catch2::Catch2)
  target_compile_options(ropewalk_catch PRIVATE -O0) # long to optimise, and nothing waits for it
else()
  add_library(ropewalk_catch INTERFACE)
  target_link_libraries(ropewalk_catch INTERFACE Catch2::Catch2WithMain)
endif()

# Of tests that run programs.
set(ropewalk_program_environment "ASAN_OPTIONS=detect_leaks=0")

function(ropewalk_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "RUNS_PROGRAMS" "" "SOURCES;LINK")
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ropewalk_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCES)
    message(WARNING "ropewalk_test(${name}): no sources, so no tests")
    return()
  endif()

  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/tests")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ropewalk_warnings ropewalk_catch ${arg_LINK})
  target_compile_definitions(
    ${name}
    PRIVATE "ROPEWALK_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\""
            "ROPEWALK_SHARED_DIR=\"${PROJECT_SOURCE_DIR}/../shared\""
            "ROPEWALK_BINARY=\"${PROJECT_BINARY_DIR}/bin/ropewalk\""
            "ROPEWALK_PYTHON=\"${ROPEWALK_PYTHON}\"")
  set(kind test)
  set(environment "")
  if(arg_RUNS_PROGRAMS)
    set(kind test_of_programs)
    set(environment ENVIRONMENT "${ropewalk_program_environment}")
    target_compile_options(${name} PRIVATE -O0 -fno-sanitize=all)
  endif()
  ropewalk_precompile(${name} ${kind} "${PROJECT_SOURCE_DIR}/tests/catch.hpp")
  catch_discover_tests(
    ${name}
    TEST_PREFIX "${name}/"
    PROPERTIES TIMEOUT 900 SKIP_REGULAR_EXPRESSION "ropewalk test skipped:" ${environment})
endfunction()
