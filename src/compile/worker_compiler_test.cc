#include "compile/worker_compiler.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "compile/tests/nvrtc_fixture.h"

namespace warpsmith::compile {
namespace {

class ArtifactCacheTest : public testing::Test {
 protected:
  ArtifactCacheTest()
      : folder_(std::move(TemporaryDirectory::Create("warpsmith-cache-test")).value()) {}

  static Artifact SomeArtifact() {
    Artifact artifact;
    artifact.image = std::string(
        "\x7f"
        "ELF\0image",
        10);
    artifact.image_sha256 = Sha256Hex(artifact.image);
    artifact.architecture = "sm_90a";
    artifact.toolchain = "nvrtc 13.0";
    artifact.kernels.push_back({"add", 8, 128, 0, 0, 0});
    artifact.log = "log";
    return artifact;
  }

  const TemporaryDirectory folder_;
  const std::filesystem::path& cache_ = folder_.path();
  const std::string key_ = Sha256Hex("key");
};

TEST_F(ArtifactCacheTest, GivesBackWhatWasStored) {
  EXPECT_FALSE(FindOutcome(cache_, key_));
  ASSERT_TRUE(StoreOutcome(cache_, key_, SomeArtifact()).ok());
  const auto found = FindOutcome(cache_, key_);
  ASSERT_TRUE(found);
  const auto& artifact = std::get<Artifact>(*found);
  EXPECT_EQ(artifact.image, SomeArtifact().image);
  EXPECT_EQ(artifact.kernels[0].static_shared_bytes, 128);
  EXPECT_TRUE(artifact.from_cache);
}

TEST_F(ArtifactCacheTest, DamagedEntriesAreAbsentWhereverTheDamageIs) {
  ASSERT_TRUE(StoreOutcome(cache_, key_, SomeArtifact()).ok());
  const std::string good = *ReadFile(EntryPath(cache_, key_));
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    ASSERT_TRUE(WriteFileAtomic(EntryPath(cache_, key_), bad).ok());
    const auto found = FindOutcome(cache_, key_);
    // zstd leaves some header bits without meaning: then the content is still the right one.
    if (found) {
      EXPECT_EQ(std::get<Artifact>(*found).image, SomeArtifact().image) << i;
    }
    ASSERT_TRUE(WriteFileAtomic(EntryPath(cache_, key_), good.substr(0, i)).ok());
    EXPECT_FALSE(FindOutcome(cache_, key_)) << i;
  }
}

TEST_F(ArtifactCacheTest, EntryOfAnotherKeyIsAbsent) {
  ASSERT_TRUE(StoreOutcome(cache_, key_, SomeArtifact()).ok());
  const std::string other = Sha256Hex("other");
  ASSERT_TRUE(CreateDirectories(EntryPath(cache_, other).parent_path()).ok());
  std::filesystem::copy(EntryPath(cache_, key_), EntryPath(cache_, other));
  EXPECT_FALSE(FindOutcome(cache_, other));
}

TEST(CacheKey, EverythingThatDecidesTheOutcomeCounts) {
  const Candidate base = Add();
  const std::vector<std::string> flags = {"-a"};
  const std::string key = CacheKey(base, flags, "nvrtc 13.0", "sm_90a");
  EXPECT_EQ(key, CacheKey(base, flags, "nvrtc 13.0", "sm_90a"));
  EXPECT_NE(key, CacheKey(base, {"-b"}, "nvrtc 13.0", "sm_90a"));
  EXPECT_NE(key, CacheKey(base, flags, "nvrtc 13.1", "sm_90a"));
  EXPECT_NE(key, CacheKey(base, flags, "nvrtc 13.0", "sm_80"));
  Candidate other = base;
  other.sources["one.h"] += " ";
  EXPECT_NE(key, CacheKey(other, flags, "nvrtc 13.0", "sm_90a"));
  other = base;
  other.entry = "one.h";
  EXPECT_NE(key, CacheKey(other, flags, "nvrtc 13.0", "sm_90a"));
}

TEST(CacheKey, PlanAndProvenanceDoNot) {
  Candidate other = Add();
  other.plan.workspaces.push_back({"w", Expression::Constant(1), true});
  other.provenance.proposer = "somebody";
  EXPECT_EQ(CacheKey(Add(), {}, "t", "a"), CacheKey(other, {}, "t", "a"));
}

using testing::HasSubstr;
using testing::SizeIs;

using WorkerCompilerTest = NvrtcFixture;

// Doubles the work at every level: no compiler gets to the end of it.
constexpr char kEndless[] =
    "template <int N, int I> struct F {\n"
    "  static constexpr long value = F<N - 1, 2 * I>::value + F<N - 1, 2 * I + 1>::value;\n"
    "};\n"
    "template <int I> struct F<0, I> { static constexpr long value = I; };\n"
    "extern \"C\" __global__ void f(long* a) { *a = F<28, 1>::value; }\n";

std::string Filled(int lines, const std::string& line) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += line + std::to_string(i) + ";\n";
  return text;
}

