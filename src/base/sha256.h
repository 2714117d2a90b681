// SHA-256 (OpenSSL), the content hash behind every id.
#ifndef WARPSMITH_BASE_SHA256_H_
#define WARPSMITH_BASE_SHA256_H_

#include <string>
#include <string_view>

namespace warpsmith {

// 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_SHA256_H_
