#include "compile/cubin.h"

#include <cstring>
#include <limits>

#include <elf.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

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

constexpr char kDeclarations[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n\n"
    ".extern .func (.param .b32 func_retval0) vprintf\n(\n.param .b64 vprintf_param_0,\n"
    ".param .b64 vprintf_param_1\n)\n;\n"
    ".global .align 4 .b8 table[8] = {1, 0, 0, 0, 2};\n"
    ".visible .global .align 4 .u32 other;\n";

// Is `table` only read by a kernel of these instructions?
bool Reads(const std::string& body, const std::string& more = "") {
  const std::string code = CodeOf(kDeclarations + more +
                                  ".visible .entry k(\n.param .u64 k_param_0\n)\n{\n"
                                  ".reg .b64 %rd<9>;\nld.param.u64 %rd1, [k_param_0];\n" +
                                  body + "ret;\n}\n");
  return !code.empty() && OnlyReads(code, {"table"});
}

TEST(OnlyReads, FollowsAnAddressToItsLoads) {
  EXPECT_TRUE(Reads(""));
  EXPECT_TRUE(Reads("ld.global.nc.u32 %r1, [table+4];\nst.global.u32 [%rd1], %r1;\n"));
  EXPECT_TRUE(
      Reads("$L__BB0_1:\nmov.u64 %rd2, table; // begin\nadd.s64 %rd3, %rd2, %rd1;\n"
            "@%p1 ld.global.u32 %r1, [%rd3];\nst.global.u32 [%rd1], %r1;\n"));
  EXPECT_TRUE(Reads("st.global.u32 [other], %r1;\n")) << "another variable";
  EXPECT_TRUE(
      Reads("mov.u64 %rd3, table;\ncvta.global.u64 %rd4, %rd3;\n{ // callseq 0, 0\n"
            ".param .b64 param0;\nst.param.b64 [param0+0], %rd4;\n.param .b64 param1;\n"
            "st.param.b64 [param1+0], 0;\n.param .b32 retval0;\n"
            "call.uni (retval0),\nvprintf,\n(\nparam0,\nparam1\n);\n"
            "ld.param.b32 %r2, [retval0+0];\n} // callseq 0\n"));
}

TEST(OnlyReads, SeesEveryWayToWrite) {
  const std::string address = "mov.u64 %rd2, table;\nadd.s64 %rd3, %rd2, 4;\n";
  for (const char* write :
       {"st.global.u32 [%rd3], 1;\n", "st.volatile.global.u32 [table], 1;\n",
        "@%p1 st.global.u32 [%rd3], 1;\n", "atom.global.add.u32 %r1, [%rd3], 1;\n",
        "red.global.add.u32 [table], 1;\n", "{ st.global.u32 [%rd3+4], 1; }\n",
        "st.global.u64 [%rd1], %rd3;\n", "st.local.u64 [%rd1], %rd2;\n", "call.uni f, (%rd3);\n",
        "st.param.b64 [param0+0], %rd3;\ncall.uni f, (param0);\n",
        "st.param.b64 [func_retval0+0], %rd3;\n", "setp.eq.s64 %p1, %rd3, %rd1;\n",
        "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%rd1], 16;\n",
        "mov.b64 {%r1, %r2}, %rd3;\nmov.b64 %rd7, {%r1, %r2};\nst.global.u32 [%rd7], 1;\n",
        "selp.b64 %rd5, %rd3, %rd1, %p1;\nst.global.u32 [%rd5], 1;\n",
        "shfl.sync.idx.b32 %r1|%p1, %rd3, 0, 31, -1;\n",
        "st.param.b64 [param0+0], %rd3;\nld.param.b64 %rd6, [param0+0];\n"
        "call.uni (r), vprintf, (param0, param1);\nst.global.u32 [%rd6], 1;\n",
        "st.param.b64 [param0+0], %rd3;\ncall.uni (r), vprintf, (param0, param1);\n"
        "ld.param.b64 %rd6, [param0+0];\nst.global.u32 [%rd6], 1;\n"}) {
    EXPECT_FALSE(Reads(address + write)) << write;
  }
  // Before the register is made, as in a loop.
  EXPECT_FALSE(Reads("$L1:\nst.global.u32 [%rd4], 1;\nmov.u64 %rd4, table;\nbra $L1;\n"));
  EXPECT_FALSE(Reads("", ".global .u64 pointer = table;\n"));
  EXPECT_FALSE(Reads("",
                     ".func (.param .b64 func_retval0) f()\n{\nmov.u64 %rd1, table;\n"
                     "st.param.b64 [func_retval0+0], %rd1;\n"
                     "call.uni (r), vprintf, (func_retval0, func_retval0);\nret;\n}\n"));
}

TEST(OnlyReads, RegistersOfAnotherFunctionAreOthers) {
  EXPECT_TRUE(
      Reads("mov.u64 %rd3, table;\nld.global.u32 %r1, [%rd3];\n",
            ".visible .entry first(\n.param .u64 p\n)\n{\nst.global.u32 [%rd3], 1;\nret;\n}\n"));
}

TEST(CodeOf, KnowsNothingOfWhatCouldHideAnInstruction) {
  EXPECT_EQ(CodeOf("mov.u64 %rd1, t; // t\n"), "mov.u64 %rd1, t; \n");
  EXPECT_NE(CodeOf(".pragma \"nounroll\";\n"), "");
  for (const char* hidden :
       {"# 1 \"k.cu\"\n", "/* // */ mov.u64 %rd1, t;\n", ".pragma \".entry k() {\";\n",
        ".pragma \"nounroll\"; .pragma \"nounroll\n", "\"nounroll\n"}) {
    EXPECT_EQ(CodeOf(hidden), "") << hidden;
  }
}

RC_GTEST_PROP(OnlyReads, AnyTextIsRead, (const std::string& text)) {
  OnlyReads(CodeOf(text), {"table"});
  OnlyReads(".visible .entry k(){" + text + "mov.u64 a, table;" + text, {"table"});
}

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kLog =
    "gemm.cu(12): warning #177-D: variable \"x\" was declared but never referenced\n"
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to insufficient register resources in function 'gemm'\n"
    "ptxas info    : 64 bytes gmem, 8 bytes cmem[4]\n"
    "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
    "ptxas info    : Function properties for gemm\n"
    "    56 bytes stack frame, 48 bytes spill stores, 40 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 5 barriers, 56 bytes cumulative stack size, 1024 "
    "bytes "
    "smem, 400 bytes cmem[0]\n"
    "ptxas info    : Compile time = 12.3 ms\n"
    "ptxas info    : Function properties for helper\r\n"
    "    999 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Compiling entry function 'reduce' for 'sm_90a'\n"
    "ptxas info    : Function properties for reduce\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers\n"
    "gemm.cu(12): warning #177-D: variable \"x\" was declared but never referenced\n";

TEST(ResourceReport, ReadsEveryKernel) {
  const ResourceReport report = ParseResourceReport(kLog);
  ASSERT_EQ(report.kernels.size(), 2U);
  const KernelResources& gemm = report.kernels[0];
  EXPECT_EQ(gemm.name, "gemm");
  EXPECT_EQ(gemm.registers_per_thread, 168);
  EXPECT_EQ(gemm.static_shared_bytes, 1024);
  EXPECT_EQ(gemm.stack_bytes, 56);
  EXPECT_EQ(gemm.spill_store_bytes, 48);
  EXPECT_EQ(gemm.spill_load_bytes, 40);
  EXPECT_EQ(report.kernels[1].name, "reduce");
  EXPECT_EQ(report.kernels[1].registers_per_thread, 8);
  EXPECT_EQ(report.kernels[1].static_shared_bytes, 0);
}

TEST(ResourceReport, KeepsWarningsOnce) {
  EXPECT_THAT(ParseResourceReport(kLog).warnings,
              ElementsAre(HasSubstr("#177-D"), HasSubstr("(C7510)")));
}

TEST(ResourceReport, OddTextIsPassedOver) {
  EXPECT_TRUE(ParseResourceReport("").kernels.empty());
  EXPECT_TRUE(ParseResourceReport("Used registers\n bytes smem").kernels.empty());
  const auto report = ParseResourceReport(
      "Compiling entry function 'open\nUsed 99999999999999999999 registers, registers");
  ASSERT_EQ(report.kernels.size(), 1U);
  EXPECT_EQ(report.kernels[0].registers_per_thread, 0);
}

}  // namespace

}  // namespace warpsmith::compile
