#include "compile/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace warpsmith::compile {
namespace {

Error NotACubin(const char* what) {
  return Error{ErrorCode::kBadInput, std::string("cubin: ") + what, "compile it again"};
}

// A header at `offset`, or nothing when it does not lie within the image.
template <typename T>
std::optional<T> Read(std::string_view image, uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(value));
  return value;
}

// Text up to its NUL, or to the image's end.
std::string_view TextAt(std::string_view image, uint64_t offset) {
  if (offset >= image.size()) return {};
  const std::string_view rest = image.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

Result<std::vector<Section>> ReadSections(std::string_view image) {
  const auto header = Read<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return NotACubin("not a 64-bit little-endian ELF file");
  }
  if (header->e_shentsize != sizeof(Elf64_Shdr)) return NotACubin("odd section header size");
  // With 65280 sections or more the count and the name table's index are elsewhere; none has these.
  const uint64_t table_bytes = uint64_t{header->e_shnum} * sizeof(Elf64_Shdr);
  if (header->e_shoff > image.size() || image.size() - header->e_shoff < table_bytes ||
      header->e_shstrndx >= header->e_shnum) {
    return NotACubin("the section table lies outside the image");
  }
  const auto section_at = [&](uint64_t index) {
    return *Read<Elf64_Shdr>(image, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const Elf64_Shdr names = section_at(header->e_shstrndx);
  std::vector<Section> sections;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr section = section_at(i);
    if (names.sh_offset > image.size()) return NotACubin("the name table lies outside the image");
    sections.push_back(
        {std::string(TextAt(image, names.sh_offset + section.sh_name)), section.sh_size});
  }
  return sections;
}

Result<int64_t> WritableGlobalBytes(std::string_view image) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t total = 0;
  for (const Section& section : TRY(ReadSections(image))) {
    if (!section.name.starts_with(".nv.global")) continue;
    const uint64_t room = static_cast<uint64_t>(kMost - total);
    total += static_cast<int64_t>(std::min(section.bytes, room));
  }
  return total;
}

}  // namespace warpsmith::compile
