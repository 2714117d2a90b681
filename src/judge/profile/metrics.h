// The counters that a profile holds, by the names Nsight Compute knows them under, so that every
// number can be looked up in its manual (ncu --query-metrics) and taken again by hand.
#ifndef WARPSMITH_JUDGE_PROFILE_METRICS_H_
#define WARPSMITH_JUDGE_PROFILE_METRICS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/verdict.h"

namespace warpsmith::profile::metric {

// Counters that every part has, in the order in which they are asked for.
// clang-format off
#define WARPSMITH_STALL(reason) \
  "smsp__average_warps_issue_stalled_" reason "_per_issue_active.ratio"
#define WARPSMITH_COUNTERS(X) \
  /* Time and size. */ \
  X(kTimeNs, "gpu__time_duration.sum") \
  X(kCycles, "gpc__cycles_elapsed.max") \
  X(kInstructions, "smsp__inst_executed.sum") \
  /* Throughputs, in percent of what the part can sustain. */ \
  X(kSmPct, "sm__throughput.avg.pct_of_peak_sustained_elapsed") \
  X(kDramPct, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed") \
  X(kL2Pct, "lts__throughput.avg.pct_of_peak_sustained_elapsed") \
  X(kL1Pct, "l1tex__throughput.avg.pct_of_peak_sustained_active") \
  X(kDramReadBytes, "dram__bytes_read.sum") \
  X(kDramWriteBytes, "dram__bytes_write.sum") \
  X(kL2HitPct, "lts__t_sector_hit_rate.pct") \
  X(kL1HitPct, "l1tex__t_sector_hit_rate.pct") \
  /* Pipes, in percent of their peak while the SM is active. */ \
  X(kTensorPct, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active") \
  X(kFmaPct, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active") \
  X(kAluPct, "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active") \
  X(kFp64Pct, "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active") \
  X(kXuPct, "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active") \
  X(kLsuPct, "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active") \
  /* Schedulers and occupancy. */ \
  X(kIssuePct, "smsp__issue_active.avg.pct_of_peak_sustained_active") \
  X(kEligibleWarps, "smsp__warps_eligible.avg.per_cycle_active") \
  X(kOccupancyPct, "sm__warps_active.avg.pct_of_peak_sustained_active") \
  X(kTheoreticalOccupancyPct, "sm__maximum_warps_per_active_cycle_pct") \
  X(kLimitRegisters, "launch__occupancy_limit_registers") \
  X(kLimitShared, "launch__occupancy_limit_shared_mem") \
  X(kLimitBlocks, "launch__occupancy_limit_blocks") \
  X(kLimitWarps, "launch__occupancy_limit_warps") \
  X(kRegisters, "launch__registers_per_thread") \
  X(kSharedBytes, "launch__shared_mem_per_block") \
  X(kBlockThreads, "launch__block_size") \
  X(kGridBlocks, "launch__grid_size") \
  X(kWaves, "launch__waves_per_multiprocessor") \
  /* Why warps wait: warps in that state for each instruction issued. Their sum is kWarpLatency. */ \
  X(kWarpLatency, "smsp__average_warp_latency_per_inst_issued.ratio") \
  X(kStallLongScoreboard, WARPSMITH_STALL("long_scoreboard")) \
  X(kStallShortScoreboard, WARPSMITH_STALL("short_scoreboard")) \
  X(kStallBarrier, WARPSMITH_STALL("barrier")) \
  X(kStallMembar, WARPSMITH_STALL("membar")) \
  X(kStallMathPipe, WARPSMITH_STALL("math_pipe_throttle")) \
  X(kStallWait, WARPSMITH_STALL("wait")) \
  X(kStallMio, WARPSMITH_STALL("mio_throttle")) \
  X(kStallLg, WARPSMITH_STALL("lg_throttle")) \
  X(kStallNotSelected, WARPSMITH_STALL("not_selected")) \
  X(kStallNoInstruction, WARPSMITH_STALL("no_instruction")) \
  X(kStallDispatch, WARPSMITH_STALL("dispatch_stall")) \
  X(kStallBranch, WARPSMITH_STALL("branch_resolving")) \
  X(kStallDrain, WARPSMITH_STALL("drain")) \
  X(kStallSleeping, WARPSMITH_STALL("sleeping")) \
  /* Shared, global and local memory. A sector has 32 bytes; its use is what threads asked for. */ \
  X(kSharedWavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum") \
  X(kBankConflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum") \
  X(kLoadSectorsPerRequest, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio") \
  X(kStoreSectorsPerRequest, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio") \
  X(kLoadSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") \
  X(kStoreSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") \
  X(kLoadSectorUsePct, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct") \
  X(kStoreSectorUsePct, "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct") \
  X(kLocalLoadSectors, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum") \
  X(kLocalStoreSectors, "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum")
// clang-format on

#define WARPSMITH_COUNTER(name, text) inline constexpr std::string_view name = text;
WARPSMITH_COUNTERS(WARPSMITH_COUNTER)
#undef WARPSMITH_COUNTER

// sm_90 only: wgmma's arrival.
inline constexpr std::string_view kStallGmma = WARPSMITH_STALL("gmma");

// Ours, where no counter was read: from ptxas' report and the disassembly.
inline constexpr std::string_view kSpillBytes = "static__spill_bytes_per_thread";
inline constexpr std::string_view kTensorOpcodePct = "static__tensor_opcodes_pct";
inline constexpr std::string_view kFmaOpcodePct = "static__fma_opcodes_pct";
inline constexpr std::string_view kMemoryOpcodePct = "static__global_memory_opcodes_pct";
inline constexpr std::string_view kSharedOpcodePct = "static__shared_memory_opcodes_pct";
inline constexpr std::string_view kBarrierOpcodePct = "static__barrier_opcodes_pct";

}  // namespace warpsmith::profile::metric

namespace warpsmith::profile {

// What is asked of Nsight Compute on an architecture ("sm_90a"): the same list everywhere but for
// counters that a part does not have. Around 15 replays of each kernel.
std::vector<std::string> CounterSet(std::string_view architecture);

// Nullopt where the metric is absent or not a finite number.
std::optional<double> Find(const KernelProfile& kernel, std::string_view name);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_METRICS_H_
