#include "compile/cubin.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/elf.h"
#include "compile/ptx_reads.h"

namespace warpsmith::compile {
namespace {

bool IsGlobal(std::string_view section) { return section.starts_with(".nv.global"); }
// The bank of __constant__ variables; the others are the launch's parameters and the compiler's
// own.
bool IsConstant(std::string_view section) { return section == ".nv.constant3"; }

VariableNames VariablesOf(size_t section, const std::vector<ElfSymbol>& symbols) {
  VariableNames names;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.section == section && !symbol.name.empty()) names.insert(symbol.name);
  }
  return names;
}

}  // namespace

Result<int64_t> WritableGlobalBytes(std::string_view image, std::string_view ptx) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<ElfSection> sections = TRY(ReadElfSections(image));
  const std::vector<ElfSymbol> symbols = TRY(ReadElfSymbols(image));
  const std::string code = CodeOf(ptx);
  int64_t total = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    const bool is_constant = IsConstant(sections[i].name);
    if (!IsGlobal(sections[i].name) && !is_constant) continue;
    // Of constants nothing is known without PTX; with one that hides something, they count, too.
    if (is_constant && ptx.empty()) continue;
    const VariableNames variables = VariablesOf(i, symbols);
    if (!code.empty() && !variables.empty() && OnlyReads(code, variables)) continue;
    const auto room = static_cast<uint64_t>(kMost - total);
    total += static_cast<int64_t>(std::min(sections[i].bytes, room));
  }
  return total;
}

Result<bool> HasVariables(std::string_view image) {
  const std::vector<ElfSection> sections = TRY(ReadElfSections(image));
  return std::any_of(sections.begin(), sections.end(), [](const ElfSection& section) {
    return IsGlobal(section.name) || IsConstant(section.name);
  });
}

}  // namespace warpsmith::compile
