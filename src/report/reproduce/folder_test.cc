#include "report/reproduce/folder.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "report/reproduce/tests/sample_subject.h"

namespace warpsmith::reproduce {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result<int64_t> SixtySix(const Candidate&, const ResolvedLaunch&) { return int64_t{66}; }

Files FilesOf(const Subject& subject) {
  auto files = MakeFolder(subject, SixtySix);
  EXPECT_TRUE(files.ok()) << (files.ok() ? "" : files.error().Line());
  return files.ok() ? *files : Files{};
}

constexpr char kCall[] = R"(  void Call(const Buffers& at, CUstream stream) override {
    // workspace partial is zeroed before every call
    CU(cuMemsetD8Async(at.workspace + 0, 0, 256, stream));
    // operations[0]: C
    CU(cuMemsetD8Async(at.tensor[2], 7, 16, stream));
    // operations[1]: rows of A to padded, the rest zero
    CopyRows(at.workspace + 256, 128, at.tensor[0], 128, 100, 4, stream);
    CU(cuMemsetD2D8Async(at.workspace + 256 + 100, 128, 0, 28, 4, stream));
    CU(cuMemsetD8Async(at.workspace + 256 + 512, 0, 128, stream));
    // operations[2]: padded to C
    CU(cuMemcpyDtoDAsync(at.tensor[2], at.workspace + 256, 64, stream));
    {  // operations[3]: gemm
      CUtensorMap a0 = TensorMap(at.tensor[0], {  // A
          CU_TENSOR_MAP_DATA_TYPE_FLOAT16, /*dims*/ {64, 64}, /*strides in bytes*/ {128},
          /*box*/ {64, 8}, /*element strides*/ {1, 1}, CU_TENSOR_MAP_INTERLEAVE_NONE,
          CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
          CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA});
      CUdeviceptr a1 = at.tensor[2];  // C
      CUdeviceptr a2 = at.workspace + 0;  // partial
      int32_t a3 = -64;  // 0 - N
      int64_t a4 = INT64_C(64000000000000);  // N * 1000000000000
      float a5 = 0x1p-1f;
      double a6 = -INFINITY;
      CUdeviceptr a7 = table3_7_;
      void* arguments[] = {&a0, &a1, &a2, &a3, &a4, &a5, &a6, &a7};
      Launch(kernel3_, {/*grid*/ {2, 1, 1}, /*block*/ {128, 1, 1}, /*cluster*/ {2, 1, 1}, /*shared bytes*/ 65536,
              /*cooperative*/ true, /*programmatic*/ true}, stream, arguments);
    }
  }
)";

TEST(MakeFolder, WritesThePlanOutAsNumbers) {
  const std::string source = FilesOf(SampleSubject()).at("reproduce.cu");
  EXPECT_THAT(source, HasSubstr(kCall));
  EXPECT_THAT(source, HasSubstr("WorkspaceBytes() const override { return 4352; }"));
  EXPECT_THAT(source, HasSubstr("kernel3_ = Kernel(module, \"gemm\", 65536, true);"));
  EXPECT_THAT(source, HasSubstr("table3_7_ = Upload({3, -1});"));
  EXPECT_THAT(source, HasSubstr("{\"A\", Type::kF16, 4096, Fill::kUniform},  // 64 x 64"));
  EXPECT_THAT(source, HasSubstr("{\"index\", Type::kI32, 64, Fill::kIntegers, 0, 32},  // 64"));
  EXPECT_THAT(source, HasSubstr("{\"C\", Type::kF16, 4096, Fill::kOutput},"));
}

TEST(MakeFolder, CompilesWithTheCandidatesOwnCompilerAndFlags) {
  Subject subject = SampleSubject();
  const std::string flags = "--gpu-architecture=sm_90a -std=c++17 --ptxas-options=-v";
  EXPECT_THAT(FilesOf(subject).at("reproduce.sh"),
              HasSubstr("build/compile_with_nvrtc candidate gemm.cu build/candidate.cubin "
                        "\"$cuda/include\" " +
                        flags + " -default-device -DTILE=64 '-DWORDS=a b'\n"));
  subject.candidate.toolchain = "nvcc";
  const std::string script = FilesOf(subject).at("reproduce.sh");
  EXPECT_THAT(script, HasSubstr("\"$nvcc\" -cubin " + flags +
                                " -DTILE=64 '-DWORDS=a b' -I candidate -o build/candidate.cubin "
                                "candidate/gemm.cu\n"));
  EXPECT_THAT(script, AllOf(HasSubstr(std::string(64, 'a') + "*)"), Not(HasSubstr("nvrtc"))));
}

