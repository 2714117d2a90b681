// Every reader's fuzzer in one executable (targets.cmake): started as <reader>_fuzz, it is that one.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz.h"

#define READER(name) extern "C" int Read_##name(const uint8_t* data, size_t size);
#include "every.inc"
#undef READER

namespace {

using Entry = int (*)(const uint8_t*, size_t);
Entry chosen = nullptr;

Entry EntryOf(std::string_view name) {
#define READER(reader) \
  if (name == #reader "_fuzz") return Read_##reader;
#include "every.inc"
#undef READER
  return nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  const std::string path = **argv;
  chosen = EntryOf(std::string_view(path).substr(path.rfind('/') + 1));
  if (chosen != nullptr) return 0;
  std::fprintf(stderr, "%s: start it by a link that is named <reader>_fuzz\n", path.c_str());
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return chosen(data, size);
}
