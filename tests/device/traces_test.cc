// What a launch leaves on the device for the next one, and what the judge does about it: written
// over, turned out of L2, or seen. Each test first shows that the trace is there without it.
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/median.h"
#include "base/subprocess.h"
#include "busy_gpu.h"
#include "cuda/kernel_launch.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "judge/oracle_device.h"
#include "judge/unused_slots.h"
#include "judge_on_device.h"

namespace warpsmith::judge {
namespace {

constexpr char kKernels[] = R"(
constexpr int kWords = 256;
constexpr unsigned kMark = 0x5ca1ab1eu;
// As text: the compiler leaves out what is not read, and reads nothing that was not written.
extern "C" __global__ void LeaveInLocal(unsigned* counts, const char*) {
  unsigned frame[kWords];
#pragma unroll 1
  for (int i = 0; i < kWords; ++i) {
    asm volatile("{.reg .u64 at; cvta.to.local.u64 at, %0; st.local.u32 [at], %1;}"
                 ::"l"(&frame[i]), "r"(kMark) : "memory");
  }
}
extern "C" __global__ void FindInLocal(unsigned* counts, const char*) {
  unsigned frame[kWords], found = 0;
#pragma unroll 1
  for (int i = 0; i < kWords; ++i) {
    unsigned value;
    asm volatile("{.reg .u64 at; cvta.to.local.u64 at, %1; ld.local.u32 %0, [at];}"
                 : "=r"(value) : "l"(&frame[i]) : "memory");
    found += value == kMark;
  }
  if (found > 0) atomicAdd(counts, found);
}
extern "C" __global__ void LeaveInShared(unsigned* counts, const char*) {
  extern __shared__ volatile unsigned kept[];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) kept[i] = kMark;
}
extern "C" __global__ void FindInShared(unsigned* counts, const char*) {
  extern __shared__ volatile unsigned kept[];
  unsigned found = 0;
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) found += kept[i] == kMark;
  if (found > 0) atomicAdd(counts, found);
}
// Of 16 MiB every line, to be the last to leave L2.
extern "C" __global__ void KeepInL2(unsigned* counts, const char* lines) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  const unsigned long long thread = blockIdx.x * 256ull + threadIdx.x, threads = gridDim.x * 256ull;
  for (unsigned long long at = thread * 128; at < (16ull << 20); at += threads * 128) {
    unsigned value;
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(value) : "l"(lines + at), "l"(policy));
    if (value == kMark) counts[1] = value;
  }
}
)";

class Traces : public JudgeOnDevice {
 protected:
  void SetUp() override {
    JudgeOnDevice::SetUp();
    const auto* driver = cuda::Driver::Open().value();
    oracle_ = OracleDevice::Open(driver->FindDevice("").value(), *kernels_).value();
    Candidate source;
    source.sources["traces.cu"] = kKernels;
    source.entry = "traces.cu";
    const auto compiled = compiler_->Compile(source, *architecture_);
    ASSERT_TRUE(compiled.ok() && std::holds_alternative<Artifact>(*compiled))
        << std::get<CompileFailed>(*compiled).log;
    module_.emplace(cuda::Module::Load(std::get<Artifact>(*compiled).image).value());
    counts_.emplace(cuda::DeviceBuffer::Allocate(256).value());
    lines_.emplace(cuda::DeviceBuffer::Allocate(size_t{16} << 20).value());
    ASSERT_TRUE(cuda::FillAsync(lines_->address(), 0, lines_->bytes(), stream()).ok());
  }

  const cuda::Stream& stream() const { return oracle_->stream(); }

  void Run(const char* kernel, uint32_t shared_bytes = 0) {
    cuda::LaunchConfig config;
    config.grid[0] = static_cast<uint32_t>(8 * oracle_->properties().sm_count);
    config.block[0] = 256;
    config.shared_bytes = shared_bytes;
    uint64_t counts = counts_->address(), lines = lines_->address();
    std::array<void*, 2> arguments = {&counts, &lines};
    const Status launched =
        cuda::Launch(module_->Kernel(kernel).value(), config, stream(), arguments.data());
    ASSERT_TRUE(launched.ok()) << launched.error().Line();
  }

  uint32_t Count(const char* kernel, uint32_t shared_bytes = 0) {
    EXPECT_TRUE(cuda::FillAsync(counts_->address(), 0, 256, stream()).ok());
    Run(kernel, shared_bytes);
    EXPECT_TRUE(stream().Synchronize().ok());
    uint32_t count = 0;
    EXPECT_TRUE(cuda::CopyToHost(&count, counts_->address(), sizeof(count)).ok());
    return count;
  }

  void Flood(int64_t local_bytes) {
    const Status flooded =
        oracle_->kernels().RunFlood(local_bytes, counts_->address() + 128, stream());
    ASSERT_TRUE(flooded.ok()) << flooded.error().Line();
    ASSERT_TRUE(stream().Synchronize().ok());
  }

