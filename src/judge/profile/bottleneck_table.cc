#include <array>

#include "base/result.h"
#include "judge/profile/bottleneck.h"

namespace warpsmith::profile {
namespace {

using B = Bottleneck;

constexpr std::array<BottleneckRow, 21> kTable = {{
    {B::kMemoryBandwidth, "memory-bandwidth", "device memory is as busy as it can be",
     "move fewer bytes: fuse, reuse in registers or shared memory, narrower types"},
    {B::kL2Bandwidth, "l2-bandwidth", "the L2 cache is as busy as it can be",
     "larger tiles, another order of blocks, multicast or cluster-shared loads"},
    {B::kL1Bandwidth, "l1-bandwidth", "L1 and shared memory are as busy as they can be",
     "keep more in registers, wider accesses, operands read from shared memory by the tensor "
     "cores"},
    {B::kComputeTensor, "compute-tensor", "the tensor cores are as busy as they can be",
     "do less arithmetic, or use a narrower type where the task allows it"},
    {B::kComputeFma, "compute-fma", "the FMA pipe is as busy as it can be",
     "tensor cores where the precision allows it, packed half2, less recomputation"},
    {B::kComputeOther, "compute-other",
     "a special pipe (integer, FP64, transcendental) is as busy as it can be",
     "cheaper indexing, exp2 and fast intrinsics, less FP64"},
    {B::kInstructionIssue, "instruction-issue", "the schedulers issue in most cycles",
     "fewer instructions: vector accesses, unrolling, hoisted address arithmetic"},
    {B::kMemoryLatency, "memory-latency", "warps wait for global or local memory",
     "more loads in flight: asynchronous copies, deeper pipelines, unrolling, more warps"},
    {B::kExecutionLatency, "execution-latency", "warps wait for their own previous instructions",
     "more independent work in a warp, more warps, fewer branches"},
    {B::kSharedLatency, "shared-latency", "warps wait for shared memory or its queue",
     "fewer and wider shared accesses, prefetching into registers, shuffles"},
    {B::kBankConflicts, "shared-bank-conflicts", "shared memory accesses collide in banks",
     "swizzle or pad the layout"},
    {B::kUncoalesced, "uncoalesced-access", "global accesses use little of each sector",
     "let neighbouring threads touch neighbouring addresses, or stage through shared memory"},
    {B::kLocalMemory, "local-memory-spills", "registers spill to local memory",
     "fewer live values, smaller tiles a thread, launch bounds that allow more registers"},
    {B::kTensorIdle, "tensor-pipe-idle", "the work suits the tensor cores, but they idle",
     "mma or wgmma instructions, operands fed early enough"},
    {B::kBarrier, "barrier", "warps wait for each other",
     "fewer or narrower barriers, asynchronous barriers, better balanced warps"},
    {B::kOccupancyRegisters, "low-occupancy-registers", "registers keep the SM from holding more",
     "fewer registers a thread, or more independent work in each warp"},
    {B::kOccupancyShared, "low-occupancy-shared", "shared memory keeps the SM from holding more",
     "smaller or fewer stages, or more independent work in each warp"},
    {B::kOccupancyBlocks, "low-occupancy-blocks",
     "the block's shape keeps the SM from holding more", "other block sizes"},
    {B::kTail, "tail", "the last wave of blocks leaves SMs idle",
     "a grid that divides evenly, smaller tiles at the end, persistent blocks, split-K or "
     "stream-K"},
    {B::kSmallGrid, "small-grid", "there are fewer blocks than the device could run",
     "smaller tiles, split-K, or more work in one launch"},
    {B::kLaunch, "launch-bound", "kernels are so short that starting them dominates",
     "fuse kernels, one persistent kernel, programmatic dependent launch"},
}};

}  // namespace

std::span<const BottleneckRow> BottleneckTable() { return kTable; }

const BottleneckRow& Describe(Bottleneck bottleneck) {
  const auto& row = kTable.at(static_cast<size_t>(bottleneck));
  CHECK(row.bottleneck == bottleneck);
  return row;
}

}  // namespace warpsmith::profile
