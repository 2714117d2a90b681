# bin/every_fuzz, linked with the modules (cmake/modules.txt) whose headers the fuzzers include, and
# a link to it for each reader: it is that reader's fuzzer by whose name it is started. One program
# is compiled, linked and carried in a tenth of the time of as many as there are readers.
add_executable(every_fuzz every.cc fuzz.cc)
set_property(SOURCE every.cc PROPERTY INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR})
target_link_libraries(every_fuzz PRIVATE warpsmith::base)
# Everything but glibc is inside: it runs on other machines.
target_link_options(every_fuzz PRIVATE -fsanitize=fuzzer -static-libstdc++ -static-libgcc)

set(sources)
set(names)
set(links)
foreach(reader IN LISTS readers)
  string(APPEND sources "#define LLVMFuzzerTestOneInput Read_${reader}\n"
    "#include \"${reader}_fuzz.cc\"\n#undef LLVMFuzzerTestOneInput\n")
  string(APPEND names "READER(${reader})\n")
  list(APPEND links COMMAND ${CMAKE_COMMAND} -E create_symlink every_fuzz ${reader}_fuzz)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${reader}_fuzz.cc)
  file(STRINGS ${reader}_fuzz.cc includes REGEX "^#include \"[a-z_/]+/[a-z0-9_]+\\.h\"")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([a-z_/]+)/.*" "\\1" module "${include}")
    string(REGEX REPLACE "/tests$" "" module ${module})
    string(REPLACE "/" "_" module ${module})
    target_link_libraries(every_fuzz PRIVATE warpsmith::${module})
  endforeach()
endforeach()
file(CONFIGURE OUTPUT every_source.inc CONTENT "${sources}" @ONLY)
file(CONFIGURE OUTPUT every_name.inc CONTENT "${names}" @ONLY)
target_include_directories(every_fuzz PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_custom_target(all_fuzzers ALL ${links} WORKING_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
  DEPENDS every_fuzz)