  // Of lines spread over the 16 MiB.
  std::vector<uint32_t> Latencies() {
    constexpr uint32_t kLoads = 256;
    const std::vector<uint64_t> slots = {lines_->address()};
    const uint64_t table = oracle_->Upload(slots).value();
    const uint64_t cycles = oracle_->ReserveResults(kLoads * sizeof(uint32_t)).value();
    EXPECT_TRUE(oracle_->kernels()
                    .RunProbeLatency(table, 1, int64_t{64} << 10, kLoads, cycles, stream())
                    .ok());
    EXPECT_TRUE(oracle_->Synchronize().ok());
    const auto* first = oracle_->Results<uint32_t>(cycles);
    return {first, first + kLoads};
  }

  std::unique_ptr<OracleDevice> oracle_;
  std::optional<cuda::Module> module_;
  std::optional<cuda::DeviceBuffer> counts_, lines_;
};

TEST_F(Traces, LocalMemoryIsWrittenOver) {
  constexpr int64_t kFrame = 1024;
  Flood(kFrame + kSpareStackBytes);  // from now on the context's local memory is large enough
  Run("LeaveInLocal");
  const uint32_t left = Count("FindInLocal");
  std::printf("words found in local memory: %u\n", left);
  EXPECT_GT(left, 0U) << "nothing outlives a launch here, and this test shows nothing";
  Run("LeaveInLocal");
  Flood(kFrame + kSpareStackBytes);
  EXPECT_EQ(Count("FindInLocal"), 0U);
  Run("LeaveInLocal");
  Flood(kMostFloodedLocalBytes);
  EXPECT_EQ(Count("FindInLocal"), 0U);
}

TEST_F(Traces, SharedMemoryIsWrittenOver) {
  constexpr uint32_t kShared = 16 << 10;
  Run("LeaveInShared", kShared);
  const uint32_t left = Count("FindInShared", kShared);
  std::printf("words found in shared memory: %u\n", left);
  EXPECT_GT(left, 0U) << "nothing outlives a launch here, and this test shows nothing";
  Run("LeaveInShared", kShared);
  Flood(0);
  // Of an SM, what the flood's own blocks have reserved is not reached: docs/believe.md.
  constexpr uint32_t kUnreachedWords = 2048 / sizeof(uint32_t);
  const auto sms = static_cast<uint32_t>(oracle_->properties().sm_count);
  EXPECT_LE(Count("FindInShared", kShared), sms * kUnreachedWords);
}

TEST_F(Traces, NothingStaysInL2) {
  Latencies();
  const std::vector<uint32_t> warm = Latencies();
  ASSERT_TRUE(oracle_->FlushL2().ok());
  const std::vector<uint32_t> cold = Latencies();
  const auto threshold = ThresholdOf(warm, cold);
  std::printf("cycles in L2: %.0f, from memory: %.0f\n", Median({warm.begin(), warm.end()}),
              Median({cold.begin(), cold.end()}));
  ASSERT_TRUE(threshold.has_value()) << "L2 cannot be told from memory";
  const cuda::DeviceBuffer large =
      cuda::DeviceBuffer::Allocate(static_cast<size_t>(4 * oracle_->properties().l2_bytes)).value();
  for (const bool reset : {false, true}) {
    Run("KeepInL2");
    ASSERT_TRUE(stream().Synchronize().ok());
    if (reset) {
      ASSERT_TRUE(oracle_->FlushL2().ok());
    } else {
      ASSERT_TRUE(oracle_->kernels()
                      .RunEvict(large.address(), static_cast<int64_t>(large.bytes()),
                                large.address(), stream())
                      .ok());
    }
    const double share = WarmShare(Latencies(), *threshold);
    std::printf("lines kept, %s: %.0f %%\n", reset ? "flushed by the judge" : "only evicted",
                100 * share);
    if (reset) {
      EXPECT_LT(share, 0.2);
    }
  }
}

TEST_F(Traces, AWatchSeesWhetherOthersAreAtWork) {
  EXPECT_LT(oracle_->ShareOfOthers().value(), 0.05);
  const std::string kernels = folder_->path() / "kernels.cubin", begun = kernels + ".begun";
  ASSERT_TRUE(WriteFileAtomic(kernels, *kernels_).ok());
  std::thread other([&] {
    const auto outcome =
        RunProcess({ThisExecutable().string(), std::string(kBusyGpu), kernels}, ProcessLimits{});
    EXPECT_TRUE(outcome.ok() && outcome->exit_status == 0) << outcome->output;
  });
  for (int i = 0; i < 30'000 && access(begun.c_str(), F_OK) != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const double share = oracle_->ShareOfOthers().value();
  std::printf("share of others: %.2f\n", share);
  EXPECT_GT(share, 0.25);
  other.join();
}

}  // namespace

int BusyGpuMain(const char* kernels_file) {
  constexpr uint32_t kBusyUs = 2'000'000;
  const auto* driver = cuda::Driver::Open().value();
  const auto kernels = ReadFile(kernels_file).value();
  const auto device = OracleDevice::Open(driver->FindDevice("").value(), kernels).value();
  const uint64_t away_ns = device->ReserveResults(sizeof(uint64_t)).value();
  const bool good = device->Synchronize().ok() &&
                    device->kernels().RunWatch(kBusyUs, away_ns, device->stream()).ok() &&
                    WriteFileAtomic(std::string(kernels_file) + ".begun", "").ok() &&
                    device->Synchronize().ok();
  return good ? 0 : 1;
}

}  // namespace warpsmith::judge
