#include "compile/nvcc.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>

#include "compile/tests/nvrtc_fixture.h"
#include "compile/toolchain.h"
#include "core/program_shim.h"

namespace warpsmith::compile {
namespace {

using testing::HasSubstr;

class NvccTest : public NvrtcFixture {
 protected:
  void SetUp() override {
    NvrtcFixture::SetUp();
    if (IsSkipped()) return;
    if (const auto nvcc = FindToolchain("nvcc"); !nvcc.ok()) GTEST_SKIP() << nvcc.error().Line();
  }

  static Candidate ForNvcc(Candidate candidate) {
    candidate.toolchain = "nvcc";
    return candidate;
  }
};

TEST_F(NvccTest, MakesACubinOfAKernel) {
  WorkerCompiler compiler(Options());
  const Artifact artifact = CompileWell(compiler, ForNvcc(Add()));
  ASSERT_THAT(artifact.kernels, testing::SizeIs(1));
  EXPECT_EQ(artifact.kernels[0].name, "add");
  EXPECT_EQ(artifact.kernels[0].static_shared_bytes, 128);
  EXPECT_THAT(artifact.toolchain, HasSubstr("nvcc 13."));
}

TEST_F(NvccTest, MakesALibraryOfAProgram) {
  WorkerCompiler compiler(Options());
  Candidate candidate =
      ForNvcc(CandidateOf("__global__ void f() {}\nextern \"C\" void launch_gpu_implementation() { "
                          "f<<<1, 1>>>(); }\n"));
  candidate.form = Form::kProgram;
  EXPECT_THAT(CompileWell(compiler, candidate).image, HasSubstr("launch_gpu_implementation"));
}

TEST_F(NvccTest, ProgramsMayUseWhatTheArchitectureAloneHas) {
  WorkerCompiler compiler(Options());
  Candidate candidate =
      ForNvcc(CandidateOf("__global__ void f() { asm volatile(\"wgmma.fence.sync.aligned;\"); }\n"
                          "void launch() { f<<<1, 128>>>(); }\n"));
  candidate.form = Form::kProgram;
  EXPECT_EQ(CompileWell(compiler, candidate).kernels.size(), 1U);
}

TEST_F(NvccTest, BuildsAProgramWithItsShim) {
  Task task;
  task.name = "scale";
  task.tensors = {{"x", DType::kF32, Role::kInput, {Expression::Literal("N")}},
                  {"out", DType::kF32, Role::kOutput, {Expression::Literal("N")}}};
  task.program = ProgramEntry{
      "void scale(float* out, const float* x, const std::vector<int64_t>& "
      "shape, float by, bool fast)",
      {"out", "x", "{N, N * 2}", "2.5f", "N > 3"}};
  Candidate candidate = ForNvcc(CandidateOf(
      "#include <cstdint>\n#include <vector>\n#include \"part.cu\"\n"
      "void scale(float* out, const float* x, const std::vector<int64_t>& shape, float by, bool) {"
      " Scale<<<1, 128>>>(out, x, by, shape[0]); }\n"));
  candidate.sources["part.cu"] =
      "#include <cstdint>\n__global__ void Scale(float* out, const float* x, float by, int64_t n) {"
      " if (threadIdx.x < n) out[threadIdx.x] = by * x[threadIdx.x]; }\n";
  candidate.form = Form::kProgram;
  const auto whole = WithProgramShim(candidate, task, {"w", {{"N", 100}}, 1, false});
  ASSERT_TRUE(whole.ok()) << whole.error().Line();
  WorkerCompiler compiler(Options());
  const Artifact artifact = CompileWell(compiler, *whole);
  EXPECT_THAT(artifact.image, HasSubstr("warpsmith_call"));
  ASSERT_THAT(artifact.kernels, testing::SizeIs(1));
  EXPECT_GT(artifact.kernels[0].registers_per_thread, 0);
}

TEST_F(NvccTest, LogNamesSourcesAsTheCandidateDoes) {
  WorkerCompiler compiler(Options());
  const CompileFailed failed = CompileBadly(compiler, ForNvcc(CandidateOf("int x = y;")));
  EXPECT_THAT(failed.log, testing::StartsWith("kernel.cu(1): error"));
}

TEST_F(NvccTest, TimeLimitKillsItWithItsChildren) {
  CompilerOptions options = Options();
  options.wall = std::chrono::milliseconds(30);
  WorkerCompiler compiler(options);
  EXPECT_TRUE(CompileBadly(compiler, ForNvcc(Add())).timed_out);
}

TEST_F(NvccTest, SourceOutsideItsFolderIsRefused) {
  WorkerCompiler compiler(Options());
  Candidate candidate = ForNvcc(Add());
  candidate.sources["../escape.h"] = "";
  EXPECT_THAT(CompileBadly(compiler, candidate).reason, HasSubstr("leaves the folder"));
}

// Without the check a shell compiles kernel.cu: the name's command prints nothing.
TEST_F(NvccTest, SourceWhoseNameIsACommandIsRefused) {
  WorkerCompiler compiler(Options());
  Candidate candidate = ForNvcc(Add());
  candidate.entry = "kernel$(true).cu";
  candidate.sources[candidate.entry] = "#error not compiled";
  EXPECT_THAT(CompileBadly(compiler, candidate).reason, HasSubstr("other characters"));
}

// nvcc starts its parts by a shell, which says 127 where it cannot: also where no more processes
// may run. The next try may well end otherwise, so nothing is kept of this one.
TEST_F(NvccTest, ThatItsPartsCouldNotBeStartedIsNotKept) {
  const std::filesystem::path nvcc = folder_->path() / "bin" / "nvcc";
  ASSERT_TRUE(CreateDirectories(nvcc.parent_path()).ok());
  Limits limits;
  limits.output_bytes = limits.image_bytes = 1 << 20;
  for (const auto& [end, is_kept] : std::map<std::string, bool>{
           {"exit 1", true}, {"exit 126", false}, {"cicc_is_away", false}}) {
    ASSERT_TRUE(WriteFileAtomic(nvcc, "#!/bin/sh\n" + end + "\n").ok());
    for (const auto& path : {nvcc, nvcc.parent_path(), folder_->path()}) {
      ASSERT_EQ(chmod(path.c_str(), 0755), 0);
    }
    const auto compiled =
        CompileWithNvcc(Options().worker_command.front(), nvcc,
                        {"kernel.cu", {{"kernel.cu", ""}}, {}}, Form::kKernel, limits);
    ASSERT_TRUE(compiled.ok()) << compiled.error().Line();
    EXPECT_THAT(compiled->failure, HasSubstr("nvcc ended with status"));
    EXPECT_EQ(compiled->repeatable, is_kept) << end;
  }
}

TEST(ProgramUnits, AreTheSourcesThatNobodyIncludes) {
  Compilation compilation;
  compilation.entry = "shim.cpp";
  compilation.sources = {{"a.cu", "#include \"sub/part.cu\"\n#include \"b.h\"\nint x;"},
                         {"b.h", ""},
                         {"sub/part.cu", "// #include <cuda.h>"},
                         {"more.cc", ""},
                         {"notes.txt", ""},
                         {"shim.cpp", ""}};
  EXPECT_THAT(ProgramUnits(compilation), testing::ElementsAre("shim.cpp", "a.cu", "more.cc"));
}

}  // namespace

}  // namespace warpsmith::compile
