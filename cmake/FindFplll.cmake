# Finds fplll, lattice reduction: the target Fplll::Fplll.

find_package(GMP QUIET)
find_package(MPFR QUIET)
find_path(FPLLL_INCLUDE_DIR fplll.h)
find_library(FPLLL_LIBRARY fplll)
mark_as_advanced(FPLLL_INCLUDE_DIR FPLLL_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Fplll REQUIRED_VARS FPLLL_LIBRARY FPLLL_INCLUDE_DIR GMP_FOUND MPFR_FOUND)

if(Fplll_FOUND AND NOT TARGET Fplll::Fplll)
  add_library(Fplll::Fplll UNKNOWN IMPORTED)
  set_target_properties(Fplll::Fplll PROPERTIES IMPORTED_LOCATION "${FPLLL_LIBRARY}")
  target_include_directories(Fplll::Fplll INTERFACE "${FPLLL_INCLUDE_DIR}")
  target_link_libraries(Fplll::Fplll INTERFACE MPFR::MPFR GMP::GMP)
endif()
