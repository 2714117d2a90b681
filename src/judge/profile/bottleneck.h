// From numbers to a named bottleneck, by rules that are written down (docs/evaluate.md): the same
// profile always gives the same report, and every statement cites the numbers it rests on.
#ifndef WARPSMITH_JUDGE_PROFILE_BOTTLENECK_H_
#define WARPSMITH_JUDGE_PROFILE_BOTTLENECK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/verdict.h"

namespace warpsmith::profile {

enum class Bottleneck : uint8_t {
  kMemoryBandwidth,
  kL2Bandwidth,
  kL1Bandwidth,
  kComputeTensor,
  kComputeFma,
  kComputeOther,
  kInstructionIssue,
  kMemoryLatency,
  kExecutionLatency,
  kSharedLatency,
  kBankConflicts,
  kUncoalesced,
  kLocalMemory,
  kTensorIdle,
  kBarrier,
  kOccupancyRegisters,
  kOccupancyShared,
  kOccupancyBlocks,
  kTail,
  kSmallGrid,
  kLaunch,
};

struct BottleneckRow {
  Bottleneck bottleneck;
  std::string_view name;     // "memory-bandwidth"
  std::string_view meaning;  // one clause for a person
  std::string_view remedy;   // what usually helps
};
std::span<const BottleneckRow> BottleneckTable();  // a row each, in the enum's order
const BottleneckRow& Describe(Bottleneck bottleneck);

// What is known of the work itself, beside the profile. 0: unknown.
struct ProblemFacts {
  double flops = 0;           // of one execution of the whole plan
  double bytes = 0;           // that it must move: inputs once, outputs once
  bool tensor_types = false;  // the operands are of a type that tensor cores multiply
  double tensor_flops_per_s = 0, memory_bytes_per_s = 0;  // the part's peaks
  double roofline_us = 0;                                 // no kernel can be faster
  double measured_us = 0;  // the judge's own time of an execution, where there is one
};

struct Citation {
  std::string metric;
  double value = 0;
};

struct Statement {
  Bottleneck bottleneck = Bottleneck::kMemoryBandwidth;
  std::optional<size_t> kernel;  // its index in the profile; nullopt: about the whole plan
  double weight = 0;             // 0 to 1: how much of the kernel's time it stands for
  std::string says;
  std::vector<Citation> cites;
};

struct Ranked {
  Bottleneck bottleneck = Bottleneck::kMemoryBandwidth;
  double weight = 0;  // over all kernels, by their share of the time
};

struct KernelShare {
  std::string kernel;  // as the profile says: foreign text
  std::optional<double> time_us, cycles;
  double share = 0;  // of the profile's time; equal shares where times are missing
  std::optional<double> registers = {};     // of a thread
  std::optional<double> shared_bytes = {};  // of a block
  std::optional<double> spill_bytes = {};   // of a thread
};

struct BottleneckReport {
  std::string source;                        // Profile.source
  std::vector<KernelShare> kernels;          // in execution order
  std::vector<Ranked> ranking;               // heaviest first
  std::optional<Ranked> primary, secondary;  // nullopt: the numbers name none
  std::vector<Statement> evidence;           // the biggest kernel's first, heaviest first
  double profiled_us = 0;                    // all kernels together; 0: times are missing
  double roofline_us = 0, measured_us = 0;   // as in ProblemFacts; measured, else profiled
  std::vector<std::string> missing;          // counters that the rules use and no kernel has
};

// A pure function: no clock, no machine. A profile without kernels gives a report that names
// nothing.
BottleneckReport Diagnose(const Profile& profile, const ProblemFacts& facts);

// How much faster than measured the roofline bound is (>= 1); nullopt without a bound or a time.
std::optional<double> Headroom(const BottleneckReport& report);

// --- A bottleneck report for a person, for a program, and for a model.

// Lines for a terminal; every statement names its metrics and values. Names are shown safely.
std::string BottleneckText(const BottleneckReport& report);

// {"schema":"warpsmith.bottlenecks","version":1,...}; docs/evaluate.md. Names are as they are.
nlohmann::json ToJson(const BottleneckReport& report);
// The same with the profile's metrics beside each kernel.
nlohmann::json ToJson(const BottleneckReport& report, const Profile& profile);

// The block that a prompt takes in (model_block.txt): at most so many kernels and statements, names
// as quoted data that cannot leave the block.
std::string ModelBlock(const BottleneckReport& report, size_t most_kernels = 8,
                       size_t most_statements = 12);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_BOTTLENECK_H_
