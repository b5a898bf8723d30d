# Finds Clp, linear programs by the simplex method: the target Clp::Clp. The solver library itself and
# the CoinUtils that its headers call into; not ClpSolver, the command's part, which links more.

find_path(CLP_INCLUDE_DIR ClpSimplex.hpp PATH_SUFFIXES coin coin-or)
find_library(CLP_LIBRARY Clp)
find_library(COINUTILS_LIBRARY CoinUtils)
mark_as_advanced(CLP_INCLUDE_DIR CLP_LIBRARY COINUTILS_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Clp REQUIRED_VARS CLP_LIBRARY COINUTILS_LIBRARY CLP_INCLUDE_DIR)

if(Clp_FOUND AND NOT TARGET Clp::Clp)
  add_library(Clp::Clp UNKNOWN IMPORTED)
  set_target_properties(Clp::Clp PROPERTIES IMPORTED_LOCATION "${CLP_LIBRARY}")
  target_include_directories(Clp::Clp INTERFACE "${CLP_INCLUDE_DIR}")
  target_link_libraries(Clp::Clp INTERFACE "${COINUTILS_LIBRARY}")
endif()
