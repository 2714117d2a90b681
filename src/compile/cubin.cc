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

// The section table, every entry of which lies within the image.
struct SectionTable {
  std::vector<Elf64_Shdr> headers;
  size_t names = 0;  // index of the section that holds the names
};

Result<SectionTable> ReadSectionTable(std::string_view image) {
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
  SectionTable table;
  table.names = header->e_shstrndx;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    table.headers.push_back(*Read<Elf64_Shdr>(image, header->e_shoff + i * sizeof(Elf64_Shdr)));
  }
  return table;
}

// The name at `offset` of a string table, wherever that claims to lie.
std::string NameAt(std::string_view image, const Elf64_Shdr& names, uint32_t offset) {
  if (names.sh_offset > image.size()) return "";
  return std::string(TextAt(image.substr(names.sh_offset), offset));
}

bool IsIdentifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

// PTX without its comments; empty when it holds a preprocessor line, which could hide a name.
std::string CodeOf(std::string_view ptx) {
  std::string code;
  while (!ptx.empty()) {
    const size_t end = std::min(ptx.find('\n'), ptx.size());
    const std::string_view line = ptx.substr(0, end);
    if (line.find('#') != std::string_view::npos) return "";
    code += line.substr(0, line.find("//"));
    code += '\n';
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
  }
  return code;
}

// Once is its declaration.
bool IsMentionedOnce(std::string_view code, std::string_view name) {
  int mentions = 0;
  for (size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool starts = at == 0 || !IsIdentifier(code[at - 1]);
    const bool ends = end == code.size() || !IsIdentifier(code[end]);
    mentions += starts && ends ? 1 : 0;
  }
  return mentions == 1;
}

// Whether no kernel can reach a section: it has variables, and none is mentioned.
bool IsUnreachable(size_t section, const std::vector<Symbol>& symbols, std::string_view code) {
  size_t variables = 0;
  for (const Symbol& symbol : symbols) {
    if (symbol.section != section || symbol.name.empty()) continue;
    if (!IsMentionedOnce(code, symbol.name)) return false;
    ++variables;
  }
  return variables > 0;
}

}  // namespace

Result<std::vector<Section>> ReadSections(std::string_view image) {
  const SectionTable table = TRY(ReadSectionTable(image));
  std::vector<Section> sections;
  for (const Elf64_Shdr& header : table.headers) {
    sections.push_back({NameAt(image, table.headers[table.names], header.sh_name), header.sh_size});
  }
  return sections;
}

Result<std::vector<Symbol>> ReadSymbols(std::string_view image) {
  const SectionTable table = TRY(ReadSectionTable(image));
  std::vector<Symbol> symbols;
  for (const Elf64_Shdr& header : table.headers) {
    if (header.sh_type != SHT_SYMTAB) continue;
    if (header.sh_link >= table.headers.size()) return NotACubin("symbols without a name table");
    for (uint64_t i = 0; i < header.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = Read<Elf64_Sym>(image, header.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol) return NotACubin("the symbol table lies outside the image");
      if (ELF64_ST_TYPE(symbol->st_info) == STT_SECTION) continue;
      symbols.push_back(
          {NameAt(image, table.headers[header.sh_link], symbol->st_name), symbol->st_shndx});
    }
  }
  return symbols;
}

Result<int64_t> WritableGlobalBytes(std::string_view image, std::string_view ptx) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<Section> sections = TRY(ReadSections(image));
  const std::vector<Symbol> symbols = TRY(ReadSymbols(image));
  const std::string code = CodeOf(ptx);
  int64_t total = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    if (!sections[i].name.starts_with(".nv.global") || IsUnreachable(i, symbols, code)) continue;
    const auto room = static_cast<uint64_t>(kMost - total);
    total += static_cast<int64_t>(std::min(sections[i].bytes, room));
  }
  return total;
}

}  // namespace warpsmith::compile
