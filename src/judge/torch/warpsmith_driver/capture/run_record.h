// What one run of a driver told, as values and as JSON.
#ifndef WARPSMITH_JUDGE_TORCH_WARPSMITH_DRIVER_CAPTURE_RUN_RECORD_H_
#define WARPSMITH_JUDGE_TORCH_WARPSMITH_DRIVER_CAPTURE_RUN_RECORD_H_

#include "capture.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace warpsmith::capture {

// A tensor that an operator returned. Views of one storage are noted each.
struct Noted {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  at::ScalarType type = at::kFloat;
  at::Device device = at::kCPU;
  std::vector<int64_t> extents, strides;  // elements
};

// A tensor that the launch was given.
struct Given {
  std::string name;
  void* data = nullptr;
  Noted noted;
  bool is_output = false;
};

struct Argument {
  std::string name;
  std::string expression;       // where tensors is empty
  std::vector<size_t> tensors;  // one, or the entries of an array of pointers
  bool is_array = false;
};

struct Comparison {
  size_t tensor = 0;
  double relative = 0, absolute = 0;
};

// An array of numbers in the driver's memory, whose length the next argument tells.
struct PendingArray {
  std::string name, type;
  const void* values = nullptr;
  size_t element_bytes = 0;
  bool is_signed = false;
};

// An operator that has begun.
struct Observed {
  void* source = nullptr;  // of a conversion: what is converted
  bool is_comparison = false;
};

struct Run {
  std::vector<void*> targets;
  std::vector<int64_t> target_bytes;
  std::unordered_map<const void*, std::vector<Noted>> noted;
  std::unordered_map<const void*, void*> converted_from;  // since the launch: copy -> original
  std::vector<Given> given;
  std::vector<Argument> arguments;
  std::vector<Comparison> comparisons;
  std::optional<PendingArray> pending;
  std::vector<Observed> observed;  // one inside the other
  int launches = 0;
  bool launch_is_frozen = false;  // its result was compared: later launches are other ones
  bool in_comparison = false;     // allclose is made of isclose
  std::string error;              // the first
};

// The type as tasks name it, or null.
const char* TypeName(at::ScalarType type);
int64_t Elements(const Noted& tensor);
int64_t Bytes(const Noted& tensor);
// Every element has a place of its own and no place is left over, in whatever order of the axes.
bool IsDense(const Noted& tensor);

// {"error", "launches", "arguments": [{"name", "expression"} | {"name", "tensors", "array"}],
//  "tensors": [{"name", "dtype", "shape" (memory's order), "output", "host"}],
//  "comparisons": [{"tensor", "relative", "absolute"}]}
std::string JsonOf(const Run& run);

}  // namespace warpsmith::capture

#endif  // WARPSMITH_JUDGE_TORCH_WARPSMITH_DRIVER_CAPTURE_RUN_RECORD_H_
