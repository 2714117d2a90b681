# What everything in a fuzzers' tree is compiled and linked with.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  message(FATAL_ERROR "fuzzers need clang with libFuzzer: configure with 'cmake --preset fuzz', "
    "which names one")
endif()

set(instrumentation -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined)
add_compile_options(${instrumentation} -fsanitize=fuzzer-no-link -fno-omit-frame-pointer)
add_link_options(${instrumentation})
# Of the modules the fuzzers call a part.
add_compile_options(-ffunction-sections)
add_link_options(-fuse-ld=lld LINKER:--gc-sections)