TEST(MakeFolder, TellsTheVerdict) {
  const std::string readme = FilesOf(SampleSubject()).at("README.txt");
  for (const char* part :
       {"12.500 us  [12.250, 12.750]", "1.5000x theirs [1.2500, 1.7500]: faster", "NVIDIA H100",
        "580.95", "2026-11-21", "j1/screened", "N = 64", "hostile candidate"}) {
    EXPECT_THAT(readme, HasSubstr(part));
  }
  EXPECT_THAT(readme, HasSubstr(TaskId(SampleSubject().task)));
  EXPECT_THAT(readme, HasSubstr(CandidateId(SampleSubject().candidate)));
}

TEST(MakeFolder, HoldsSourcesAndSupport) {
  const Files files = FilesOf(SampleSubject());
  EXPECT_EQ(files.at("candidate/gemm.cu"), "extern \"C\" __global__ void gemm() {}\n");
  EXPECT_TRUE(files.contains("support/measure.h"));
  EXPECT_FALSE(files.contains("baseline.py"));
}

TEST(MakeFolder, CallsProgramsByTheTasksDeclaration) {
  const Files files = FilesOf(SampleProgram());
  EXPECT_THAT(files.at("candidate/warpsmith_shim.cpp"), HasSubstr("run(static_cast<void*>"));
  EXPECT_THAT(files.at("reproduce.cu"),
              AllOf(HasSubstr("Program candidate(\"candidate\", \"build/candidate.so\");"),
                    HasSubstr("  measurement.Wall();\n  return 0;"),
                    Not(HasSubstr("measurement.Device();"))));
  // The entry and what no other source includes.
  EXPECT_THAT(files.at("reproduce.sh"),
              HasSubstr("-o build/candidate.so candidate/warpsmith_shim.cpp candidate/part.cpp "
                        "candidate/run.cpp\n"));
}

TEST(MakeFolder, TimesRivalsAndLibrariesBeside) {
  Subject subject = SampleSubject();
  subject.task.rivals = {{"theirs", subject.candidate}, {"unasked", subject.candidate}};
  subject.task.rivals[0].candidate.plan.operations = {SampleLaunch()};
  subject.task.baselines = {"theirs"};
  const Files files = FilesOf(subject);
  EXPECT_TRUE(files.contains("rivals/1-theirs/gemm.cu"));
  EXPECT_THAT(
      files.at("reproduce.cu"),
      AllOf(HasSubstr("Rival1() : Contender(\"theirs\")"),
            HasSubstr("measurement(tensors, {&candidate, &rival1}"), Not(HasSubstr("unasked"))));
  EXPECT_THAT(files.at("reproduce.sh"), HasSubstr("rivals/1-theirs gemm.cu build/rival1.image"));

  subject.task.reference.kind = "gemm";
  subject.task.reference.options = {{"layout", "TN"}};
  subject.task.tensors[1] = subject.task.tensors[0];
  subject.task.tensors[1].name = "B";
  subject.task.baselines = {"cublaslt-auto", "cublas-tn"};
  const Files gemm = FilesOf(subject);
  EXPECT_THAT(gemm.at("reproduce.cu"),
              AllOf(HasSubstr("Gemm baseline1(\"cublaslt-auto-nn\", Library::kLtAuto, {/*m*/ 64, "
                              "/*n*/ 64, /*k*/ 64, /*B is n x k*/ false},\n"
                              "             0, 1, 2, /*same outputs*/ false);"),
                    HasSubstr("Gemm baseline2(\"cublaslt-auto-tn\""),
                    HasSubstr("Gemm baseline3(\"cublas-tn\", Library::kCublas")));
  EXPECT_THAT(gemm.at("reproduce.sh"), HasSubstr("-lcublas -lcublasLt"));
}

