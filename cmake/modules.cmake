# warpsmith_module(): one module of src/ is one static library and one test executable.

# Reads modules.txt into WARPSMITH_MODULES (paths in build order) and WARPSMITH_ARROWS_<path>.
function(warpsmith_read_modules file)
  file(STRINGS ${file} lines REGEX "^[a-z]")
  set(modules)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([a-z_/]+):(.*)$")
      message(FATAL_ERROR "${file}: expected 'module: module ...', found '${line}'")
    endif()
    set(name ${CMAKE_MATCH_1})
    string(STRIP "${CMAKE_MATCH_2}" arrows)
    separate_arguments(arrows UNIX_COMMAND "${arrows}")
    foreach(arrow IN LISTS arrows)
      if(NOT arrow IN_LIST modules)
        message(FATAL_ERROR "${file}: '${name}' names '${arrow}', which is not above it")
      endif()
    endforeach()
    set(WARPSMITH_ARROWS_${name} "${arrows}" PARENT_SCOPE)
    list(APPEND modules ${name})
  endforeach()
  set(WARPSMITH_MODULES "${modules}" PARENT_SCOPE)
endfunction()

# Compiles the sources of a target in batches: the headers that nearly every source includes (JSON,
# ranges, formatting) cost more than the sources themselves. What a source hides in an unnamed
# namespace therefore has a name of its own within its module; the compiler says so where it has not.
function(warpsmith_compile_in_batches target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WARPSMITH_UNITY} UNITY_BUILD_BATCH_SIZE 12)
endfunction()

# Adds a GoogleTest executable whose cases CTest lists by themselves.
# warpsmith_test(<name> SOURCES <file>... [LIBRARIES <target>...] [LABELS <label>...])
function(warpsmith_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LIBRARIES;LABELS")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gmock_main warpsmith::rapidcheck)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  warpsmith_compile_in_batches(${name})
  # PRE_TEST: the build does not run the executable, so one crashing test cannot stop the build.
  set(properties TIMEOUT 300)
  if(ARG_LABELS)
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  if("device" IN_LIST ARG_LABELS)
    list(APPEND properties RESOURCE_LOCK gpu)  # one measuring process at a time
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX ${name}/
    PROPERTIES ${properties})
  add_dependencies(all_tests ${name})
endfunction()

# Makes warpsmith_<module> (alias warpsmith::<module>, with _ for /) of the .cc files of the calling
# folder, and <module>_test of its *_test.cc files. Modules are linked as modules.txt says.
# warpsmith_module([LIBRARIES <target>...])
#   LIBRARIES   what is linked from outside the project, seen by dependants too
function(warpsmith_module)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "" "LIBRARIES")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${WARPSMITH_SOURCE_ROOT}
    OUTPUT_VARIABLE path)
  string(REPLACE "/" "_" module ${path})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  string(REPLACE "/" "_" arrows "${WARPSMITH_ARROWS_${path}}")
  list(TRANSFORM arrows PREPEND warpsmith::)

  set(target warpsmith_${module})
  add_library(${target} STATIC ${sources})
  add_library(warpsmith::${module} ALIAS ${target})
  target_include_directories(${target} PUBLIC ${WARPSMITH_SOURCE_ROOT})
  target_link_libraries(${target} PUBLIC ${arrows} ${ARG_LIBRARIES})
  warpsmith_compile_in_batches(${target})
  if(tests AND BUILD_TESTING)
    warpsmith_test(${module}_test SOURCES ${tests} LIBRARIES ${target})
    # Compiles in half the time of -O2. Tests with fakes of a GPU are made by warpsmith_test alone.
    target_compile_options(${module}_test PRIVATE $<$<CONFIG:Release>:-O0>)
  endif()
endfunction()

# The alias of each module, for what may link all of them.
function(warpsmith_all_modules result)
  string(REPLACE "/" "_" modules "${WARPSMITH_MODULES}")
  list(TRANSFORM modules PREPEND warpsmith::)
  set(${result} "${modules}" PARENT_SCOPE)
endfunction()
