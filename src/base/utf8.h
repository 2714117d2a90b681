// Text from outside (compiler logs, source files) may hold any bytes; JSON may not.
#ifndef WARPSMITH_BASE_UTF8_H_
#define WARPSMITH_BASE_UTF8_H_

#include <string>
#include <string_view>

namespace warpsmith {

bool IsUtf8(std::string_view text);

// The text with every byte that is not part of a valid sequence replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

// 'A' to 'Z' in lower case, whatever the locale; all other bytes as they are.
std::string AsciiLower(std::string_view text);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_UTF8_H_
