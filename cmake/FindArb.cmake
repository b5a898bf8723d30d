# Finds Arb, ball arithmetic: the target Arb::Arb. A library of its own beside FLINT 2 (Debian 12:
# libflint-arb-dev), a part of FLINT from version 3 on.

find_package(GMP QUIET)
find_package(MPFR QUIET)
find_path(ARB_INCLUDE_DIR arb.h PATH_SUFFIXES flint)
find_library(FLINT_LIBRARY flint)
find_library(ARB_LIBRARY NAMES flint-arb arb flint)
mark_as_advanced(ARB_INCLUDE_DIR ARB_LIBRARY FLINT_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Arb REQUIRED_VARS ARB_LIBRARY FLINT_LIBRARY ARB_INCLUDE_DIR GMP_FOUND
                                                    MPFR_FOUND)

if(Arb_FOUND AND NOT TARGET Arb::Arb)
  add_library(Arb::Arb UNKNOWN IMPORTED)
  set_target_properties(Arb::Arb PROPERTIES IMPORTED_LOCATION "${ARB_LIBRARY}")
  target_include_directories(Arb::Arb INTERFACE "${ARB_INCLUDE_DIR}")
  target_link_libraries(Arb::Arb INTERFACE "${FLINT_LIBRARY}" MPFR::MPFR GMP::GMP)
endif()
