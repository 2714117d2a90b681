// Small candidates, and compiling them for real with NVRTC.
#ifndef WARPSMITH_COMPILE_TESTS_NVRTC_FIXTURE_H_
#define WARPSMITH_COMPILE_TESTS_NVRTC_FIXTURE_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/file.h"
#include "compile/worker_compiler.h"
#include "core/candidate.h"
#include "cuda/nvrtc.h"

namespace warpsmith::compile {

inline Candidate CandidateOf(const std::string& source) {
  Candidate candidate;
  candidate.entry = "kernel.cu";
  candidate.sources["kernel.cu"] = source;
  return candidate;
}

inline constexpr char kAdd[] =
    "#include \"one.h\"\n"
    "extern \"C\" __global__ void add(float* a) {\n"
    "  __shared__ float row[32];\n"
    "  row[threadIdx.x] = a[threadIdx.x];\n"
    "  __syncthreads();\n"
    "  a[threadIdx.x] = row[31 - threadIdx.x] + kOne;\n"
    "}\n";

inline Candidate Add() {
  Candidate candidate = CandidateOf(kAdd);
  candidate.sources["one.h"] = "constexpr float kOne = 1;";
  return candidate;
}

// Skips where libnvrtc is absent. Each test has a cache of its own.
class NvrtcFixture : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto nvrtc = cuda::Nvrtc::Open(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.error().Line();
    auto folder = TemporaryDirectory::Create("warpsmith-compile-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(folder).value());
  }

  CompilerOptions Options() const {
    CompilerOptions options;
    options.cache = folder_->path() / "cache";
    options.worker_command = {(ThisExecutable().parent_path() / "compile_test_worker").string(),
                              kWorkerSubcommand};
    return options;
  }

  static CompileOutcome Compile(WorkerCompiler& compiler, const Candidate& candidate) {
    auto outcome = compiler.Compile(candidate, "sm_90a");
    EXPECT_TRUE(outcome.ok()) << outcome.error().Line();
    return outcome.ok() ? std::move(outcome).value() : CompileFailed{"harness error", "", false};
  }

  static Artifact CompileWell(WorkerCompiler& compiler, const Candidate& candidate) {
    const CompileOutcome outcome = Compile(compiler, candidate);
    const auto* failed = std::get_if<CompileFailed>(&outcome);
    EXPECT_EQ(failed, nullptr) << failed->reason << "\n" << failed->log;
    return failed == nullptr ? std::get<Artifact>(outcome) : Artifact{};
  }

  static CompileFailed CompileBadly(WorkerCompiler& compiler, const Candidate& candidate) {
    const CompileOutcome outcome = Compile(compiler, candidate);
    const auto* failed = std::get_if<CompileFailed>(&outcome);
    EXPECT_NE(failed, nullptr);
    return failed != nullptr ? *failed : CompileFailed{};
  }

  std::optional<TemporaryDirectory> folder_;
};

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_TESTS_NVRTC_FIXTURE_H_
