// Every reader's fuzzer in one program: started as <reader>_fuzz, it is that one. What the files hide
// in unnamed namespaces has names of its own among all of them.
#include <cstdio>
#include <cstdlib>

#include <every_source.inc>

namespace {

using Entry = int (*)(const uint8_t*, size_t);
Entry chosen = nullptr;

Entry EntryOf(std::string_view name) {
#define READER(reader) \
  if (name == #reader "_fuzz") return Read_##reader;
#include <every_name.inc>
#undef READER
  return nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  const std::string path = **argv;
  chosen = EntryOf(std::string_view(path).substr(path.rfind('/') + 1));
  if (chosen != nullptr) return 0;
  std::fprintf(stderr, "%s: start it by the name of a reader, <reader>_fuzz\n", path.c_str());
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return chosen(data, size);
}
