# Sets WARPSMITH_COMMIT to the checkout's commit, "+" appended when files differ from it; empty
# where there is no git or no checkout (a source archive).
set(WARPSMITH_COMMIT "")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --abbrev=12 --dirty=+ --exclude=*
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    OUTPUT_VARIABLE WARPSMITH_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