TEST_F(WorkerCompilerTest, ReportsWhatTheKernelUses) {
  WorkerCompiler compiler(Options());
  const Artifact artifact = CompileWell(compiler, Add());
  EXPECT_THAT(artifact.image, testing::StartsWith("\x7f"
                                                  "ELF"));
  EXPECT_EQ(artifact.architecture, "sm_90a");
  EXPECT_THAT(artifact.toolchain, testing::StartsWith("nvrtc 13."));
  ASSERT_THAT(artifact.kernels, SizeIs(1));
  EXPECT_EQ(artifact.kernels[0].name, "add");
  EXPECT_GT(artifact.kernels[0].registers_per_thread, 0);
  EXPECT_EQ(artifact.kernels[0].static_shared_bytes, 128);
  EXPECT_EQ(artifact.writable_global_bytes, 0);
  EXPECT_GT(artifact.compile_ms, 0);
  EXPECT_FALSE(artifact.from_cache);
}

TEST_F(WorkerCompilerTest, KnowsTheToolkitsHalfTypes) {
  const std::filesystem::path nvrtc = cuda::Nvrtc::Open().value()->path();
  if (!std::filesystem::exists(nvrtc.parent_path().parent_path() / "include/cuda_fp16.h")) {
    GTEST_SKIP() << "NVRTC is here without the toolkit's headers";
  }
  WorkerCompiler compiler(Options());
  const Artifact artifact = CompileWell(
      compiler, CandidateOf("#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
                            "extern \"C\" __global__ void f(__half* a, __nv_bfloat16* b) {\n"
                            "  a[0] = __float2half(__bfloat162float(b[0]));\n}\n"));
  EXPECT_EQ(artifact.writable_global_bytes, 0);
}

TEST_F(WorkerCompilerTest, FindsWritableGlobalsAndNotConstants) {
  WorkerCompiler compiler(Options());
  const Artifact artifact = CompileWell(
      compiler, CandidateOf("__device__ int count[5];\n__device__ int start = 3;\n"
                            "__constant__ int table[100];\n"
                            "extern \"C\" __global__ void f(int* a) {\n"
                            "  a[0] = atomicAdd(&count[a[1]], start++) + table[a[2]];\n}\n"));
  EXPECT_EQ(artifact.writable_global_bytes, 24);
}

TEST_F(WorkerCompilerTest, ConstantsThatNoKernelReachesAreNotWritable) {
  WorkerCompiler compiler(Options());
  EXPECT_EQ(CompileWell(compiler, CandidateOf("constexpr int kTile = 128;\n"
                                              "template <int N> struct Config {\n"
                                              "  static constexpr int kStages = N * 2;\n};\n"
                                              "extern \"C\" __global__ void f(int* a) {\n"
                                              "  a[kTile] = Config<3>::kStages;\n}\n"))
                .writable_global_bytes,
            0);
}

