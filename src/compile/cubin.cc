#include "compile/cubin.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/elf.h"

namespace warpsmith::compile {
namespace {

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
bool IsUnreachable(size_t section, const std::vector<ElfSymbol>& symbols, std::string_view code) {
  size_t variables = 0;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.section != section || symbol.name.empty()) continue;
    if (!IsMentionedOnce(code, symbol.name)) return false;
    ++variables;
  }
  return variables > 0;
}

}  // namespace

Result<int64_t> WritableGlobalBytes(std::string_view image, std::string_view ptx) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<ElfSection> sections = TRY(ReadElfSections(image));
  const std::vector<ElfSymbol> symbols = TRY(ReadElfSymbols(image));
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
