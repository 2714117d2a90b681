#include "judge/audit/imports.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "base/subprocess.h"

namespace warpsmith::audit {
namespace {

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
