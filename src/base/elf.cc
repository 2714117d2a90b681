#include "base/elf.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpsmith {
namespace {

Error Malformed(const char* what) {
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
std::string_view TextAt(std::string_view image, uint64_t offset) {
  if (offset >= image.size()) return {};
  const std::string_view rest = image.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

Result<Elf64_Ehdr> ReadHeader(std::string_view image) {
  const auto header = Read<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return Malformed("not a 64-bit little-endian ELF file");
  }
  return *header;
}

// The section table, every entry of which lies within the image.
struct SectionTable {
  std::vector<Elf64_Shdr> headers;
  size_t names = 0;  // index of the section that holds the names
};

Result<SectionTable> ReadSectionTable(std::string_view image) {
  const Elf64_Ehdr header = TRY(ReadHeader(image));
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

constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kMaxImports = 65'536;

struct Segments {
  std::vector<Elf64_Phdr> loaded;
  std::optional<Elf64_Phdr> dynamic;
};

Result<Segments> ReadSegments(std::string_view image) {
  const Elf64_Ehdr header = TRY(ReadHeader(image));
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return Malformed("odd program header size");
  if (header.e_phoff > image.size()) return Malformed("the segment table lies outside the image");
  Segments segments;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = Read<Elf64_Phdr>(image, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return Malformed("the segment table lies outside the image");
    if (segment->p_type == PT_LOAD) segments.loaded.push_back(*segment);
    if (segment->p_type == PT_DYNAMIC) segments.dynamic = *segment;
  }
  return segments;
}

// Where in the image an address is loaded from.
std::optional<uint64_t> OffsetOf(const Segments& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments.loaded) {
    if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz) continue;
    uint64_t offset = 0;
    if (__builtin_add_overflow(segment.p_offset, address - segment.p_vaddr, &offset)) continue;
    return offset;
  }
  return std::nullopt;
}

bool NamesALibrary(int64_t tag) {
  return tag == DT_NEEDED || tag == DT_AUXILIARY || tag == DT_FILTER || tag == DT_AUDIT ||
         tag == DT_DEPAUDIT;
}

struct Dynamic {
  std::map<int64_t, uint64_t> values;  // the last of each tag, as the loader keeps it
  std::vector<uint64_t> libraries;     // offsets in the string table
};

Result<Dynamic> ReadDynamic(std::string_view image, const Segments& segments) {
  if (!segments.dynamic) return Malformed("no dynamic segment: not a shared library");
  const auto begin = OffsetOf(segments, segments.dynamic->p_vaddr);
  if (!begin) return Malformed("the dynamic segment is not loaded");
  Dynamic dynamic;
  for (uint64_t at = *begin;; at += sizeof(Elf64_Dyn)) {
    const auto entry = Read<Elf64_Dyn>(image, at);
    if (!entry) return Malformed("the dynamic segment has no end");
    if (entry->d_tag == DT_NULL) return dynamic;
    if (dynamic.libraries.size() + dynamic.values.size() > kMaxImports) {
      return Malformed("too many dynamic entries");
    }
    if (NamesALibrary(entry->d_tag)) dynamic.libraries.push_back(entry->d_un.d_val);
    dynamic.values[entry->d_tag] = entry->d_un.d_val;
  }
}

uint64_t ValueOf(const Dynamic& dynamic, int64_t tag) {
  const auto found = dynamic.values.find(tag);
  return found == dynamic.values.end() ? 0 : found->second;
}

std::string NameIn(std::string_view image, uint64_t table, uint64_t offset) {
  if (table > image.size()) return "";
  return std::string(TextAt(image.substr(table), offset).substr(0, kMaxNameBytes));
}

// Indices of the symbols that a table of relocations mentions.
Status AddRelocated(std::string_view image, const Segments& segments, uint64_t address,
                    uint64_t bytes, std::set<uint32_t>* indices) {
  if (address == 0 || bytes == 0) return {};
  const auto begin = OffsetOf(segments, address);
  if (!begin || *begin > image.size() || image.size() - *begin < bytes) {
    return Malformed("relocations lie outside the image");
  }
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= bytes; at += sizeof(Elf64_Rela)) {
    const auto relocation = *Read<Elf64_Rela>(image, *begin + at);
    indices->insert(static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info)));
    if (indices->size() > kMaxImports) return Malformed("too many relocated symbols");
  }
  return {};
}

Result<std::vector<std::string>> UndefinedSymbols(std::string_view image, const Segments& segments,
                                                  const Dynamic& dynamic, uint64_t names) {
  std::set<uint32_t> indices;
  TRY(AddRelocated(image, segments, ValueOf(dynamic, DT_RELA), ValueOf(dynamic, DT_RELASZ),
                   &indices));
  TRY(AddRelocated(image, segments, ValueOf(dynamic, DT_JMPREL), ValueOf(dynamic, DT_PLTRELSZ),
                   &indices));
  indices.erase(0);  // no symbol
  std::set<std::string> undefined;
  if (indices.empty()) return std::vector<std::string>();
  const auto table = OffsetOf(segments, ValueOf(dynamic, DT_SYMTAB));
  if (!table || *table > image.size()) return Malformed("the dynamic symbols are not loaded");
  for (const uint32_t index : indices) {
    const auto symbol = Read<Elf64_Sym>(image, *table + uint64_t{index} * sizeof(Elf64_Sym));
    if (!symbol) return Malformed("a relocated symbol lies outside the image");
    if (symbol->st_shndx == SHN_UNDEF) undefined.insert(NameIn(image, names, symbol->st_name));
  }
  return std::vector<std::string>(undefined.begin(), undefined.end());
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

Result<ElfImports> ReadElfImports(std::string_view image) {
  const Segments segments = TRY(ReadSegments(image));
  const Dynamic dynamic = TRY(ReadDynamic(image, segments));
  const auto names = OffsetOf(segments, ValueOf(dynamic, DT_STRTAB));
  if (!names) return Malformed("the dynamic strings are not loaded");
  ElfImports imports;
  for (const uint64_t offset : dynamic.libraries) {
    imports.libraries.push_back(NameIn(image, *names, offset));
  }
  imports.symbols = TRY(UndefinedSymbols(image, segments, dynamic, *names));
  return imports;
}

}  // namespace warpsmith