TEST(MakeFolder, LeavesTorchToPython) {
  Subject subject = SampleSubject();
  subject.task.reference.kind = "torch";
  subject.task.reference.options = {{"entry", "reference.py"}, {"style", "function"}};
  subject.task.reference.sources = {{"reference.py", "def reference(a): return a\n"}};
  subject.task.baselines = {"torch-best", "torch-eager"};
  const Files files = FilesOf(subject);
  EXPECT_EQ(files.at("reference/reference.py"), "def reference(a): return a\n");
  EXPECT_THAT(files.at("reproduce.sh"), HasSubstr("baseline.py"));
  const auto told = nlohmann::json::parse(files.at("baseline.json"));
  EXPECT_EQ(told["callees"], nlohmann::json({"eager", "compile"}));
  EXPECT_EQ(told["inputs"][0]["shape"], nlohmann::json({64, 64}));
  EXPECT_EQ(told["inputs"][1]["high"], 32);
  EXPECT_EQ(told["sizes"]["N"], 64);
}

TEST(MakeFolder, SaysWhatItLeavesOut) {
  Subject subject = SampleSubject();
  subject.task.rivals = {{"program", SampleProgram().candidate}};
  subject.task.baselines = {"program", "torch-best"};
  EXPECT_THAT(FilesOf(subject).at("README.txt"),
              AllOf(HasSubstr("  program: it is a program, the candidate is not\n"),
                    HasSubstr("  torch-best: a baseline that this folder cannot hold\n")));
}

TEST(MakeFolder, AsksTheDeviceOnlyWherePlansDependOnIt) {
  Subject subject = SampleSubject();
  EXPECT_TRUE(MakeFolder(subject, {}).ok());
  std::get<LaunchOperation>(subject.candidate.plan.operations[3]).grid[0] =
      Expression::Literal("2 * max_active_clusters");
  EXPECT_THAT(FilesOf(subject).at("reproduce.cu"), HasSubstr("/*grid*/ {132, 1, 1}"));
  const auto without = MakeFolder(subject, {});
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().Line(),
              AllOf(HasSubstr("cannot be written as numbers"), HasSubstr("max_active_clusters"),
                    HasSubstr("on the GPU itself")));
}

TEST(MakeFolder, RefusesWhatHasNoTimeOrLeavesTheFolder) {
  Subject subject = SampleSubject();
  subject.verdict.outcome = Incorrect{"bound", "off", 1, 0, 3};
  EXPECT_EQ(MakeFolder(subject, SixtySix).error().code, ErrorCode::kNothingMeasured);
  for (const char* path : {"../x.cu", "/x.cu", "a/../../x.cu", "$(id).cu", "a b.cu", ""}) {
    subject = SampleSubject();
    subject.candidate.sources[path] = "";
    EXPECT_EQ(MakeFolder(subject, SixtySix).error().code, ErrorCode::kBadInput) << path;
  }
}

TEST(MakeFolder, ForeignNamesStayText) {
  Subject subject = SampleSubject();
  subject.task.name = "t\n#error name";
  subject.workload.name = "w\\\n#error workload";
  subject.task.tensors[1].name = "i\");system(\"true";
  auto& launch = std::get<LaunchOperation>(subject.candidate.plan.operations[3]);
  launch.kernel = "k\", 0, 0); abort(); (\"";
  const std::string source = FilesOf(subject).at("reproduce.cu");
  EXPECT_THAT(source, Not(HasSubstr("\n#error")));
  EXPECT_THAT(source, HasSubstr(R"({"i\");system(\"true", Type::kI32)"));
  EXPECT_THAT(source, HasSubstr(R"(Kernel(module, "k\", 0, 0); abort(); (\"", 65536)"));
}

TEST(WriteFolder, MakesFilesAndAScriptThatCanBeRun) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("reproduce").value();
  const auto target = folder.path() / "a" / "b";
  ASSERT_TRUE(WriteFolder(target, FilesOf(SampleSubject())).ok());
  EXPECT_EQ(*ReadFile(target / "candidate" / "gemm.cu"),
            SampleSubject().candidate.sources.at("gemm.cu"));
  const auto permissions = std::filesystem::status(target / "reproduce.sh").permissions();
  EXPECT_NE(permissions & std::filesystem::perms::owner_exec, std::filesystem::perms::none);
}

}  // namespace
}  // namespace warpsmith::reproduce
