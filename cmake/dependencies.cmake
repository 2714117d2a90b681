# What is linked from outside. Everything but glibc is linked statically or used as headers, so that
# an installed binary runs on another distribution with the same or a newer glibc.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(zstd REQUIRED)

# Defines warpsmith::<name> as the static library `archive` with its header, or stops.
function(warpsmith_static_library name archive header)
  find_library(WARPSMITH_${name}_ARCHIVE NAMES ${archive} REQUIRED)
  find_path(WARPSMITH_${name}_INCLUDE ${header} REQUIRED)
  add_library(warpsmith_${name} STATIC IMPORTED GLOBAL)
  add_library(warpsmith::${name} ALIAS warpsmith_${name})
  set_target_properties(warpsmith_${name} PROPERTIES
    IMPORTED_LOCATION ${WARPSMITH_${name}_ARCHIVE}
    INTERFACE_INCLUDE_DIRECTORIES ${WARPSMITH_${name}_INCLUDE})
  mark_as_advanced(WARPSMITH_${name}_ARCHIVE WARPSMITH_${name}_INCLUDE)
endfunction()

warpsmith_static_library(sqlite libsqlite3.a sqlite3.h)
target_link_libraries(warpsmith_sqlite INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)

# Distributions newer than Debian 12 build libcrypto.a with compression, which we never call.
warpsmith_static_library(crypto libcrypto.a openssl/evp.h)
find_library(WARPSMITH_ZLIB_ARCHIVE NAMES libz.a REQUIRED)
target_link_libraries(warpsmith_crypto INTERFACE
  zstd::libzstd_static ${WARPSMITH_ZLIB_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS})

# Header mode: the shared library's soname differs between distributions.
find_path(WARPSMITH_TOML_INCLUDE toml++/toml.h REQUIRED)
add_library(warpsmith_toml INTERFACE)
add_library(warpsmith::toml ALIAS warpsmith_toml)
target_include_directories(warpsmith_toml SYSTEM INTERFACE ${WARPSMITH_TOML_INCLUDE})
target_compile_definitions(warpsmith_toml INTERFACE TOML_HEADER_ONLY=1 TOML_EXCEPTIONS=0)

# Its declarations only: the library is opened at run time (src/base/http.cc), because it cannot be
# linked statically on Debian and a machine without it needs no model server.
find_path(WARPSMITH_CURL_INCLUDE curl/curl.h REQUIRED)
add_library(warpsmith_curl INTERFACE)
add_library(warpsmith::curl ALIAS warpsmith_curl)
target_include_directories(warpsmith_curl SYSTEM INTERFACE ${WARPSMITH_CURL_INCLUDE})
target_link_libraries(warpsmith_curl INTERFACE ${CMAKE_DL_LIBS})

# Inlined into reports; Debian's package, so that no report ever loads a script from a network.
find_file(WARPSMITH_CHART_JS NAMES chart.min.js
  PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist REQUIRED)

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  warpsmith_static_library(rapidcheck librapidcheck.a rapidcheck.h)
endif()
