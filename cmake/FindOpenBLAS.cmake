# Finds OpenBLAS, products of matrices: the target OpenBLAS::OpenBLAS.

find_path(OPENBLAS_INCLUDE_DIR openblas_config.h PATH_SUFFIXES openblas-pthread openblas-openmp openblas-serial
                                                      openblas)
find_library(OPENBLAS_LIBRARY openblas)
mark_as_advanced(OPENBLAS_INCLUDE_DIR OPENBLAS_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLAS REQUIRED_VARS OPENBLAS_LIBRARY OPENBLAS_INCLUDE_DIR)

if(OpenBLAS_FOUND AND NOT TARGET OpenBLAS::OpenBLAS)
  add_library(OpenBLAS::OpenBLAS UNKNOWN IMPORTED)
  set_target_properties(OpenBLAS::OpenBLAS PROPERTIES IMPORTED_LOCATION "${OPENBLAS_LIBRARY}")
  target_include_directories(OpenBLAS::OpenBLAS INTERFACE "${OPENBLAS_INCLUDE_DIR}")
endif()
