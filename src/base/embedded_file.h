// A file that the build put inside the program (warpsmith_embed in cmake/embed.cmake).
#ifndef WARPSMITH_BASE_EMBEDDED_FILE_H_
#define WARPSMITH_BASE_EMBEDDED_FILE_H_

#include <string_view>

namespace warpsmith {

// Both views live as long as the program, and a NUL byte follows `contents`.
struct EmbeddedFile {
  std::string_view path;      // relative to src/ unless the embedding names another base
  std::string_view contents;  // byte for byte
};

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_EMBEDDED_FILE_H_
