// Reading a cubin: an ELF file of 64-bit little-endian words. The image may be hostile: every
// offset is checked before it is followed. Private to this folder.
#ifndef WARPSMITH_COMPILE_CUBIN_H_
#define WARPSMITH_COMPILE_CUBIN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"

namespace warpsmith::compile {

struct Section {
  std::string name;
  uint64_t bytes = 0;
};

// kBadInput when the image is no ELF file or its section table does not lie within it.
Result<std::vector<Section>> ReadSections(std::string_view image);

// Bytes of `__device__` variables: .nv.global (zero) and .nv.global.init. Constants do not count.
Result<int64_t> WritableGlobalBytes(std::string_view image);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_CUBIN_H_
