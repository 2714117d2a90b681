# One executable <reader>_fuzz for each <reader>_fuzz.cc, and all_fuzzers. Each is linked with the
# modules (cmake/modules.txt) whose headers it includes.
add_library(fuzz_shared STATIC fuzz.cc)
target_link_libraries(fuzz_shared PUBLIC warpsmith::base)

add_custom_target(all_fuzzers ALL)
foreach(reader IN LISTS readers)
  add_executable(${reader}_fuzz ${reader}_fuzz.cc)
  target_link_libraries(${reader}_fuzz PRIVATE fuzz_shared)
  target_link_options(${reader}_fuzz PRIVATE -fsanitize=fuzzer)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${reader}_fuzz.cc)
  file(STRINGS ${reader}_fuzz.cc includes REGEX "^#include \"[a-z_/]+/[a-z0-9_]+\\.h\"")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([a-z_/]+)/.*" "\\1" module "${include}")
    string(REPLACE "/" "_" module ${module})
    target_link_libraries(${reader}_fuzz PRIVATE warpsmith::${module})
  endforeach()
  add_dependencies(all_fuzzers ${reader}_fuzz)
endforeach()