constexpr char kTableIsRead[] =
    "__device__ const int kTable[4] = {1, 2, 3, 4};\n__constant__ int kOthers[4] = {5, 6};\n"
    "extern \"C\" __global__ void f(int* a) {\n"
    "  if (a[2] < 0) printf(\"negative: %d\", a[2]);\n"
    "  for (int i = 0; i < a[3]; ++i) a[0] += kTable[(a[1] + i) % 4] + kOthers[a[i] % 4];\n}\n";
// Constness can be cast away.
constexpr char kTableIsWritten[] =
    "__device__ const int kTable[4] = {1, 2, 3, 4};\n"
    "extern \"C\" __global__ void f(int* a) {\n"
    "  const_cast<volatile int*>(kTable)[a[1]] = a[0];\n  a[0] = kTable[a[2]];\n}\n";
constexpr char kConstantIsWritten[] =
    "__constant__ int kTable[4] = {1, 2, 3, 4};\n"
    "extern \"C\" __global__ void f(int* a) {\n"
    "  asm volatile(\"st.u32 [%0], %1;\" :: \"l\"(kTable + a[1]), \"r\"(a[0]));\n"
    "  a[0] = kTable[a[2]];\n}\n";

TEST_F(WorkerCompilerTest, TablesAndTextsThatAreOnlyReadAreNotWritable) {
  WorkerCompiler compiler(Options());
  for (const char* toolchain : {"nvrtc", "nvcc"}) {
    const auto bytes = [&](const char* source) {
      Candidate candidate = CandidateOf(source);
      candidate.toolchain = toolchain;
      return CompileWell(compiler, candidate).writable_global_bytes;
    };
    EXPECT_EQ(bytes(kTableIsRead), 0) << toolchain;
    EXPECT_EQ(bytes(kTableIsWritten), 16) << toolchain;
    EXPECT_EQ(bytes(kConstantIsWritten), 16) << toolchain;
  }
}

TEST_F(WorkerCompilerTest, VariableOfInlineAssemblyIsWritable) {
  WorkerCompiler compiler(Options());
  const Artifact artifact =
      CompileWell(compiler, CandidateOf("__device__ int hidden;\n"
                                        "extern \"C\" __global__ void f(int* a) {\n"
                                        "  asm volatile(\"{ .reg .u64 p; mov.u64 p, hidden;\"\n"
                                        "               \" st.global.u32 [p], 1; }\");\n}\n"));
  EXPECT_EQ(artifact.writable_global_bytes, 4);
}

TEST_F(WorkerCompilerTest, SyntaxErrorIsAVerdictWithItsLog) {
  WorkerCompiler compiler(Options());
  const CompileFailed failed = CompileBadly(compiler, CandidateOf("__global__ void f( {"));
  EXPECT_FALSE(failed.timed_out);
  EXPECT_THAT(failed.reason, HasSubstr("kernel.cu(1): error"));
  EXPECT_THAT(failed.log, HasSubstr("kernel.cu(1): error"));
}

TEST_F(WorkerCompilerTest, MissingEntryIsAVerdict) {
  WorkerCompiler compiler(Options());
  Candidate candidate = Add();
  candidate.entry = "other.cu";
  EXPECT_THAT(CompileBadly(compiler, candidate).reason, HasSubstr("other.cu"));
}

TEST_F(WorkerCompilerTest, EndlessCompilationIsKilledAndTheNextOneWorks) {
  CompilerOptions options = Options();
  options.wall = std::chrono::milliseconds(1500);
  WorkerCompiler compiler(options);
  const double start_s = MonotonicSeconds();
  const CompileFailed failed = CompileBadly(compiler, CandidateOf(kEndless));
  EXPECT_TRUE(failed.timed_out) << failed.reason;
  EXPECT_LT(MonotonicSeconds() - start_s, 20);
  EXPECT_EQ(CompileWell(compiler, Add()).kernels.size(), 1U);
}

TEST_F(WorkerCompilerTest, MemoryLimitKillsTheWorkerNotUs) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "address-space limits do not go with AddressSanitizer";
#endif
  CompilerOptions options = Options();
  options.memory_bytes = int64_t{640} << 20;
  WorkerCompiler compiler(options);
  const CompileFailed failed = CompileBadly(compiler, CandidateOf(kEndless));
  EXPECT_FALSE(failed.timed_out) << failed.reason;
  EXPECT_EQ(CompileWell(compiler, Add()).kernels.size(), 1U);
}

