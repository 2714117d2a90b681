# Installs libwarpsmith_gemm for others: headers, library, pkg-config file, CMake package and its two
# examples. All of it is the component `gemm`: cmake --install build --component gemm.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_CURRENT_BINARY_DIR}/package)
install(TARGETS warpsmith_gemm EXPORT warpsmith-gemm
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT gemm NAMELINK_COMPONENT gemm)
install(FILES ${CMAKE_SOURCE_DIR}/include/warpsmith/gemm.h ${CMAKE_SOURCE_DIR}/include/warpsmith/rival.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/warpsmith COMPONENT gemm)
install(EXPORT warpsmith-gemm NAMESPACE warpsmith:: FILE warpsmith-gemm-targets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/warpsmith-gemm COMPONENT gemm)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/package/warpsmith-gemm-config.cmake.in
  ${package}/warpsmith-gemm-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/warpsmith-gemm)
write_basic_package_version_file(${package}/warpsmith-gemm-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${package}/warpsmith-gemm-config.cmake ${package}/warpsmith-gemm-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/warpsmith-gemm COMPONENT gemm)
# Relative to the file itself, so that the installed tree may be moved.
configure_file(${CMAKE_CURRENT_LIST_DIR}/package/warpsmith_gemm.pc.in
  ${package}/warpsmith_gemm.pc @ONLY)
install(FILES ${package}/warpsmith_gemm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT gemm)
install(FILES ${CMAKE_SOURCE_DIR}/examples/gemm.c ${CMAKE_SOURCE_DIR}/examples/matmul.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/warpsmith/examples COMPONENT gemm)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/train
  DESTINATION ${CMAKE_INSTALL_DATADIR}/warpsmith/examples PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python
  DESTINATION ${CMAKE_INSTALL_DATADIR}/warpsmith PATTERN __pycache__ EXCLUDE)
