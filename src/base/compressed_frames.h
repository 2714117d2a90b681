// Files of zstd frames one behind the other, which zstd reads as one file. Appending a frame is a
// write of its own, so that what a killed writer leaves torn is the last one.
#ifndef WARPSMITH_BASE_COMPRESSED_FRAMES_H_
#define WARPSMITH_BASE_COMPRESSED_FRAMES_H_

#include <string_view>
#include <vector>

namespace warpsmith {

// The whole frames that `bytes` begin with, as they lie there; what follows the last is torn, or no
// frame. Looks at the frames' lengths, not at what they hold: Decompress does.
std::vector<std::string_view> WholeFrames(std::string_view bytes);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_COMPRESSED_FRAMES_H_
