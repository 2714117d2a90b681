#include "compile/cubin.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/elf.h"
#include "base/random.h"

namespace warpsmith::compile {
namespace {

// An ELF file with the given sections (no contents), laid out as header, names, section table.
std::string ElfOf(const std::vector<ElfSection>& wanted) {
  std::vector<ElfSection> sections = wanted;
  sections.push_back({".shstrtab", 0});
  std::string names;
  std::vector<Elf64_Shdr> table;
  for (const ElfSection& section : sections) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<uint32_t>(names.size());
    header.sh_size = section.bytes;
    names += section.name + '\0';
    table.push_back(header);
  }
  table.back().sh_offset = sizeof(Elf64_Ehdr);
  table.back().sh_size = names.size();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof(header) + names.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(table.size());
  header.e_shstrndx = static_cast<uint16_t>(table.size() - 1);
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + names +
         std::string(reinterpret_cast<const char*>(table.data()),
                     table.size() * sizeof(Elf64_Shdr));
}

const std::vector<ElfSection> kSections = {{"", 0},
                                           {".text.add", 640},
                                           {".nv.global", 20},
                                           {".nv.global.init", 4},
                                           {".nv.constant3", 400}};

TEST(Cubin, WritableGlobalsAreZeroAndInitialisedOnes) {
  const auto bytes = WritableGlobalBytes(ElfOf(kSections), "");
  ASSERT_TRUE(bytes.ok()) << bytes.error().Line();
  EXPECT_EQ(*bytes, 24);
}

TEST(Cubin, HugeSizesDoNotWrap) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  const auto bytes =
      WritableGlobalBytes(ElfOf({{".nv.global", most}, {".nv.global.init", most}}), "");
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, std::numeric_limits<int64_t>::max());
}

TEST(Cubin, OtherFilesAreRefused) {
  EXPECT_FALSE(WritableGlobalBytes("", "").ok());
  EXPECT_FALSE(WritableGlobalBytes("// PTX", "").ok());
  const auto refused = WritableGlobalBytes(std::string(4096, '\0'), "");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
}

TEST(Cubin, EveryCutIsReadOrRefused) {
  const std::string good = ElfOf(kSections);
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(ReadElfSections(std::string_view(good).substr(0, i)).ok()) << i;
  }
}

// Bytes of a real layout, some of them changed: read or refused, never out of bounds (the sanitizer
// build would say so).
TEST(Cubin, MutationsAreReadOrRefused) {
  const std::string good = ElfOf(kSections);
  Random random(1, "cubin mutations");
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    // An exact-size copy on the heap, so that reading one byte too far is seen.
    std::vector<char> bad(good.begin(), good.end());
    for (uint64_t changes = 1 + random.Below(6); changes > 0; --changes) {
      bad[random.Below(bad.size())] = static_cast<char>(random.Bits());
    }
    refused += WritableGlobalBytes({bad.data(), bad.size()}, "").ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace warpsmith::compile
