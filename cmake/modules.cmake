# warpsmith_module(): one folder of src/ is one static library and one test executable.

# Reads modules.txt into WARPSMITH_MODULES (in build order), WARPSMITH_ARROWS_<folder> (what the
# file says) and WARPSMITH_REACH_<folder> (with everything those folders reach). Usable in script
# mode, which is how the include checker reads the same list.
function(warpsmith_read_modules file)
  file(STRINGS ${file} lines REGEX "^[a-z]")
  set(modules)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([a-z_]+):(.*)$")
      message(FATAL_ERROR "${file}: expected 'folder: folder ...', found '${line}'")
    endif()
    set(name ${CMAKE_MATCH_1})
    string(STRIP "${CMAKE_MATCH_2}" arrows)
    separate_arguments(arrows UNIX_COMMAND "${arrows}")
    set(reach ${arrows})
    foreach(arrow IN LISTS arrows)
      if(NOT arrow IN_LIST modules)
        message(FATAL_ERROR "${file}: '${name}' names '${arrow}', which is not above it")
      endif()
      list(APPEND reach ${reach_${arrow}})
    endforeach()
    list(REMOVE_DUPLICATES reach)
    set(reach_${name} ${reach})
    set(WARPSMITH_ARROWS_${name} "${arrows}" PARENT_SCOPE)
    set(WARPSMITH_REACH_${name} "${reach}" PARENT_SCOPE)
    list(APPEND modules ${name})
  endforeach()
  set(WARPSMITH_MODULES "${modules}" PARENT_SCOPE)
endfunction()

# Adds a GoogleTest executable whose cases CTest lists by themselves.
# warpsmith_test(<name> SOURCES <file>... [LIBRARIES <target>...] [LABELS <label>...])
function(warpsmith_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LIBRARIES;LABELS")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gmock_main warpsmith::rapidcheck)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
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

# Makes warpsmith_<folder> (alias warpsmith::<folder>) of the .cc files of the calling folder, and
# <folder>_test of its *_test.cc files. Folders are linked as modules.txt says.
# warpsmith_module([SUBFOLDERS <folder>...] [LIBRARIES <target>...])
#   SUBFOLDERS  folders below this one whose sources belong to the same target
#   LIBRARIES   what is linked from outside the project, seen by dependants too
function(warpsmith_module)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "" "SUBFOLDERS;LIBRARIES")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  set(patterns *.cc)
  foreach(subfolder IN LISTS ARG_SUBFOLDERS)
    list(APPEND patterns ${subfolder}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM WARPSMITH_ARROWS_${folder} PREPEND warpsmith:: OUTPUT_VARIABLE arrows)

  set(target warpsmith_${folder})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(visibility PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  add_library(warpsmith::${folder} ALIAS ${target})
  target_include_directories(${target} ${visibility} ${WARPSMITH_SOURCE_ROOT})
  target_link_libraries(${target} ${visibility} ${arrows} ${ARG_LIBRARIES})
  if(tests AND BUILD_TESTING)
    warpsmith_test(${folder}_test SOURCES ${tests} LIBRARIES ${target})
  endif()
endfunction()
