#include "base/elf.h"

#include <elf.h>

#include "base/elf_bytes.h"

namespace warpsmith {
namespace {

using elf_bytes::Malformed;
using elf_bytes::Read;
using elf_bytes::TextAt;

// The section table, every entry of which lies within the image.
struct SectionTable {
  std::vector<Elf64_Shdr> headers;
  size_t names = 0;  // index of the section that holds the names
};

Result<SectionTable> ReadSectionTable(std::string_view image) {
  const Elf64_Ehdr header = TRY(elf_bytes::ReadHeader(image));
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return Malformed("odd section header size");
  // With 65280 sections or more the count and the name table's index are elsewhere; none has these.
  const uint64_t table_bytes = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  if (header.e_shoff > image.size() || image.size() - header.e_shoff < table_bytes ||
      header.e_shstrndx >= header.e_shnum) {
    return Malformed("the section table lies outside the image");
  }
  SectionTable table;
  table.names = header.e_shstrndx;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    table.headers.push_back(*Read<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr)));
  }
  return table;
}

// The name at `offset` of a string table, wherever that claims to lie.
std::string NameAt(std::string_view image, const Elf64_Shdr& names, uint32_t offset) {
  if (names.sh_offset > image.size()) return "";
  return std::string(TextAt(image.substr(names.sh_offset), offset));
}

}  // namespace

Result<std::vector<ElfSection>> ReadElfSections(std::string_view image) {
  const SectionTable table = TRY(ReadSectionTable(image));
  std::vector<ElfSection> sections;
  for (const Elf64_Shdr& header : table.headers) {
    const bool lies_within = header.sh_type != SHT_NOBITS && header.sh_offset <= image.size() &&
                             header.sh_size <= image.size() - header.sh_offset;
    sections.push_back({NameAt(image, table.headers[table.names], header.sh_name), header.sh_size,
                        lies_within ? image.substr(header.sh_offset, header.sh_size) : ""});
  }
  return sections;
}

Result<std::vector<ElfSymbol>> ReadElfSymbols(std::string_view image) {
  const SectionTable table = TRY(ReadSectionTable(image));
  std::vector<ElfSymbol> symbols;
  for (const Elf64_Shdr& header : table.headers) {
    if (header.sh_type != SHT_SYMTAB) continue;
    if (header.sh_link >= table.headers.size()) return Malformed("symbols without a name table");
    for (uint64_t i = 0; i < header.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = Read<Elf64_Sym>(image, header.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol) return Malformed("the symbol table lies outside the image");
      if (ELF64_ST_TYPE(symbol->st_info) == STT_SECTION) continue;
      symbols.push_back(
          {NameAt(image, table.headers[header.sh_link], symbol->st_name), symbol->st_shndx});
    }
  }
  return symbols;
}

}  // namespace warpsmith