TEST_F(WorkerCompilerTest, GiantOutputIsCut) {
  CompilerOptions options = Options();
  options.output_bytes = 4096;
  WorkerCompiler compiler(options);
  const CompileFailed failed =
      CompileBadly(compiler, CandidateOf(Filled(5000, "int unknown = missing_name_")));
  EXPECT_LT(failed.log.size(), 8192U);
  EXPECT_THAT(failed.log, HasSubstr("were cut here"));
}

TEST_F(WorkerCompilerTest, ImageOverTheLimitIsAVerdict) {
  CompilerOptions options = Options();
  options.image_bytes = 100;
  WorkerCompiler compiler(options);
  EXPECT_THAT(CompileBadly(compiler, Add()).reason, HasSubstr("over the limit of 100"));
}

TEST_F(WorkerCompilerTest, SecondTimeComesFromTheCacheAndIsEqual) {
  WorkerCompiler first(Options());
  const Artifact compiled = CompileWell(first, Add());
  CompilerOptions no_worker = Options();
  no_worker.worker_command = {"/nonexistent"};
  WorkerCompiler second(no_worker);
  const Artifact cached = CompileWell(second, Add());
  EXPECT_TRUE(cached.from_cache);
  EXPECT_EQ(cached.image, compiled.image);
  EXPECT_EQ(cached.log, compiled.log);
  EXPECT_EQ(cached.compile_ms, compiled.compile_ms);
  EXPECT_EQ(cached.kernels.size(), compiled.kernels.size());
}

TEST_F(WorkerCompilerTest, FailuresAreCachedToo) {
  WorkerCompiler first(Options());
  const CompileFailed failed = CompileBadly(first, CandidateOf("syntax error"));
  CompilerOptions no_worker = Options();
  no_worker.worker_command = {"/nonexistent"};
  WorkerCompiler second(no_worker);
  EXPECT_EQ(CompileBadly(second, CandidateOf("syntax error")).log, failed.log);
}

TEST_F(WorkerCompilerTest, ManyThreadsShareTheWorkers) {
  CompilerOptions options = Options();
  options.workers = 2;
  WorkerCompiler compiler(options);
  std::vector<std::thread> threads;
  std::vector<size_t> kernels(8);
  for (size_t i = 0; i < kernels.size(); ++i) {
    threads.emplace_back([&, i] {
      Candidate candidate = Add();
      candidate.flags = {"-DUNUSED=" + std::to_string(i / 2)};
      const auto outcome = compiler.Compile(candidate, "sm_80");
      if (outcome.ok()) kernels[i] = std::get<Artifact>(*outcome).kernels.size();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(kernels, testing::Each(1U));
}

TEST_F(WorkerCompilerTest, UnknownArchitectureListsTheKnown) {
  WorkerCompiler compiler(Options());
  for (const char* wrong : {"sm_12", "sm_90x", "90", "", "sm_"}) {
    const auto outcome = compiler.Compile(Add(), wrong);
    ASSERT_FALSE(outcome.ok()) << wrong;
    EXPECT_EQ(outcome.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(outcome.error().message, HasSubstr("sm_90"));
  }
}

TEST_F(WorkerCompilerTest, UnknownToolchainIsAnError) {
  WorkerCompiler compiler(Options());
  Candidate candidate = Add();
  candidate.toolchain = "gcc";
  EXPECT_EQ(compiler.Compile(candidate, "sm_90a").error().code, ErrorCode::kBadInput);
}

TEST_F(WorkerCompilerTest, WorkerThatCannotStartIsAnError) {
  CompilerOptions options = Options();
  options.worker_command = {"/nonexistent"};
  WorkerCompiler compiler(options);
  EXPECT_EQ(compiler.Compile(Add(), "sm_90a").error().code, ErrorCode::kUnavailable);
}

}  // namespace

}  // namespace warpsmith::compile
