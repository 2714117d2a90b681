#include "compile/nvcc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/testing/nvrtc_fixture.h"
#include "compile/toolchain.h"

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

}  // namespace
}  // namespace warpsmith::compile
