# How every library and executable of ropewalk is declared.
#
#   ropewalk_module(theory
#     SOURCES formula.cpp …          compiled into the static library ropewalk_theory
#     HEADERS formula.hpp …          public; installed; each must compile alone
#     DEPENDS Eigen3::Eigen …        linked publicly: other modules and libraries its headers show
#     BUILD_DEPENDS ZLIB::ZLIB …)    libraries that only the .cpp files use; consumers of the
#                                    installed module need not have those that are header-only
#
# gives the target ropewalk::theory. What consumers must find is repeated in
# cmake/ropewalkConfig.cmake.in. Includes are rooted at the top of the tree both in the build
# (#include "theory/formula.hpp") and in an installed one, where the root is include/ropewalk.
#
#   ropewalk_executable(ropewalk SOURCES main.cpp … LINK ropewalk::proofs_numeric …)
#
# gives build/<preset>/bin/ropewalk, installed, with ROPEWALK_VERSION defined as a string.

include(GNUInstallDirs)

# Warnings for our own code. Third-party headers come from imported targets, which are system headers.
add_library(ropewalk_warnings INTERFACE)
target_compile_options(
  ropewalk_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow
                              $<$<BOOL:${ROPEWALK_WERROR}>:-Werror>)

if(ROPEWALK_SANITIZE)
  # Headers compiled alone, in object libraries that CMake makes of header sets, are never run.
  set(alone "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,OBJECT_LIBRARY>")
  set(sanitize -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all
               -fno-omit-frame-pointer)
  add_compile_options("$<IF:${alone},-O0;-g0,${sanitize}>")
  # Of the millions of addresses in such a program, none waits for the start.
  add_link_options(-fsanitize=address,undefined -no-pie)
  add_compile_definitions(_GLIBCXX_ASSERTIONS ROPEWALK_SANITIZED)
endif()

# Headers of other projects that almost every source includes, compiled once: half of the time of a
# build goes into them. Off with a compiler launcher (a compiler cache does better without) and in the
# dev preset, whose sources then have to include what they use, as clang-tidy reads them. Libraries,
# programs and tests have a set each: they are compiled with different flags and include different things.
# Who reuses a set adds nothing to the preprocessor that these headers could see.
set(precompile ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(precompile OFF)
endif()
option(ROPEWALK_PRECOMPILE "Precompile the headers of other projects" ${precompile})

# ropewalk_precompile(target kind headers...): the first target of a kind brings the headers of its
# kind, later ones reuse them.
function(ropewalk_precompile target kind)
  if(NOT ROPEWALK_PRECOMPILE)
    return()
  endif()
  get_property(owner GLOBAL PROPERTY ropewalk_precompiled_${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY ropewalk_precompiled_${kind} ${target})
    target_precompile_headers(
      ${target} PRIVATE
      <boost/math/constants/constants.hpp> <boost/multiprecision/gmp.hpp>
      <boost/multiprecision/mpfi.hpp> <boost/multiprecision/mpfr.hpp> <boost/multiprecision/eigen.hpp>
      <Eigen/Core> <nlohmann/json.hpp> <functional> <random> <sstream> ${ARGN})
  endif()
endfunction()

function(ropewalk_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;DEPENDS;BUILD_DEPENDS")
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ropewalk_module(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target ropewalk_${name})

  add_library(${target} STATIC ${arg_SOURCES})
  add_library(ropewalk::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
                                  ${arg_HEADERS})
  target_link_libraries(${target} PUBLIC ${arg_DEPENDS})
  if(NOT name STREQUAL papers) # a few strings
    ropewalk_precompile(${target} library)
  endif()
  foreach(library IN ITEMS ropewalk_warnings LISTS arg_BUILD_DEPENDS)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${library}>)
    else()
      target_link_libraries(${target} PRIVATE ${library})
    endif()
  endforeach()

  install(
    TARGETS ${target}
    EXPORT ropewalkTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ropewalk")
endfunction()

function(ropewalk_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ropewalk_executable(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_compile_definitions(${name} PRIVATE "ROPEWALK_VERSION=\"${PROJECT_VERSION}\"")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ropewalk_warnings ${arg_LINK})
  # Commands parse and print; under the sanitizers their compilation is what takes long.
  if(ROPEWALK_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  ropewalk_precompile(${name} program <CLI/CLI.hpp>)
  install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()
