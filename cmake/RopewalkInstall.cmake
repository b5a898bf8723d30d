# What find_package(ropewalk) finds: the targets that every ropewalk_module() exported, the version,
# and the find modules for the libraries that ship no CMake configuration of their own.

include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ropewalk")

install(
  EXPORT ropewalkTargets
  NAMESPACE ropewalk::
  DESTINATION "${config_dir}")

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/ropewalkConfig.cmake.in" "${PROJECT_BINARY_DIR}/ropewalkConfig.cmake"
  INSTALL_DESTINATION "${config_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/ropewalkConfigVersion.cmake" COMPATIBILITY SameMinorVersion)

install(
  FILES "${PROJECT_BINARY_DIR}/ropewalkConfig.cmake"
        "${PROJECT_BINARY_DIR}/ropewalkConfigVersion.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindClp.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindFplll.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindGMP.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindMPFR.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindMPFI.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindOpenBLAS.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindPCRE2.cmake"
  DESTINATION "${config_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
