#include "judge/audit/image_rules.h"

#include <cstring>

#include <elf.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "base/file.h"
#include "base/subprocess.h"

namespace warpsmith::audit {
namespace {

using testing::HasSubstr;

TEST(TensorProductOf, ReadsWhatIsMultipliedAndHowItIsSummed) {
  using enum ProductInput;
  const struct {
    const char* opcode;
    ProductInput input;
    bool sums_in_f16;
  } rows[] = {{"HMMA.16816.F32", kF16, false},
              {"HMMA.16816.F16", kF16, true},
              {"HMMA.16816.F32.BF16", kBF16, false},
              {"HMMA.1688.F32.TF32", kTF32, false},
              {"HGMMA.64x128x16.F32", kF16, false},
              {"HGMMA.64x128x16.F16", kF16, true},
              {"HGMMA.64x128x16.F32.BF16", kBF16, false},
              {"HGMMA.64x256x8.F32.TF32", kTF32, false},
              {"QGMMA.64x64x32.F32.E4M3.E4M3", kF8, false},
              {"QGMMA.64x64x32.F16.E5M2.E4M3", kF8, true},
              {"DMMA.884", kF64, false},
              {"IGMMA.64x8x32.S8.S8", kInteger, false},
              {"BMMA.168128.AND.POPC", kBit, false},
              {"UTCHMMA.2CTA", kTF32, false},
              {"UTCQMMA", kF8, false}};
  for (const auto& row : rows) {
    const auto product = TensorProductOf(row.opcode);
    ASSERT_TRUE(product.has_value()) << row.opcode;
    EXPECT_EQ(product->input, row.input) << row.opcode;
    EXPECT_EQ(product->sums_in_f16, row.sums_in_f16) << row.opcode;
  }
  for (const char* other : {"FFMA", "HFMA2.MMA", "HADD2.F32", "LDG.E", "", "."}) {
    EXPECT_FALSE(TensorProductOf(other).has_value()) << other;
  }
}

bool Admits(const char* precision, const char* opcode) {
  const AuditFinding finding = AuditOpcodes({{"FFMA", 100}, {opcode, 3}}, precision);
  return std::holds_alternative<AuditReport>(finding);
}

TEST(AuditOpcodes, AdmitsADeclaredPrecisionAndWider) {
  EXPECT_TRUE(Admits("f32", "DMMA.884"));
  EXPECT_TRUE(Admits("f32", "HFMA2.MMA"));  // how compilers load constants
  EXPECT_TRUE(Admits("tf32", "HMMA.1688.F32.TF32"));
  EXPECT_TRUE(Admits("f16", "HGMMA.64x128x16.F32"));
  EXPECT_TRUE(Admits("bf16", "HMMA.16816.F32.BF16"));
  EXPECT_TRUE(Admits("f8", "QGMMA.64x64x32.F32.E4M3.E4M3"));
  EXPECT_TRUE(Admits("", "QGMMA.64x64x32.F16.E4M3.E4M3"));
}

TEST(AuditOpcodes, RejectsWhatIsNarrower) {
  EXPECT_FALSE(Admits("f32", "HMMA.1688.F32.TF32"));
  EXPECT_FALSE(Admits("f32", "HGMMA.64x128x16.F32"));
  EXPECT_FALSE(Admits("f32", "IGMMA.64x8x32.S8.S8"));
  EXPECT_FALSE(Admits("tf32", "HMMA.16816.F32.BF16"));
  EXPECT_FALSE(Admits("f16", "HMMA.16816.F16"));
  EXPECT_FALSE(Admits("f16", "HGMMA.64x128x16.F16"));
  EXPECT_FALSE(Admits("f16", "QGMMA.64x64x32.F32.E4M3.E4M3"));
  EXPECT_FALSE(Admits("f8", "OMMA.16864.F32.E2M1.E2M1"));
}

TEST(AuditOpcodes, TheDetailNamesTheInstruction) {
  const AuditFinding finding = AuditOpcodes({{"HMMA.16816.F16", 64}}, "f16");
  ASSERT_TRUE(std::holds_alternative<Rejected>(finding));
  EXPECT_EQ(std::get<Rejected>(finding).rule, "opcodes");
  EXPECT_EQ(std::get<Rejected>(finding).detail,
            "HMMA.16816.F16 (64 times) sums in f16 in a task of f16");
}

TEST(AuditOpcodes, WithoutADisassemblerItIsAbsent) {
  for (const AuditFinding& finding :
       {AuditOpcodes({}, "f32"), AuditOpcodes({{"FFMA", 1}}, "f31")}) {
    ASSERT_TRUE(std::holds_alternative<AuditReport>(finding));
    EXPECT_EQ(std::get<AuditReport>(finding).status, AuditStatus::kAbsent);
  }
}

RC_GTEST_PROP(AuditOpcodes, AnyOpcodeIsJudged, (const std::string& opcode)) {
  AuditOpcodes({{opcode, 1}, {"HMMA." + opcode, 1}}, "f16");
}

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

using testing::HasSubstr;

class Programs : public testing::Test {
 protected:
  Programs() : folder_(TemporaryDirectory::Create("imports").value()) {}

