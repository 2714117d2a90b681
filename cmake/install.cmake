# The installed layout. Everything is found relative to bin/warpsmith, so the folder may be moved:
#   bin/warpsmith
#   share/warpsmith/data, docs, skills   as in the checkout (FindShippedFile in base/file.h)
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
foreach(folder data docs skills)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/warpsmith)
  endif()
endforeach()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(gemm_package)
