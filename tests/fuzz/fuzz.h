// What the fuzzers of this folder share. README.md says which properties hold everywhere.
#ifndef WARPSMITH_TESTS_FUZZ_FUZZ_H_
#define WARPSMITH_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace warpsmith::fuzz {

inline std::string_view TextOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The text up to the first newline, and what follows it. Where one fuzzer covers several readers,
// the first line says which, so that seeds can be written by hand.
std::pair<std::string_view, std::string_view> CutLine(std::string_view text);

// An error says something.
void MustExplain(const Error& error);

// The value, or null after looking at the error.
template <typename T>
const T* ValueOf(const Result<T>& result) {
  if (result.ok()) return &result.value();
  MustExplain(result.error());
  return nullptr;
}
inline bool Succeeded(const Status& status) {
  if (!status.ok()) MustExplain(status.error());
  return status.ok();
}

// A folder of this process, for readers that want files: the same one on every call.
const std::filesystem::path& Folder();
// `name` may have folders in it.
void WriteInFolder(const std::string& name, std::string_view content);

}  // namespace warpsmith::fuzz

#endif  // WARPSMITH_TESTS_FUZZ_FUZZ_H_