  std::string Build(const std::string& source, const std::vector<std::string>& flags = {}) {
    const auto code = folder_.path() / "p.cc", library = folder_.path() / "p.so";
    EXPECT_TRUE(WriteFileAtomic(code, source).ok());
    std::vector<std::string> argv = {"c++",
                                     "-shared",
                                     "-fPIC",
                                     "-o",
                                     library.string(),
                                     code.string(),
                                     "-L" + folder_.path().string()};
    argv.insert(argv.end(), flags.begin(), flags.end());
    const auto built = RunProcess(argv, ProcessLimits{});
    EXPECT_TRUE(built.ok() && built->exit_status == 0) << built->output;
    return ReadFile(library).value();
  }
  // An empty library of that name to link with.
  void MakeLibrary(const std::string& name) {
    const auto code = folder_.path() / "l.cc";
    EXPECT_TRUE(WriteFileAtomic(code, "extern \"C\" void library_work() {}").ok());
    const auto built = RunProcess({"c++", "-shared", "-fPIC", "-Wl,-soname," + name + ".so.13",
                                   "-o", (folder_.path() / (name + ".so")).string(), code.string()},
                                  ProcessLimits{});
    EXPECT_TRUE(built.ok() && built->exit_status == 0) << built->output;
  }

  TemporaryDirectory folder_;
};

std::string RejectedFor(const AuditFinding& finding) {
  const auto* rejected = std::get_if<Rejected>(&finding);
  return rejected != nullptr ? rejected->detail : "not rejected";
}
bool IsClean(const AuditFinding& finding) {
  const auto* report = std::get_if<AuditReport>(&finding);
  return report != nullptr && report->status == AuditStatus::kClean;
}

TEST_F(Programs, HonestOnesAreClean) {
  const std::string image = Build(
      "#include <cmath>\n#include <vector>\n"
      "extern \"C\" void warpsmith_call(void* const* t) {\n"
      "  std::vector<double> v(*static_cast<int*>(t[0])); v[0] = std::sin(v[0]); }");
  EXPECT_TRUE(IsClean(AuditImports(image, {})));
}

TEST_F(Programs, LibrariesNeedTheTasksLeave) {
  MakeLibrary("libcublasLt");
  const std::string image =
      Build("extern \"C\" void library_work(); void f() { library_work(); }", {"-lcublasLt"});
  EXPECT_THAT(RejectedFor(AuditImports(image, {})), HasSubstr("libcublasLt.so.13"));
  EXPECT_THAT(RejectedFor(AuditImports(image, {"cudnn"})), HasSubstr("does not allow cublas"));
  EXPECT_TRUE(IsClean(AuditImports(image, {"cublas"})));
}

// Whatever it does, nobody has said that it may.
TEST_F(Programs, LibrariesThatNoListKnowsAreRejected) {
  MakeLibrary("libfastgemm");
  const std::string image =
      Build("extern \"C\" void library_work(); void f() { library_work(); }", {"-lfastgemm"});
  for (const std::vector<std::string>& allow :
       {std::vector<std::string>{}, {"dlopen"}, {"cublas", "dlopen"}}) {
    EXPECT_THAT(RejectedFor(AuditImports(image, allow)), HasSubstr("libfastgemm.so.13"));
  }
}

TEST_F(Programs, LoadingLibrariesAtRunTimeIsRejected) {
  const std::string image =
      Build("#include <dlfcn.h>\nvoid* f() { return dlopen(nullptr, RTLD_NOW); }");
  EXPECT_THAT(RejectedFor(AuditImports(image, {})), HasSubstr("it calls dlopen"));
  EXPECT_TRUE(IsClean(AuditImports(image, {"dlopen"})));
}

// With leave to load, it may still not name what it has no leave for.
TEST_F(Programs, NamesOfForbiddenLibrariesAreRejected) {
  const std::string image =
      Build("#include <dlfcn.h>\nvoid* f() { return dlopen(\"libcublas.so.13\", RTLD_NOW); }");
  EXPECT_THAT(RejectedFor(AuditImports(image, {"dlopen"})), HasSubstr("it names libcublas"));
  EXPECT_TRUE(IsClean(AuditImports(image, {"dlopen", "cublas"})));
}

TEST_F(Programs, DeviceCodeLoadersAreRejected) {
  const std::string calls = Build(
      "extern \"C\" int cuModuleLoadData(void**, const void*);\n"
      "int f(void** m, const void* i) { return cuModuleLoadData(m, i); }");
  EXPECT_THAT(RejectedFor(AuditImports(calls, {})), HasSubstr("cuModuleLoadData"));
  const std::string names = Build(
      "extern \"C\" int cuGetProcAddress(const char*, void**);\n"
      "int f(void** p) { return cuGetProcAddress(\"cuLibraryLoadData\", p); }");
  EXPECT_THAT(RejectedFor(AuditImports(names, {})), HasSubstr("cuLibraryLoad"));
}

TEST_F(Programs, ProcessesAndSocketsAreTold) {
  const AuditFinding finding =
      AuditImports(Build("#include <cstdlib>\nint f() { return std::system(\"true\"); }"), {});
  ASSERT_TRUE(IsClean(finding));
  EXPECT_THAT(std::get<AuditReport>(finding).detail, HasSubstr("it calls system"));
}

// A toolkit without libcudart.so leaves only the static one, which loads libcuda by itself.
TEST_F(Programs, TheStaticRuntimesCallsConvictNobody) {
  const std::string source =
      "#include <dlfcn.h>\nvoid* f() { return dlopen(nullptr, RTLD_NOW); }\n"
      "void libcudart_static_0123() {}";
  const AuditFinding finding = AuditImports(Build(source), {});
  ASSERT_TRUE(std::holds_alternative<AuditReport>(finding));
  EXPECT_EQ(std::get<AuditReport>(finding).status, AuditStatus::kAbsent);
  EXPECT_THAT(RejectedFor(AuditImports(Build(source + " const char* n = \"libcudnn.so.9\";"), {})),
              HasSubstr("libcudnn"));
}

TEST(AuditImports, WhatIsNoLibraryIsRejected) {
  EXPECT_THAT(RejectedFor(AuditImports("not an ELF file", {})), HasSubstr("cannot be read"));
}

TEST(LibraryNames, KernelsTellTheirLibrary) {
  const auto family = [](const std::string& mangled) -> std::string {
    const LibraryFamily* found = FamilyOfKernel(Demangled(mangled));
    return found == nullptr ? "" : std::string(found->name);
  };
  EXPECT_EQ(family("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT"), "cublas");
  EXPECT_EQ(family("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64"), "cublas");
  EXPECT_EQ(family("_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi"), "torch");
  EXPECT_EQ(family("_ZN5cudnn3ops20nchwToNhwcKernelI6__halfEEvi"), "cudnn");
  EXPECT_EQ(family("triton_poi_fused_add_0"), "torch");
  EXPECT_EQ(family("_Z8my_scalePfi"), "");
  EXPECT_EQ(Demangled("_Z8my_scalePfi"), "my_scale(float*, int)");
  EXPECT_EQ(Demangled("plain_c"), "plain_c");
}

}  // namespace

}  // namespace warpsmith::audit
