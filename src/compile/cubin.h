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

struct Symbol {
  std::string name;
  size_t section = 0;  // index
};
Result<std::vector<Symbol>> ReadSymbols(std::string_view image);

// Bytes of global memory that the kernels may write: .nv.global and .nv.global.init, whole, unless
// none of a section's variables is mentioned in `ptx` beyond its declaration. NVRTC keeps every
// namespace-scope constexpr there, long after its value went into the instructions. Variables in
// constant memory do not count. Without `ptx` ("") every variable counts.
Result<int64_t> WritableGlobalBytes(std::string_view image, std::string_view ptx);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_CUBIN_H_
