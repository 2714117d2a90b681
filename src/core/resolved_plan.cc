#include "core/resolved_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"

namespace warpsmith {
namespace {

constexpr int64_t kMaxDim = int64_t{1} << 32;
constexpr int64_t kMaxStrideBytes = (int64_t{1} << 40) - 1;
constexpr int64_t kMaxBox = 256, kMaxElementStride = 8;

template <typename T>
Status ResolveList(const char* field, const std::vector<Expression>& expressions,
                   const Sizes& names, int64_t highest, std::vector<T>& values) {
  for (size_t i = 0; i < expressions.size(); ++i) {
    const std::string place = std::string(field) + "[" + std::to_string(i) + "]: ";
    const Result<int64_t> value = expressions[i].Evaluate(names);
    if (!value.ok()) return BadInput(place + value.error().message);
    if (*value < 1 || *value > highest) {
      return BadInput(place + "\"" + expressions[i].text() + "\" is " + std::to_string(*value) +
                      ", must be from 1 to " + std::to_string(highest));
    }
    values.push_back(static_cast<T>(*value));
  }
  return {};
}

Status CheckRanks(const TensorMapArgument& map) {
  const size_t rank = map.dims.size();
  if (rank < 1 || rank > 5) return BadInput("dims: must be 1 to 5 dimensions");
  if (map.strides_bytes.size() != rank - 1 || map.box.size() != rank ||
      map.element_strides.size() != rank) {
    return BadInput("strides_bytes must be one fewer than dims; box and element_strides as many");
  }
  if (map.interleave_bytes != 0 && rank < 3)
    return BadInput("interleave needs at least 3 dimensions");
  return {};
}

Status CheckBox(const TensorMapArgument& map, const ResolvedTensorMap& resolved) {
  const int64_t inner_bytes = resolved.box[0] * ElementBytes(map.dtype);
  if (map.interleave_bytes == 0 && inner_bytes % 16 != 0) {
    return BadInput("box[0]: " + std::to_string(inner_bytes) + " bytes, must be a multiple of 16");
  }
  const int64_t swizzle_bytes = SwizzleBytes(map.swizzle);
  if (swizzle_bytes != 0 && map.interleave_bytes == 0 && inner_bytes > swizzle_bytes) {
    return BadInput("box[0]: " + std::to_string(inner_bytes) + " bytes, more than the swizzle's " +
                    std::to_string(swizzle_bytes));
  }
  if (map.interleave_bytes == 32 && map.swizzle != Swizzle::k32B) {
    return BadInput("interleave_bytes 32 needs swizzle 32B");
  }
  return {};
}

Status CheckStrides(const TensorMapArgument& map, const ResolvedTensorMap& resolved) {
  const uint64_t multiple = map.interleave_bytes == 32 ? 32 : 16;
  for (size_t i = 0; i < resolved.strides_bytes.size(); ++i) {
    if (resolved.strides_bytes[i] % multiple == 0) continue;
    return BadInput("strides_bytes[" + std::to_string(i) +
                    "]: " + std::to_string(resolved.strides_bytes[i]) + ", must be a multiple of " +
                    std::to_string(multiple));
  }
  return {};
}

// The last element that the map reaches must lie in the memory it is laid over.
Status CheckExtent(const ResolvedTensorMap& map, int64_t memory_bytes) {
  const auto element_bytes = static_cast<unsigned __int128>(ElementBytes(map.dtype));
  unsigned __int128 end = map.dims[0] * element_bytes;
  for (size_t i = 1; i < map.dims.size(); ++i) {
    end += static_cast<unsigned __int128>(map.dims[i] - 1) * map.strides_bytes[i - 1];
  }
  if (end <= static_cast<unsigned __int128>(memory_bytes)) return {};
  return BadInput("reaches past the " + std::to_string(memory_bytes) + " bytes of " + map.tensor);
}

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxClusterCtas = 16, kPortableClusterCtas = 8;
constexpr int64_t kMaxBytes = int64_t{1} << 40;
constexpr int64_t kMaxSharedBytes = int64_t{1} << 20;  // the device's own limit is the driver's
constexpr std::array<int64_t, 3> kMaxGrid = {0x7fffffff, 65535, 65535};
constexpr std::array<int64_t, 3> kMaxBlock = {1024, 1024, 64};
constexpr std::string_view kSmCount = "sm_count", kMaxActiveClusters = "max_active_clusters";

// What a name in the plan stands for.
struct Memory {
  int64_t bytes = 0;
  bool writable = false;
  bool is_workspace = false;
};

// Evaluates the map's fields and holds them to what cuTensorMapEncodeTiled demands (CUDA Driver
// API, "Tensor Map Object Management"), and to the `memory_bytes` that its tensor or workspace has.
// The address's alignment is checked where there is an address.
Result<ResolvedTensorMap> ResolveTensorMap(const TensorMapArgument& map, const Sizes& names,
                                           int64_t memory_bytes) {
  TRY(CheckRanks(map));
  ResolvedTensorMap resolved;
  resolved.tensor = map.tensor;
  resolved.dtype = map.dtype;
  resolved.swizzle = map.swizzle;
  resolved.interleave_bytes = map.interleave_bytes;
  resolved.l2_promotion_bytes = map.l2_promotion_bytes;
  resolved.fill_nan = map.fill_nan;
  TRY(ResolveList("dims", map.dims, names, kMaxDim, resolved.dims));
  TRY(ResolveList("strides_bytes", map.strides_bytes, names, kMaxStrideBytes,
                  resolved.strides_bytes));
  TRY(ResolveList("box", map.box, names, kMaxBox, resolved.box));
  TRY(ResolveList("element_strides", map.element_strides, names, kMaxElementStride,
                  resolved.element_strides));
  TRY(CheckBox(map, resolved));
  TRY(CheckStrides(map, resolved));
  TRY(CheckExtent(resolved, memory_bytes));
  return resolved;
}

class Resolver {
 public:
  Resolver(const LaunchPlan& plan, const Task& task, const Sizes& sizes, int sm_count,
           const ClusterOccupancy& occupancy)
      : plan_(plan), task_(task), sizes_(sizes), occupancy_(occupancy) {
    sizes_[std::string(kSmCount)] = sm_count;
  }

