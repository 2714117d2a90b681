#!/usr/bin/env bash
# What the installation holds is enough for a C program, by pkg-config and by CMake, wherever it is
# moved to; the headers are clean C99 and C++; the library needs glibc alone and shows its C ABI only.
# shellcheck source=tests/library/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"
cuda=$4

install_library "$folder/first"
mv first moved
library=$(find moved -name libwarpsmith_gemm.so)
[[ -n $library ]] || expected "libwarpsmith_gemm.so in the installation: $(find moved)"
libdir=$(dirname "$folder/$library")

# And no more than that: what trains, or judges, is another component's.
others=$(find moved/share -type f ! -path '*/examples/gemm.c' ! -path '*/examples/matmul.py')
[[ -z $others ]] || expected "the library's two examples alone in share, found: $others"

printf '#include <warpsmith/%s.h>\n' gemm rival >header.c
echo 'int main(void) { return 0; }' >>header.c
cp header.c header.cc
strict=(-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only -Imoved/include)
cc -std=c99 "${strict[@]}" header.c || expected "the headers to be C99"
c++ -std=c++11 "${strict[@]}" header.cc || expected "the headers to be C++11"

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if [[ $needed != *asan* ]]; then
  for name in $needed; do
    [[ $name =~ ^(libc|libm|libdl|libpthread|ld-linux-x86-64)\.so ]] ||
      expected "the library to need glibc alone, it needs $name"
  done
fi
foreign=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | grep -v '^warpsmith_gemm_' || true)
[[ -z $foreign ]] || expected "no symbols but the C ABI's, found: $foreign"
[[ $(readelf -d "$library") == *'[libwarpsmith_gemm.so.1]'* ]] || expected "a versioned soname"

# The example, as its first line says; the fake driver stands for libcuda.
ln -s "$build/fake_cuda/lib64/libcuda.so.1" libcuda.so
lines=$(wc -l <"$checkout/examples/gemm.c")
((lines <= 20)) || expected "at most 20 lines in examples/gemm.c, found $lines"
if command -v pkg-config >pkg-config.path; then
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  read -ra flags <<<"$(pkg-config --cflags --libs warpsmith_gemm)"
else
  flags=(-Imoved/include "-L$libdir" -lwarpsmith_gemm)
fi
cc -std=c99 -Wall -Wextra -Werror -isystem "$cuda/include" "$checkout/examples/gemm.c" "${flags[@]}" \
  -L. -lcuda -o example || expected "examples/gemm.c to compile"
answer=$(LD_LIBRARY_PATH=$libdir:$folder ./example) ||
  expected "the example to succeed, it said: $answer"
[[ $answer == right ]] || expected "'right', found '$answer'"

# A project of CMake's.
mkdir consumer
cat >consumer/CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(warpsmith-gemm REQUIRED)
add_executable(version version.c)
target_link_libraries(version PRIVATE warpsmith::gemm)
PROJECT
cat >consumer/version.c <<'SOURCE'
#include <stdio.h>
#include <warpsmith/gemm.h>
int main(void) { return puts(warpsmith_gemm_version()) < 0; }
SOURCE
{
  cmake -S consumer -B consumer/build -DCMAKE_PREFIX_PATH="$folder/moved" &&
    cmake --build consumer/build
} >consumer.log 2>&1 || expected "find_package to work: $(cat consumer.log)"
version=$(consumer/build/version)
[[ $version =~ ^[0-9]+\.[0-9]+ ]] || expected "a version, found '$version'"
