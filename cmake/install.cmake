# The installed layout. Everything is found relative to bin/warpsmith, so the folder may be moved:
#   bin/warpsmith
#   share/warpsmith/data, docs, skills, tasks   as in the checkout (FindShippedFile in base/file.h)
#   share/doc/warpsmith/
#   lib/libwarpsmith_gemm.so*, include/warpsmith/gemm.h   the library (gemm_package.cmake)
#
# The target `product` builds all of it, which is what ./demo does: `cmake --install build/release`
# works from then on.
include(GNUInstallDirs)
if(TARGET warpsmith)
  install(TARGETS warpsmith RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_custom_target(product)
  add_dependencies(product warpsmith warpsmith_gemm completions)
endif()
foreach(folder data docs skills tasks)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/warpsmith)
  endif()
endforeach()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(gemm_package)

# The wheel: tools/wheel, or ninja python_wheel -> <build>/wheel/.
find_program(WARPSMITH_PYTHON3 NAMES python3)
if(WARPSMITH_PYTHON3 AND TARGET product)
  add_custom_target(python_wheel DEPENDS product VERBATIM
    COMMAND ${WARPSMITH_PYTHON3} ${CMAKE_SOURCE_DIR}/tools/wheel --no-build
      --build ${CMAKE_BINARY_DIR} --out ${CMAKE_BINARY_DIR}/wheel)
endif()
# A tarball and a .deb: cpack --config build/release/CPackConfig.cmake
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_CONTACT "warpsmith")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36)")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
include(CPack)
