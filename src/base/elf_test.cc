#include "base/elf.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "base/file.h"
#include "base/random.h"
#include "base/subprocess.h"

namespace warpsmith {
namespace {

using testing::Contains;
using testing::Not;

// A shared library made by the compiler that is here.
std::string Build(const std::string& source, const std::vector<std::string>& flags = {}) {
  const auto folder = TemporaryDirectory::Create("elf-test").value();
  const auto code = folder.path() / "a.cc", library = folder.path() / "a.so";
  EXPECT_TRUE(WriteFileAtomic(code, source).ok());
  std::vector<std::string> argv = {"c++", "-shared",        "-fPIC",
                                   "-o",  library.string(), code.string()};
  argv.insert(argv.end(), flags.begin(), flags.end());
  const auto built = RunProcess(argv, ProcessLimits{});
  EXPECT_TRUE(built.ok() && built->exit_status == 0) << built->output;
  return ReadFile(library).value();
}

const char kCaller[] =
    "extern \"C\" int system(const char*);\n"
    "extern \"C\" double cos(double);\n"
    "extern \"C\" double entry(double x) { return system(\"true\") + cos(x); }\n";

TEST(ElfImports, NamesLibrariesAndSymbols) {
  const auto imports = ReadElfImports(Build(kCaller, {"-Wl,--no-as-needed", "-lm"})).value();
  EXPECT_THAT(imports.libraries, Contains("libm.so.6"));
  EXPECT_THAT(imports.libraries, Contains("libc.so.6"));
  EXPECT_THAT(imports.symbols, Contains("system"));
  EXPECT_THAT(imports.symbols, Contains("cos"));
  EXPECT_THAT(imports.symbols, Not(Contains("entry")));
}

// The loader does not need them, so neither may we.
TEST(ElfImports, SectionsAreNotNeeded) {
  std::string image = Build(kCaller);
  auto* header = reinterpret_cast<Elf64_Ehdr*>(image.data());
  header->e_shoff = 0;
  header->e_shnum = header->e_shstrndx = 0;
  const auto imports = ReadElfImports(image).value();
  EXPECT_THAT(imports.symbols, Contains("system"));
}

TEST(ElfImports, AddressesTakenAreImportsToo) {
  const auto imports =
      ReadElfImports(Build("extern \"C\" void* dlopen(const char*, int);\n"
                           "extern \"C\" void* (*pointer)(const char*, int);\n"
                           "void* (*pointer)(const char*, int) = dlopen;\n"));
  ASSERT_TRUE(imports.ok());
  EXPECT_THAT(imports->symbols, Contains("dlopen"));
}

TEST(ElfImports, OtherFilesAreRefused) {
  EXPECT_FALSE(ReadElfImports("").ok());
  EXPECT_FALSE(ReadElfImports(std::string(4096, '\0')).ok());
  const auto refused = ReadElfImports("#!/bin/sh");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
}

// Real libraries, some bytes changed where the loader looks: read or refused, never out of bounds
// (the sanitizer build would say so).
TEST(Elf, MutationsAndCutsAreReadOrRefused) {
  const std::string good = Build(kCaller);
  const auto header_bytes = uint64_t{4096};
  Random random(1, "elf mutations");
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<char> bad(good.begin(), good.end());
    for (uint64_t changes = 1 + random.Below(8); changes > 0; --changes) {
      const uint64_t at =
          random.Below(2) == 0 ? random.Below(header_bytes) : random.Below(bad.size());
      bad[at % bad.size()] = static_cast<char>(random.Bits());
    }
    if (random.Below(4) == 0) bad.resize(random.Below(bad.size()));
    refused += ReadElfImports({bad.data(), bad.size()}).ok() ? 0 : 1;
    static_cast<void>(ReadElfSymbols({bad.data(), bad.size()}));
    static_cast<void>(ReadElfSections({bad.data(), bad.size()}));
  }
  EXPECT_GT(refused, 0);
}

TEST(ElfSections, OfALibraryHaveTheirNames) {
  const auto sections = ReadElfSections(Build(kCaller));
  ASSERT_TRUE(sections.ok());
  EXPECT_THAT(*sections, Contains(testing::Field(&ElfSection::name, ".text")));
  const auto symbols = ReadElfSymbols(Build(kCaller));
  ASSERT_TRUE(symbols.ok());
  EXPECT_THAT(*symbols, Contains(testing::Field(&ElfSymbol::name, "entry")));
}

RC_GTEST_PROP(Elf, AnyBytesAreReadOrRefused, (const std::string& bytes)) {
  static_cast<void>(
      ReadElfImports("\x7f"
                     "ELF\x02\x01\x01" +
                     bytes));
  static_cast<void>(
      ReadElfSections("\x7f"
                      "ELF\x02\x01\x01" +
                      bytes));
}

}  // namespace
}  // namespace warpsmith
