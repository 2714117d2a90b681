# fuzz/build makes the fuzzers' tree inside this one; fuzz/<reader> runs each for seconds, from its
# seeds, the same way every time.
find_program(WARPSMITH_FUZZ_COMPILER NAMES clang++)
if(NOT WARPSMITH_FUZZ_COMPILER)
  message(STATUS "No clang++: the fuzzers are not tested (tools/setup installs it)")
  return()
endif()

set(tree ${CMAKE_BINARY_DIR}/fuzz)
add_test(NAME fuzz/build COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/build ${tree})
set_tests_properties(fuzz/build PROPERTIES
  FIXTURES_SETUP fuzzers LABELS fuzz PROCESSORS 2 TIMEOUT 1200)
foreach(reader IN LISTS readers)
  add_test(NAME fuzz/${reader} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/run ${tree} ${reader})
  set_tests_properties(fuzz/${reader} PROPERTIES
    FIXTURES_REQUIRED fuzzers LABELS fuzz TIMEOUT 120)
endforeach()
