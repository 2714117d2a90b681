// Reading ELF files of 64-bit little-endian words: cubins and shared libraries. The file may be
// hostile: every offset is checked before it is followed. Errors are kBadInput.
#ifndef WARPSMITH_BASE_ELF_H_
#define WARPSMITH_BASE_ELF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith {

struct ElfSection {
  std::string name;
  uint64_t bytes = 0;
  std::string_view contents = {};  // in the image; empty where they do not lie within it
};
// Refuses what is no ELF file and a section table that does not lie within it.
Result<std::vector<ElfSection>> ReadElfSections(std::string_view image);

struct ElfSymbol {
  std::string name;
  size_t section = 0;  // index
};
// Of the static symbol table, where there is one. Names of sections are left out.
Result<std::vector<ElfSymbol>> ReadElfSymbols(std::string_view image);

// What the dynamic loader takes from elsewhere for a shared library. Read the way the loader reads
// it, by segments and relocations: a section table may say something else, or be missing.
struct ElfImports {
  std::vector<std::string> libraries;  // DT_NEEDED, and the filters and auditors it would load
  std::vector<std::string> symbols;    // each once, sorted
};
Result<ElfImports> ReadElfImports(std::string_view image);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_ELF_H_
