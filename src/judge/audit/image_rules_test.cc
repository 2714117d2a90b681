#include "judge/audit/image_rules.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

namespace warpsmith::audit {
namespace {

using ::testing::HasSubstr;

template <typename T>
std::string Bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// Instructions of 9.0 as nvdisasm shows them: NOP, PREEXIT, ACQBULK.
std::string Code(const std::vector<uint64_t>& instructions) {
  std::string code;
  for (const uint64_t word : instructions)
    code += Bytes(word) + Bytes(uint64_t{0x000fc00000000000});
  return code;
}
constexpr uint64_t kNop = 0x0000000000007918, kPreExit = 0x000000000000782d;
constexpr uint64_t kAcqBulk = 0x000000000000782e;

struct Section {
  std::string name, contents;
  uint32_t type = SHT_PROGBITS;
  uint32_t link = 0;
};

// A cubin with these sections behind the empty one, and one symbol that it does not define.
std::string CubinOf(std::vector<Section> sections, const std::string& undefined) {
  Elf64_Sym symbol{};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  sections.insert(sections.begin(), Section{"", "", SHT_NULL});
  sections.push_back({".strtab", std::string(1, '\0') + undefined + '\0', SHT_STRTAB});
  sections.push_back(
      {".symtab", Bytes(symbol), SHT_SYMTAB, static_cast<uint32_t>(sections.size() - 1)});
  std::string names, body;
  std::vector<Elf64_Shdr> table;
  sections.push_back({".shstrtab", "", SHT_STRTAB});
  for (const Section& section : sections) names += section.name + '\0';
  sections.back().contents = names;
  uint32_t name = 0;
  for (const Section& section : sections) {
    Elf64_Shdr header{};
    header.sh_name = name;
    header.sh_type = section.type;
    header.sh_link = section.link;
    header.sh_offset = sizeof(Elf64_Ehdr) + body.size();
    header.sh_size = section.contents.size();
    name += static_cast<uint32_t>(section.name.size() + 1);
    body += section.contents;
    table.push_back(header);
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof(header) + body.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(table.size());
  header.e_shstrndx = static_cast<uint16_t>(table.size() - 1);
  std::string image = Bytes(header) + body;
  for (const Elf64_Shdr& row : table) image += Bytes(row);
  return image;
}

LaunchPlan PlanOf(const std::string& kernel, bool programmatic) {
  LaunchOperation launch;
  launch.kernel = kernel;
  launch.programmatic = programmatic;
  LaunchPlan plan;
  plan.operations = {launch};
  return plan;
}

TEST(RefuseImage, WhatIsLaunchedProgrammaticallyMustWait) {
  const std::string image = CubinOf({{".text.triggers", Code({kNop, kPreExit})},
                                     {".text.waits", Code({kNop, kPreExit, kNop, kAcqBulk})}},
                                    "");
  const auto refused = RefuseImage(PlanOf("triggers", true), image);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->rule, "programmatic-launch");
  EXPECT_THAT(refused->detail, HasSubstr("kernel triggers"));
  EXPECT_FALSE(RefuseImage(PlanOf("triggers", false), image).has_value());
  EXPECT_FALSE(RefuseImage(PlanOf("waits", true), image).has_value());
  EXPECT_TRUE(RefuseImage(PlanOf("not-there", true), image).has_value());
}

// Half an instruction at the end is none, and constants between instructions do not count.
TEST(RefuseImage, LooksAtWholeInstructions) {
  std::string code = Code({kNop}) + Bytes(uint64_t{0}) + Bytes(kAcqBulk) + Bytes(kAcqBulk);
  EXPECT_TRUE(RefuseImage(PlanOf("k", true), CubinOf({{".text.k", code}}, "")).has_value());
  code += Bytes(uint64_t{0});
  EXPECT_FALSE(RefuseImage(PlanOf("k", true), CubinOf({{".text.k", code}}, "")).has_value());
}

TEST(RefuseImage, TheDevicesHeapIsRefused) {
  const auto refused = RefuseImage(PlanOf("k", false), CubinOf({{".text.k", ""}}, "malloc"));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->rule, "device-heap");
  for (const char* harmless : {"vprintf", "__assertfail", "mallocs", ""}) {
    EXPECT_FALSE(RefuseImage(PlanOf("k", false), CubinOf({{".text.k", ""}}, harmless)).has_value());
  }
}

TEST(RefuseImage, SaysNothingOfWhatIsNoElfFile) {
  const std::string image = CubinOf({{".text.k", Code({kNop})}}, "malloc");
  EXPECT_FALSE(RefuseImage(PlanOf("k", true), "kernel k 8 8").has_value());
  for (size_t bytes = 0; bytes < image.size(); ++bytes) {
    static_cast<void>(RefuseImage(PlanOf("k", true), image.substr(0, bytes)));
  }
}

// Records as nvcc 13.0 writes them for a kernel of three parameters, one of them large.
TEST(PlanMismatch, CountsTheKernelsParameters) {
  const std::string info(
      "\x04\x37\x04\x00\x82\x00\x00\x00"
      "\x04\x45\x0c\x00............"
      "\x04\x17\x0c\x00............"
      "\x04\x17\x0c\x00............"
      "\x03\x1b\xff\x00\x03\x17",
      62);
  const std::string image =
      CubinOf({{".text.k", Code({kNop})}, {".nv.info.k", info}, {".text.none", ""}}, "");
  LaunchPlan plan = PlanOf("k", false);
  auto& arguments = std::get<LaunchOperation>(plan.operations[0]).arguments;
  arguments.resize(2);
  EXPECT_EQ(PlanMismatch(plan, image), "kernel 'k' takes 3 parameters, the plan gives 2");
  arguments.resize(3);
  EXPECT_EQ(PlanMismatch(plan, image), std::nullopt);
  EXPECT_EQ(PlanMismatch(PlanOf("none", false), image), std::nullopt);
  EXPECT_THAT(PlanMismatch(PlanOf("scale", false), image).value_or(""),
              HasSubstr("no kernel is called 'scale'"));
  EXPECT_EQ(PlanMismatch(plan, "kernel k 8 8"), std::nullopt);
  for (size_t bytes = 0; bytes < image.size(); ++bytes) {
    static_cast<void>(PlanMismatch(plan, image.substr(0, bytes)));
  }
}

}  // namespace
}  // namespace warpsmith::audit
