// The counters that a profile holds, by the names Nsight Compute knows them under, so that every
// number can be looked up in its manual (ncu --query-metrics) and taken again by hand.
#ifndef WARPSMITH_JUDGE_PROFILE_METRICS_H_
#define WARPSMITH_JUDGE_PROFILE_METRICS_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/verdict.h"

namespace warpsmith::profile::metric {

// Time and size.
inline constexpr std::string_view kTimeNs = "gpu__time_duration.sum";
inline constexpr std::string_view kCycles = "gpc__cycles_elapsed.max";
inline constexpr std::string_view kInstructions = "smsp__inst_executed.sum";

// Throughputs, in percent of what the part can sustain.
inline constexpr std::string_view kSmPct = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kDramPct =
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kL2Pct = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kL1Pct = "l1tex__throughput.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view kDramReadBytes = "dram__bytes_read.sum";
inline constexpr std::string_view kDramWriteBytes = "dram__bytes_write.sum";
inline constexpr std::string_view kL2HitPct = "lts__t_sector_hit_rate.pct";
inline constexpr std::string_view kL1HitPct = "l1tex__t_sector_hit_rate.pct";

// Pipes, in percent of their peak while the SM is active.
inline constexpr std::string_view kTensorPct =
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view kFmaPct =
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view kAluPct =
    "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view kFp64Pct =
    "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view kXuPct =
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view kLsuPct =
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active";

// Schedulers and occupancy.
inline constexpr std::string_view kIssuePct = "smsp__issue_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view kEligibleWarps = "smsp__warps_eligible.avg.per_cycle_active";
inline constexpr std::string_view kOccupancyPct =
    "sm__warps_active.avg.pct_of_peak_sustained_active";
inline constexpr std::string_view kTheoreticalOccupancyPct =
    "sm__maximum_warps_per_active_cycle_pct";
inline constexpr std::string_view kLimitRegisters = "launch__occupancy_limit_registers";
inline constexpr std::string_view kLimitShared = "launch__occupancy_limit_shared_mem";
inline constexpr std::string_view kLimitBlocks = "launch__occupancy_limit_blocks";
inline constexpr std::string_view kLimitWarps = "launch__occupancy_limit_warps";
inline constexpr std::string_view kRegisters = "launch__registers_per_thread";
inline constexpr std::string_view kSharedBytes = "launch__shared_mem_per_block";
inline constexpr std::string_view kBlockThreads = "launch__block_size";
inline constexpr std::string_view kGridBlocks = "launch__grid_size";
inline constexpr std::string_view kWaves = "launch__waves_per_multiprocessor";

// Why warps wait: warps in that state for each instruction issued. Their sum is kWarpLatency.
inline constexpr std::string_view kWarpLatency = "smsp__average_warp_latency_per_inst_issued.ratio";
inline constexpr std::string_view kStallLongScoreboard =
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio";
inline constexpr std::string_view kStallShortScoreboard =
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio";
inline constexpr std::string_view kStallBarrier =
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio";
inline constexpr std::string_view kStallMembar =
    "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio";
inline constexpr std::string_view kStallMathPipe =
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio";
inline constexpr std::string_view kStallWait =
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio";
inline constexpr std::string_view kStallMio =
    "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio";
inline constexpr std::string_view kStallLg =
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio";
inline constexpr std::string_view kStallNotSelected =
    "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio";
inline constexpr std::string_view kStallNoInstruction =
    "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio";
inline constexpr std::string_view kStallDispatch =
    "smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio";
inline constexpr std::string_view kStallBranch =
    "smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio";
inline constexpr std::string_view kStallDrain =
    "smsp__average_warps_issue_stalled_drain_per_issue_active.ratio";
inline constexpr std::string_view kStallSleeping =
    "smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio";
inline constexpr std::string_view kStallGmma =  // sm_90 only: wgmma's arrival
    "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio";

// Shared, global and local memory.
inline constexpr std::string_view kSharedWavefronts =
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
inline constexpr std::string_view kBankConflicts =
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
inline constexpr std::string_view kLoadSectorsPerRequest =
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
inline constexpr std::string_view kStoreSectorsPerRequest =
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio";
inline constexpr std::string_view kLoadSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
inline constexpr std::string_view kStoreSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
inline constexpr std::string_view
    kLoadSectorUsePct =  // of a 32-byte sector, what threads asked for
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct";
inline constexpr std::string_view kStoreSectorUsePct =
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct";
inline constexpr std::string_view kLocalLoadSectors =
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum";
inline constexpr std::string_view kLocalStoreSectors =
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum";

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

// The number in "sm_90a" (90), 0 for anything else.
int ArchitectureNumber(std::string_view architecture);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_METRICS_H_
