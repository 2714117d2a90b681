// zstd, for recordings, raw samples and cached artifacts.
#ifndef WARPSMITH_BASE_COMPRESSION_H_
#define WARPSMITH_BASE_COMPRESSION_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith {

// One frame, with a checksum over what it holds.
std::string Compress(std::string_view bytes, int level = 9);

// Refuses input that is not zstd, is cut off, or expands past `limit_bytes`.
Result<std::string> Decompress(std::string_view source, std::string_view bytes,
                               size_t limit_bytes = size_t{1} << 30);

// The whole frames that `bytes` begin with, as they lie there; what follows the last is torn, or no
// frame. Several frames one behind the other are one file to zstd, so a file can grow by a frame a
// write, and a killed writer tears the last alone. Looks at the frames' lengths, not at what they
// hold: Decompress does.
std::vector<std::string_view> WholeFrames(std::string_view bytes);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_COMPRESSION_H_