  Result<ResolvedPlan> Run() {
    TRY(CheckValid());
    for (const TensorSpec& tensor : task_.tensors) {
      const int64_t bytes = TRY(TensorBytes(tensor, sizes_));
      memory_[tensor.name] = {bytes, tensor.role == Role::kOutput, false};
    }
    for (const Workspace& workspace : plan_.workspaces) TRY(AddWorkspace(workspace));
    if (plan_.operations.empty()) return Bad("operations", "is empty; at least one is needed");
    for (size_t i = 0; i < plan_.operations.size(); ++i) {
      const std::string place = "operations[" + std::to_string(i) + "]";
      resolved_.operations.push_back(TRY(
          std::visit([&](const auto& kind) { return Resolve(place, kind); }, plan_.operations[i])));
    }
    return std::move(resolved_);
  }

 private:
  Status CheckValid() {
    const int64_t valid = TRY(Evaluate("valid_when", plan_.valid_when, sizes_));
    if (valid != 0) return {};
    std::string found;
    for (const auto& [name, value] : sizes_) found += " " + name + "=" + std::to_string(value);
    return Bad("valid_when", "\"" + plan_.valid_when.text() + "\" does not hold for" + found);
  }

  Status AddWorkspace(const Workspace& workspace) {
    const std::string place = "workspace " + workspace.name;
    const int64_t bytes = TRY(InRange(place, workspace.bytes, 1, kMaxBytes));
    if (!memory_.emplace(workspace.name, Memory{bytes, true, true}).second) {
      return Bad(place, "has the name of another workspace or tensor");
    }
    resolved_.workspaces.push_back({workspace.name, bytes, workspace.zero});
    return {};
  }

  // --- Launches: first what occupancy depends on, then what may depend on occupancy.

