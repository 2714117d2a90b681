#include "base/compressed_frames.h"

#include <zstd.h>

namespace warpsmith {

std::vector<std::string_view> WholeFrames(std::string_view bytes) {
  std::vector<std::string_view> frames;
  while (!bytes.empty()) {
    const size_t size = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (ZSTD_isError(size) || size > bytes.size()) break;
    frames.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return frames;
}

}  // namespace warpsmith
