#include "compile/nvcc.h"

#include <cstddef>
#include <map>

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "compile/tests/nvrtc_fixture.h"
#include "compile/toolchain.h"
#include "core/program_shim.h"

namespace warpsmith::compile {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kSecret[] = "xyzzy_secret";

class ConfinementTest : public NvrtcFixture {
 protected:
  void SetUp() override {
    NvrtcFixture::SetUp();
    if (IsSkipped()) return;
    const auto here = sandbox::Probe().value();
    if (here.level == sandbox::Level::kNone) GTEST_SKIP() << sandbox::Describe(here);
    // Readable by all, and its folder writable by all, so that only the sandbox is in the way.
    ASSERT_TRUE(WriteFileAtomic(Outside() / "secret.h", std::string(kSecret) + " unknown;").ok());
    ASSERT_EQ(chmod((Outside() / "secret.h").c_str(), 0644), 0);
    ASSERT_EQ(chmod(Outside().c_str(), 0777), 0);
  }

  const fs::path& Outside() const { return folder_->path(); }
  std::string SecretPath() const { return (Outside() / "secret.h").string(); }

  // Past the rules for flags, as if they had a hole.
  Result<Compiled> RunNvcc(const std::string& source, const std::vector<std::string>& flags,
                           Form form, Limits limits) const {
    const Toolchain* nvcc = TRY(FindToolchain("nvcc"));
    Compilation compilation{"kernel.cu", {{"kernel.cu", source}}, {"-arch=sm_90a"}};
    compilation.flags.insert(compilation.flags.end(), flags.begin(), flags.end());
    return CompileWithNvcc(Options().worker_command.front(), nvcc->program, compilation, form,
                           limits);
  }
  static Limits Generous() {
    Limits limits;
    limits.output_bytes = 1 << 20;
    limits.image_bytes = 16 << 20;
    return limits;
  }

  std::vector<std::string> NamesOutside() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(Outside())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
};

TEST_F(ConfinementTest, HonestCandidatesAreCompiledInsideWithoutWarnings) {
  WorkerCompiler compiler(Options());
  for (const char* toolchain : {"nvrtc", "nvcc"}) {
    if (!FindToolchain(toolchain).ok()) continue;
    Candidate candidate = Add();
    candidate.toolchain = toolchain;
    EXPECT_THAT(CompileWell(compiler, candidate).warnings, IsEmpty()) << toolchain;
  }
}

TEST_F(ConfinementTest, SourcesIncludeNothingFromOutside) {
  WorkerCompiler compiler(Options());
  for (const char* toolchain : {"nvrtc", "nvcc"}) {
    if (!FindToolchain(toolchain).ok()) continue;
    for (const std::string& path :
         {SecretPath(), std::string("/etc/passwd"), std::string("/proc/self/environ")}) {
      Candidate candidate = CandidateOf("#include \"" + path + "\"\n__global__ void f() {}\n");
      candidate.toolchain = toolchain;
      const CompileFailed failed = CompileBadly(compiler, candidate);
      EXPECT_THAT(failed.log, Not(HasSubstr(kSecret))) << toolchain;
      EXPECT_THAT(failed.log, Not(HasSubstr("root:"))) << toolchain;
    }
  }
}

TEST_F(ConfinementTest, ProgramsCarryNothingFromOutside) {
  if (!FindToolchain("nvcc").ok()) GTEST_SKIP() << "no nvcc";
  WorkerCompiler compiler(Options());
  Candidate candidate = CandidateOf("asm(\".data\\n.incbin \\\"" + SecretPath() + "\\\"\");\n");
  candidate.toolchain = "nvcc";
  candidate.form = Form::kProgram;
  const CompileOutcome outcome = Compile(compiler, candidate);
  ASSERT_TRUE(std::holds_alternative<CompileFailed>(outcome));
}

TEST_F(ConfinementTest, RefusedFlagIsAVerdictThatNamesIt) {
  WorkerCompiler compiler(Options());
  Candidate candidate = Add();
  candidate.flags = {"-Xcompiler", "-fplugin=evil.so"};
  EXPECT_THAT(CompileBadly(compiler, candidate).reason, HasSubstr("-fplugin=evil.so"));
}

TEST_F(ConfinementTest, FlagsThatWriteOutsideOrRunProgramsDoNot) {
  if (!FindToolchain("nvcc").ok()) GTEST_SKIP() << "no nvcc";
  const std::string folder = Outside().string();
  const std::vector<std::string> before = NamesOutside();
  const std::string made = folder + "/made";
  // Each of these writes there when nvcc is not confined.
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--keep", "--keep-dir", folder},
                                             {"--time=" + made},
                                             {"-MD", "--dependency-output", made},
                                             {"-Xcompiler", "-MD,-MF," + made},
                                             {"-Xcompiler", ";touch " + made + ";"},
                                             {"-DX=$(touch " + made + ")"}}) {
    const auto compiled =
        RunNvcc("extern \"C\" __global__ void f() {}", flags, Form::kKernel, Generous()).value();
    EXPECT_THAT(NamesOutside(), testing::UnorderedElementsAreArray(before)) << flags.back();
  }
  EXPECT_EQ(ReadFile(SecretPath()).value(), std::string(kSecret) + " unknown;");
}