  Result<ResolvedOperation> Resolve(const std::string& place, const LaunchOperation& launch) {
    ResolvedLaunch resolved;
    resolved.kernel = launch.kernel;
    if (launch.kernel.empty()) return Bad(place + ".kernel", "is empty");
    resolved.cooperative = launch.cooperative;
    resolved.programmatic = launch.programmatic;
    resolved.nonportable_cluster = launch.nonportable_cluster;
    resolved.shared_bytes = static_cast<uint32_t>(
        TRY(InRange(place + ".shared_bytes", launch.shared_bytes, 0, kMaxSharedBytes)));
    TRY(ResolveBlock(place, launch, resolved));
    TRY(ResolveCluster(place, launch, resolved));
    Sizes names = sizes_;
    if (Mentions(launch, kMaxActiveClusters)) {
      if (!occupancy_) return Bad(place, "uses max_active_clusters, but no device is there to ask");
      names[std::string(kMaxActiveClusters)] = TRY(occupancy_(resolved));
    }
    TRY(ResolveGrid(place, launch, names, resolved));
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const std::string where = place + ".arguments[" + std::to_string(i) + "]";
      resolved.arguments.push_back(
          TRY(std::visit([&](const auto& kind) { return ResolveArgument(where, kind, names); },
                         launch.arguments[i])));
    }
    return ResolvedOperation(std::move(resolved));
  }

  static bool Mentions(const LaunchOperation& launch, std::string_view name) {
    const auto mentions = [&](const Expression& expression) {
      return expression.text().find(name) != std::string::npos;
    };
    if (std::ranges::any_of(launch.grid, mentions)) return true;
    return std::ranges::any_of(launch.arguments, [&](const Argument& argument) {
      const auto* integer = std::get_if<IntArgument>(&argument);
      const auto* map = std::get_if<TensorMapArgument>(&argument);
      return (integer != nullptr && mentions(integer->value)) ||
             (map != nullptr && (std::ranges::any_of(map->dims, mentions) ||
                                 std::ranges::any_of(map->box, mentions) ||
                                 std::ranges::any_of(map->strides_bytes, mentions)));
    });
  }

  Status ResolveBlock(const std::string& place, const LaunchOperation& launch,
                      ResolvedLaunch& resolved) {
    int64_t threads = 1;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t extent =
          TRY(InRange(Part(place, "block", i), launch.block[i], 1, kMaxBlock[i]));
      resolved.block[i] = static_cast<uint32_t>(extent);
      threads *= extent;
    }
    if (threads <= kMaxThreads) return {};
    return Bad(place + ".block", "has " + std::to_string(threads) + " threads; at most 1024");
  }

