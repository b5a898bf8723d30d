# Finds MPFI, interval arithmetic on MPFR: the target MPFI::MPFI.

find_package(MPFR QUIET)
find_path(MPFI_INCLUDE_DIR mpfi.h)
find_library(MPFI_LIBRARY mpfi)
mark_as_advanced(MPFI_INCLUDE_DIR MPFI_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MPFI REQUIRED_VARS MPFI_LIBRARY MPFI_INCLUDE_DIR MPFR_FOUND)

if(MPFI_FOUND AND NOT TARGET MPFI::MPFI)
  add_library(MPFI::MPFI UNKNOWN IMPORTED)
  set_target_properties(MPFI::MPFI PROPERTIES IMPORTED_LOCATION "${MPFI_LIBRARY}")
  target_include_directories(MPFI::MPFI INTERFACE "${MPFI_INCLUDE_DIR}")
  target_link_libraries(MPFI::MPFI INTERFACE MPFR::MPFR)
endif()