TEST_F(ConfinementTest, EndlessOutputIsCutAndEnded) {
  if (!FindToolchain("nvcc").ok()) GTEST_SKIP() << "no nvcc";
  Limits limits = Generous();
  limits.wall = std::chrono::milliseconds(2000);
  limits.output_bytes = 4096;
  const double start_s = MonotonicSeconds();
  const auto compiled = RunNvcc("int x;", {"-Xcompiler", ";yes;"}, Form::kKernel, limits).value();
  EXPECT_TRUE(compiled.timed_out);
  EXPECT_LE(compiled.log.size(), 8192U);
  EXPECT_LT(MonotonicSeconds() - start_s, 20);
}

TEST_F(ConfinementTest, GigabyteOfImageEndsAtTheLimit) {
  if (!FindToolchain("nvcc").ok()) GTEST_SKIP() << "no nvcc";
  const auto compiled =
      RunNvcc("asm(\".data\\n.fill 1073741824, 1, 7\");", {}, Form::kProgram, Generous()).value();
  EXPECT_TRUE(compiled.image.empty());
  EXPECT_FALSE(compiled.failure.empty());
}

TEST(ReadLaunched, TakesTheFirstLineOnly) {
  const LaunchedOutput confined = ReadLaunched("warpsmith: nvcc is confined: L2\nlog\nmore");
  EXPECT_TRUE(confined.launched);
  EXPECT_EQ(confined.unconfined, "");
  EXPECT_EQ(confined.rest, "log\nmore");
  const LaunchedOutput not_confined =
      ReadLaunched("warpsmith: nvcc is not confined: why\nwarpsmith: nvcc is confined: L2\n");
  EXPECT_EQ(not_confined.unconfined, "why");
  EXPECT_EQ(not_confined.rest, "warpsmith: nvcc is confined: L2\n");
  EXPECT_FALSE(ReadLaunched("exec failed").launched);
  EXPECT_EQ(ReadLaunched("exec failed").rest, "exec failed");
}

// As on a kernel without Landlock, for this process and all it starts.
void TakeLandlockAway() {
  constexpr uint32_t kCreateRuleset = 444;
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kCreateRuleset, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

using WithoutLandlockTest = ConfinementTest;

TEST_F(WithoutLandlockTest, CompilesAllTheSameAndSaysSo) {
  const auto compile = [&] {
    TakeLandlockAway();
    WorkerCompiler compiler(Options());
    int good = 0;
    for (const char* toolchain : {"nvrtc", "nvcc"}) {
      Candidate candidate = Add();
      candidate.toolchain = toolchain;
      const Artifact artifact = CompileWell(compiler, candidate);
      good += static_cast<int>(artifact.warnings.size() == 1 &&
                               artifact.warnings[0].find("Landlock") != std::string::npos);
      if (!FindToolchain("nvcc").ok()) return good + 1;
    }
    return good;
  };
  EXPECT_EXIT(_exit(compile()), testing::ExitedWithCode(2), "");
}

}  // namespace

// --- Candidates that attack their compiler, and flags that the rules would have refused.

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