  Status ResolveCluster(const std::string& place, const LaunchOperation& launch,
                        ResolvedLaunch& resolved) {
    int64_t ctas = 1;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t extent =
          TRY(InRange(Part(place, "cluster", i), launch.cluster[i], 1, kMaxClusterCtas));
      resolved.cluster[i] = static_cast<uint32_t>(extent);
      ctas *= extent;
    }
    if (ctas > kMaxClusterCtas) {
      return Bad(place + ".cluster", "has " + std::to_string(ctas) + " CTAs; at most 16");
    }
    if (ctas > kPortableClusterCtas && !launch.nonportable_cluster) {
      return Bad(place + ".cluster", "has " + std::to_string(ctas) +
                                         " CTAs; more than 8 need nonportable_cluster = true");
    }
    return {};
  }

  Status ResolveGrid(const std::string& place, const LaunchOperation& launch, const Sizes& names,
                     ResolvedLaunch& resolved) {
    for (size_t i = 0; i < 3; ++i) {
      const std::string where = Part(place, "grid", i);
      const int64_t extent = TRY(InRange(where, launch.grid[i], 1, kMaxGrid[i], names));
      resolved.grid[i] = static_cast<uint32_t>(extent);
      if (extent % resolved.cluster[i] != 0) {
        return Bad(where, "is " + std::to_string(extent) + ", not a multiple of the cluster's " +
                              std::to_string(resolved.cluster[i]));
      }
    }
    return {};
  }

  // --- Arguments.

  Result<ResolvedArgument> ResolveArgument(const std::string& place, const TensorArgument& argument,
                                           const Sizes&) {
    const Memory memory = TRY(Find(place, argument.tensor));
    if (memory.is_workspace) return Bad(place, "names a workspace as a tensor");
    return ResolvedArgument(argument);
  }

  Result<ResolvedArgument> ResolveArgument(const std::string& place,
                                           const WorkspaceArgument& argument, const Sizes&) {
    const Memory memory = TRY(Find(place, argument.workspace));
    if (!memory.is_workspace) return Bad(place, "names a tensor as a workspace");
    return ResolvedArgument(argument);
  }

  Result<ResolvedArgument> ResolveArgument(const std::string& place, const IntArgument& argument,
                                           const Sizes& names) {
    if (argument.bytes != 4 && argument.bytes != 8) return Bad(place, "is not of 4 or 8 bytes");
    const int64_t value = TRY(Evaluate(place, argument.value, names));
    if (argument.bytes == 4 && value != static_cast<int32_t>(value)) {
      return Bad(place, "\"" + argument.value.text() + "\" is " + std::to_string(value) +
                            ", more than 32 bits hold");
    }
    ResolvedScalar scalar;
    scalar.bytes = argument.bytes;
    std::memcpy(scalar.bits.data(), &value, static_cast<size_t>(argument.bytes));
    return ResolvedArgument(scalar);
  }

  Result<ResolvedArgument> ResolveArgument(const std::string& place, const FloatArgument& argument,
                                           const Sizes&) {
    ResolvedScalar scalar;
    scalar.bytes = argument.bytes;
    if (argument.bytes == 8) {
      std::memcpy(scalar.bits.data(), &argument.value, sizeof(double));
    } else if (argument.bytes == 4) {
      const auto narrow = static_cast<float>(argument.value);
      if (std::isinf(narrow) && std::isfinite(argument.value)) {
        return Bad(place, "is more than a 32-bit float holds");
      }
      std::memcpy(scalar.bits.data(), &narrow, sizeof(float));
    } else {
      return Bad(place, "is not of 4 or 8 bytes");
    }
    return ResolvedArgument(scalar);
  }

  Result<ResolvedArgument> ResolveArgument(const std::string& place, const TableArgument& argument,
                                           const Sizes&) {
    if (argument.values.empty()) return Bad(place, "is an empty table");
    return ResolvedArgument(argument);
  }

  Result<ResolvedArgument> ResolveArgument(const std::string& place,
                                           const TensorMapArgument& argument, const Sizes& names) {
    const Memory memory = TRY(Find(place, argument.tensor));
    Result<ResolvedTensorMap> map = ResolveTensorMap(argument, names, memory.bytes);
    if (!map.ok()) return Bad(place, map.error().message);
    return ResolvedArgument(std::move(map).value());
  }

  // --- Memory operations.

  Result<ResolvedOperation> Resolve(const std::string& place, const MemsetOperation& memset) {
    const Memory target = TRY(FindTarget(place, memset.target));
    const int64_t bytes = TRY(InRange(place + ".bytes", memset.bytes, 1, target.bytes));
    return ResolvedOperation(ResolvedMemset{memset.target, memset.value, bytes});
  }

  Result<ResolvedOperation> Resolve(const std::string& place, const CopyOperation& copy) {
    const Memory target = TRY(FindTarget(place, copy.target));
    const Memory source = TRY(Find(place + ".source", copy.source));
    if (copy.target == copy.source) return Bad(place, "copies " + copy.source + " onto itself");
    const int64_t most = std::min(target.bytes, source.bytes);
    const int64_t bytes = TRY(InRange(place + ".bytes", copy.bytes, 1, most));
    return ResolvedOperation(ResolvedCopy{copy.target, copy.source, bytes});
  }

  Result<ResolvedOperation> Resolve(const std::string& place, const PadOperation& pad) {
    const Memory target = TRY(FindTarget(place, pad.target));
    const Memory source = TRY(Find(place + ".source", pad.source));
    if (pad.target == pad.source) return Bad(place, "pads " + pad.source + " onto itself");
    ResolvedPad resolved{pad.target, pad.source};
    resolved.rows = TRY(InRange(place + ".rows", pad.rows, 1, kMaxBytes));
    resolved.width_bytes = TRY(InRange(place + ".width_bytes", pad.width_bytes, 1, kMaxBytes));
    resolved.source_pitch_bytes = TRY(InRange(place + ".source_pitch_bytes", pad.source_pitch_bytes,
                                              resolved.width_bytes, kMaxBytes));
    resolved.target_rows =
        TRY(InRange(place + ".target_rows", pad.target_rows, resolved.rows, kMaxBytes));
    resolved.target_pitch_bytes = TRY(InRange(place + ".target_pitch_bytes", pad.target_pitch_bytes,
                                              resolved.width_bytes, kMaxBytes));
    const __int128 read = static_cast<__int128>(resolved.rows - 1) * resolved.source_pitch_bytes +
                          resolved.width_bytes;
    const __int128 written =
        static_cast<__int128>(resolved.target_rows) * resolved.target_pitch_bytes;
    if (read > source.bytes) return Bad(place, "reads past the end of " + pad.source);
    if (written > target.bytes) return Bad(place, "writes past the end of " + pad.target);
    return ResolvedOperation(resolved);
  }

  // --- Names and numbers.

  Result<Memory> Find(const std::string& place, const std::string& name) const {
    const auto found = memory_.find(name);
    if (found != memory_.end()) return found->second;
    const std::string known = Joined(memory_, ", ", &decltype(memory_)::value_type::first);
    return Bad(place, "names \"" + name + "\", which is neither a tensor nor a workspace (" +
                          (known.empty() ? "there is none" : known) + ")");
  }

  Result<Memory> FindTarget(const std::string& place, const std::string& name) const {
    const Memory memory = TRY(Find(place + ".target", name));
    if (!memory.writable) return Bad(place + ".target", "is the input " + name);
    return memory;
  }

  static Result<int64_t> Evaluate(const std::string& place, const Expression& expression,
                                  const Sizes& names) {
    Result<int64_t> value = expression.Evaluate(names);
    if (!value.ok()) return Bad(place, value.error().message);
    return value;
  }

  Result<int64_t> InRange(const std::string& place, const Expression& expression, int64_t lowest,
                          int64_t highest) const {
    return InRange(place, expression, lowest, highest, sizes_);
  }
  static Result<int64_t> InRange(const std::string& place, const Expression& expression,
                                 int64_t lowest, int64_t highest, const Sizes& names) {
    const int64_t value = TRY(Evaluate(place, expression, names));
    if (value >= lowest && value <= highest) return value;
    return Bad(place, "\"" + expression.text() + "\" is " + std::to_string(value) +
                          ", must be from " + std::to_string(lowest) + " to " +
                          std::to_string(highest));
  }

  static std::string Part(const std::string& place, const char* field, size_t index) {
    return place + "." + field + "[" + std::to_string(index) + "]";
  }

  static Error Bad(const std::string& place, const std::string& what) {
    return Error{ErrorCode::kBadInput, "launch plan: " + place + ": " + what, ""};
  }

  const LaunchPlan& plan_;
  const Task& task_;
  Sizes sizes_;
  const ClusterOccupancy& occupancy_;
  std::map<std::string, Memory> memory_;
  ResolvedPlan resolved_;
};

}  // namespace

int SwizzleBytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone:
      return 0;
    case Swizzle::k32B:
      return 32;
    case Swizzle::k64B:
      return 64;
    case Swizzle::k128B:
      return 128;
  }
  std::abort();
}

Result<ResolvedPlan> Resolve(const LaunchPlan& plan, const Task& task, const Sizes& sizes,
                             int sm_count, const ClusterOccupancy& occupancy) {
  return Resolver(plan, task, sizes, sm_count, occupancy).Run();
}

}  // namespace warpsmith
