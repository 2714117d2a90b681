// One compilation as the compilers see it, and their answer.
#ifndef WARPSMITH_COMPILE_COMPILATION_H_
#define WARPSMITH_COMPILE_COMPILATION_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpsmith::compile {

struct Limits {
  std::chrono::milliseconds wall{60'000};
  int64_t memory_bytes = 0;
  int64_t output_bytes = 0;
  int64_t image_bytes = 0;
};

struct Compilation {
  std::string entry;                           // a key of `sources`
  std::map<std::string, std::string> sources;  // path -> text; the others are headers
  std::vector<std::string> flags;              // all of them
};

struct Compiled {
  std::string image;    // empty: it did not compile
  std::string failure;  // one line, when it did not
  std::string log;      // valid UTF-8, within the limit
  // Why the compiler worked without a sandbox; empty: it had one.
  std::string unconfined;
  int64_t writable_global_bytes = 0;
  bool timed_out = false;
  // False for what the machine had a part in (time, memory, a crash): never cached.
  bool repeatable = true;
};

// The wire format between us and a worker: what goes into a frame's payload.
std::string PackCompilation(const Compilation& compilation, const Limits& limits);
// Of the limits those of output and image: wall and memory are kept from outside.
Result<std::pair<Compilation, Limits>> UnpackCompilation(std::string_view payload);
std::string PackCompiled(const Compiled& compiled);
Result<Compiled> UnpackCompiled(std::string_view payload);

// The log cut to the limit, its beginning and its end kept (ptxas reports at the end), with bytes
// that are no UTF-8 replaced by '?'.
std::string TidyLog(std::string_view log, int64_t limit_bytes);

// Byte strings in one byte string: u32 count, then u64 length and bytes of each (little endian).
// Unlike JSON it carries sources and logs that are no valid UTF-8. Private to this folder.
std::string Pack(const std::vector<std::string>& items);

// kBadInput unless `bytes` is exactly what Pack() makes.
Result<std::vector<std::string>> Unpack(std::string_view source, std::string_view bytes);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_COMPILATION_H_
