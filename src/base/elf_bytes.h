// Looking into an ELF image without leaving it. Private to elf*.cc.
#ifndef WARPSMITH_BASE_ELF_BYTES_H_
#define WARPSMITH_BASE_ELF_BYTES_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpsmith::elf_bytes {

inline Error Malformed(const char* what) {
  return Error{ErrorCode::kBadInput, std::string("ELF file: ") + what, "compile it again"};
}

// A T at `offset`, or nothing when it does not lie within the image.
template <typename T>
std::optional<T> Read(std::string_view image, uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(value));
  return value;
}

// Text up to its NUL, or to the image's end.
inline std::string_view TextAt(std::string_view image, uint64_t offset) {
  if (offset >= image.size()) return {};
  const std::string_view rest = image.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

inline Result<Elf64_Ehdr> ReadHeader(std::string_view image) {
  const auto header = Read<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return Malformed("not a 64-bit little-endian ELF file");
  }
  return *header;
}

}  // namespace warpsmith::elf_bytes

#endif  // WARPSMITH_BASE_ELF_BYTES_H_
