// zstd, for recordings, raw samples and cached artifacts.
#ifndef WARPSMITH_BASE_COMPRESSION_H_
#define WARPSMITH_BASE_COMPRESSION_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpsmith {

std::string Compress(std::string_view bytes, int level = 9);

// Refuses input that is not zstd, is cut off, or expands past `limit_bytes`.
Result<std::string> Decompress(std::string_view source, std::string_view bytes,
                               size_t limit_bytes = size_t{1} << 30);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_COMPRESSION_H_
