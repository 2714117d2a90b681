// Byte strings in one byte string: u32 count, then u64 length and bytes of each (little endian).
// Unlike JSON it carries sources and logs that are no valid UTF-8. Private to this folder.
#ifndef WARPSMITH_COMPILE_PACK_H_
#define WARPSMITH_COMPILE_PACK_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::compile {

std::string Pack(const std::vector<std::string>& items);

// kBadInput unless `bytes` is exactly what Pack() makes.
Result<std::vector<std::string>> Unpack(std::string_view source, std::string_view bytes);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_PACK_H_
