#include "capture.h"
#include "run_record.h"

#include <ATen/record_function.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <set>
#include <string_view>

// torch declares data_ptr<T>() for any T and defines it for element types only. A driver that asks
// for void means the address.
template <>
void* at::TensorBase::data_ptr<void>() const {
  return mutable_data_ptr();
}

namespace warpsmith::capture {
namespace {

constexpr const char* kNoLength = "an array whose length is not told after it";

Run* g_run = nullptr;  // set while a driver runs; drivers run one at a time

void Refuse(const std::string& reason) {
  if (g_run->error.empty()) g_run->error = reason;
}

// torch's errors go on with a back trace.
std::string FirstLine(const std::exception& error) {
  const std::string_view text = error.what();
  return std::string(text.substr(0, text.find('\n')));
}

// --- Which tensor a pointer belongs to.

void Note(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage() || tensor.numel() == 0) return;
  if (tensor.layout() != at::kStrided || tensor.device().is_meta()) return;
  std::vector<Noted>& there = g_run->noted[tensor.data_ptr()];
  const auto gone = [](const Noted& noted) { return noted.storage.expired(); };
  there.erase(std::remove_if(there.begin(), there.end(), gone), there.end());
  if (there.empty()) g_run->converted_from.erase(tensor.data_ptr());  // it was of another tensor
  there.push_back({tensor.storage().getWeakStorageImpl(), tensor.scalar_type(), tensor.device(),
                   tensor.sizes().vec(), tensor.strides().vec()});
}

void NoteAll(const c10::IValue& value) {
  if (value.isTensor()) Note(value.toTensor());
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) Note(tensor);
  }
}

// The first tensor that was made there and still has its memory: views came later.
const Noted* Find(const void* data) {
  const auto found = g_run->noted.find(data);
  if (found == g_run->noted.end()) return nullptr;
  const Noted* any = nullptr;
  for (const Noted& noted : found->second) {
    if (noted.storage.expired()) continue;
    if (IsDense(noted)) return &noted;
    if (any == nullptr) any = &noted;
  }
  return any;
}

std::optional<size_t> GivenAt(const void* data) {
  for (size_t i = 0; i < g_run->given.size(); ++i) {
    if (g_run->given[i].data == data) return i;
  }
  return std::nullopt;
}

// --- Contents to where the judge wants them.

// The target as a tensor of the same extents and strides; nothing where there is no target.
std::optional<at::Tensor> TargetOf(size_t index) {
  if (g_run->targets.empty()) return std::nullopt;
  const Given& given = g_run->given[index];
  if (index >= g_run->targets.size() || g_run->target_bytes[index] != Bytes(given.noted)) {
    Refuse("the driver draws its sizes: " + given.name + " has other bytes than at the import");
    return std::nullopt;
  }
  return at::for_blob(g_run->targets[index], given.noted.extents)
      .strides(given.noted.strides)
      .options(at::TensorOptions().dtype(given.noted.type).device(given.noted.device))
      .target_device(given.noted.device)
      .make_tensor();
}

void CopyGiven(size_t index) {
  std::optional<at::Tensor> target = TargetOf(index);
  if (!target) return;
  const Given& given = g_run->given[index];
  target->copy_(at::for_blob(given.data, given.noted.extents)
                    .strides(given.noted.strides)
                    .options(target->options())
                    .target_device(given.noted.device)
                    .make_tensor());
}

// The launch writes nothing, and some drivers fill its output with NaN and compare nothing where
// one is left.
void ClearUnwritten(const Given& given) {
  if (!at::isFloatingType(given.noted.type)) return;
  const at::Tensor flat =
      at::for_blob(given.data, {Elements(given.noted)})
          .options(at::TensorOptions().dtype(given.noted.type).device(given.noted.device))
          .target_device(given.noted.device)
          .make_tensor();
  if (!flat[0].isnan().item<bool>()) return;  // cheap, and so nearly always
  if (flat.isnan().all().item<bool>()) flat.zero_();
}

void CopyExpected(size_t index, const at::Tensor& expected) {
  std::optional<at::Tensor> target = TargetOf(index);
  if (!target) return;
  // A result that was compared in another shape has the same elements in the same order.
  target->copy_(expected.sizes() == target->sizes() ? expected : expected.reshape(target->sizes()));
}

// --- The comparison.

// Follows copies back to a tensor of the launch. `hops`: how many there were.
std::optional<size_t> Trace(const at::Tensor& tensor, int& hops) {
  const void* data = tensor.data_ptr();
  for (hops = 0; hops < 8; ++hops) {
    if (const auto given = GivenAt(data)) return given;
    const auto from = g_run->converted_from.find(data);
    if (from == g_run->converted_from.end()) return std::nullopt;
    data = from->second;
  }
  return std::nullopt;
}

void Compare(const at::Tensor& first, const at::Tensor& second, double relative, double absolute) {
  int first_hops = 0, second_hops = 0;
  const std::optional<size_t> from_first = Trace(first, first_hops);
  const std::optional<size_t> from_second = Trace(second, second_hops);
  if (!from_first && !from_second) return;  // something else is compared
  if (from_first && from_second && first_hops == second_hops) {
    return Refuse("its comparison has tensors of the launch on both sides");
  }
  const bool takes_first = from_first && (!from_second || first_hops < second_hops);
  const size_t index = takes_first ? *from_first : *from_second;
  const at::Tensor& expected = takes_first ? second : first;
  Given& given = g_run->given[index];
  if (expected.numel() != Elements(given.noted)) {
    return Refuse("it compares " + given.name + " with a tensor of another size");
  }
  given.is_output = true;
  g_run->launch_is_frozen = true;
  g_run->comparisons.push_back({index, relative, absolute});
  CopyExpected(index, expected);
}

bool IsConversion(std::string_view name) {
  static const std::set<std::string_view> kNames = {
      "aten::_to_copy",  "aten::to",      "aten::clone",   "aten::contiguous",
      "aten::reshape",   "aten::cpu",     "aten::squeeze", "aten::view",
      "aten::unsqueeze", "aten::flatten", "aten::detach",  "aten::type_as"};
  return kNames.count(name) > 0;
}

double Tolerance(const c10::ArrayRef<const c10::IValue>& inputs, size_t index, double otherwise) {
  return index < inputs.size() && inputs[index].isDouble() ? inputs[index].toDouble() : otherwise;
}

// What an operator that begins is to us. Operators call others: OnEnd takes the last that began.
Observed ObservedOf(const at::RecordFunction& function) {
  Observed observed;
  if (g_run->in_comparison || g_run->launches == 0) return observed;
  const std::string_view name = function.name();
  const auto inputs = function.inputs();
  const auto is_tensor = [&](size_t i) {
    return i < inputs.size() && inputs[i].isTensor() && inputs[i].toTensor().defined() &&
           inputs[i].toTensor().has_storage();
  };
  const bool exactly = name == "aten::equal";
  if ((exactly || name == "aten::allclose" || name == "aten::isclose") && is_tensor(0) &&
      is_tensor(1)) {
    observed.is_comparison = g_run->in_comparison = true;
    Compare(inputs[0].toTensor(), inputs[1].toTensor(), exactly ? 0 : Tolerance(inputs, 2, 1e-5),
            exactly ? 0 : Tolerance(inputs, 3, 1e-8));
  } else if (IsConversion(name) && is_tensor(0)) {
    observed.source = inputs[0].toTensor().data_ptr();
  }
  return observed;
}

void NoteResult(const Observed& observed, const c10::IValue& output) {
  NoteAll(output);
  if (observed.source == nullptr || !output.isTensor()) return;
  const at::Tensor& tensor = output.toTensor();
  if (!tensor.defined() || !tensor.has_storage() || tensor.device().is_meta()) return;
  void* data = tensor.data_ptr();
  if (data != observed.source) g_run->converted_from[data] = observed.source;
}

// The launch writes nothing, and some drivers look for NaN in its result before they compare it.
void ClearUninitialised(const at::RecordFunction& function) {
  static const std::set<std::string_view> kNames = {"aten::empty", "aten::empty_like",
                                                    "aten::new_empty", "aten::empty_strided"};
  const bool is_the_drivers = g_run->observed.empty() && g_run->launches == 0;
  if (!is_the_drivers || kNames.count(function.name()) == 0) return;
  for (const c10::IValue& output : function.outputs()) {
    if (output.isTensor() && output.toTensor().defined()) output.toTensor().zero_();
  }
}

// torch drops what an observer throws, so it is noted here.
std::unique_ptr<at::ObserverContext> OnStart(const at::RecordFunction& function) {
  const at::DisableRecordFunctionGuard quiet;
  g_run->observed.emplace_back();
  try {
    g_run->observed.back() = ObservedOf(function);
  } catch (const std::exception& error) {
    Refuse(std::string("observing ") + function.name() + " failed: " + FirstLine(error));
  }
  return nullptr;
}

void OnEnd(const at::RecordFunction& function, at::ObserverContext*) {
  const at::DisableRecordFunctionGuard quiet;
  if (g_run->observed.empty()) return;
  const Observed observed = g_run->observed.back();
  g_run->observed.pop_back();
  if (observed.is_comparison) g_run->in_comparison = false;
  try {
    for (const c10::IValue& output : function.outputs()) NoteResult(observed, output);
    ClearUninitialised(function);
  } catch (const std::exception& error) {
    Refuse(std::string("observing ") + function.name() + " failed: " + FirstLine(error));
  }
}

// Only sees operators of the thread that runs the driver.
class Observation {
 public:
  Observation()
      : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(OnStart, OnEnd)
                                               .needsInputs(true)
                                               .needsOutputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {}
  ~Observation() { at::removeCallback(handle_); }

 private:
  at::CallbackHandle handle_;
};

// What the driver prints is not ours to show, however much it is.
class Silence {
 public:
  Silence() : out_(std::cout.rdbuf(nullptr)), error_(std::cerr.rdbuf(nullptr)) {}
  ~Silence() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(error_);
  }

 private:
  std::streambuf *out_, *error_;
};

// Memory of ours that may end anywhere: read without a fault.
bool ReadSafely(const void* from, void* to, size_t bytes) {
  const iovec local = {to, bytes};
  const iovec remote = {const_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

std::optional<size_t> Give(const char* name, const void* data) {
  if (const auto known = GivenAt(data)) return known;
  const Noted* noted = Find(data);
  if (noted == nullptr) return std::nullopt;
  if (!IsDense(*noted)) Refuse(std::string(name) + " points into a tensor that is not dense");
  if (TypeName(noted->type) == nullptr) {
    Refuse(std::string(name) + " has a type that no task can name: " + at::toString(noted->type));
    return std::nullopt;
  }
  g_run->given.push_back({name, const_cast<void*>(data), *noted, false});
  return g_run->given.size() - 1;
}

void RunDriver(uint64_t seed) {
  const torch::NoGradGuard no_gradients;
  const Observation observation;
  const Silence silence;
  at::manual_seed(seed);
  std::srand(static_cast<unsigned>(seed));
  DriverMain();
}

void CheckComplete(const Run& run) {
  if (run.launches == 0) return Refuse("its main() never calls launch_gpu_implementation");
  if (run.comparisons.empty()) {
    return Refuse(
        "no torch::allclose compares a tensor that launch_gpu_implementation was given: "
        "what it must compute is not told");
  }
  bool has_input = false;
  for (const Given& given : run.given) has_input = has_input || !given.is_output;
  if (!has_input) Refuse("it is computed in place: output and input are one tensor");
}

}  // namespace

Call::Call() {
  ++g_run->launches;
  if (g_run->launch_is_frozen) return;
  g_run->given.clear();
  g_run->arguments.clear();
  g_run->converted_from.clear();
  g_run->pending.reset();
}

Call::~Call() {
  if (g_run->pending) Refuse(g_run->pending->name.c_str(), kNoLength);
  if (g_run->launch_is_frozen || !g_run->error.empty()) return;
  const at::DisableRecordFunctionGuard quiet;
  try {
    for (size_t i = 0; i < g_run->given.size(); ++i) CopyGiven(i);
    for (const Given& given : g_run->given) ClearUnwritten(given);
  } catch (const std::exception& error) {
    capture::Refuse(std::string("copying its tensors failed: ") + FirstLine(error));
  }
}

void Call::Pointer(const char* name, const void* value) {
  if (g_run->launch_is_frozen) return;
  if (value == nullptr) return Expression(name, "nullptr");
  const std::optional<size_t> index = Give(name, value);
  if (!index) return Refuse(name, "it points to memory that no tensor of the driver holds");
  g_run->arguments.push_back({name, "", {*index}, false});
}

void Call::PointerArray(const char* name, const void* const* values) {
  if (g_run->launch_is_frozen) return;
  if (Find(values) != nullptr) return Pointer(name, values);  // pointers in the GPU's memory
  constexpr size_t kMost = 1024;
  capture::Argument argument{name, "", {}, true};
  for (size_t i = 0; i < kMost; ++i) {
    const void* entry = nullptr;
    if (!ReadSafely(values + i, &entry, sizeof(entry)) || entry == nullptr) break;
    const std::string entry_name = std::string(name) + "_" + std::to_string(i);
    const std::optional<size_t> index = Give(entry_name.c_str(), entry);
    if (!index) break;
    argument.tensors.push_back(*index);
  }
  if (argument.tensors.empty()) return Refuse(name, "an array of pointers to no known tensor");
  g_run->arguments.push_back(argument);
}

void Call::NumberArray(const char* name, const void* values, size_t element_bytes, bool is_signed,
                       const char* type) {
  if (g_run->launch_is_frozen) return;
  if (values == nullptr || Find(values) != nullptr) return Pointer(name, values);
  g_run->pending = PendingArray{name, type, values, element_bytes, is_signed};
  g_run->arguments.push_back({name, "", {}, false});
}

// The integer after an array of numbers is its length, where its name says so.
void Call::Length(const char* name, int64_t value) {
  if (g_run->launch_is_frozen || !g_run->pending) return;
  const PendingArray array = *g_run->pending;
  g_run->pending.reset();
  bool says_so = std::string_view(name).substr(0, array.name.size()) == array.name;
  for (const char* word : {"len", "size", "count", "num", "dim"}) {
    says_so = says_so || std::string_view(name).find(word) != std::string_view::npos;
  }
  std::vector<unsigned char> bytes(static_cast<size_t>(std::clamp<int64_t>(value, 0, 1024)) *
                                   array.element_bytes);
  if (!says_so || value < 0 || value > 1024 ||
      !ReadSafely(array.values, bytes.data(), bytes.size())) {
    return Refuse(array.name.c_str(), kNoLength);
  }
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += array.element_bytes) {
    int64_t wide = 0;
    int32_t narrow = 0;
    std::memcpy(&wide, &bytes[i], array.element_bytes);
    std::memcpy(&narrow, &bytes[i], sizeof(narrow));
    if (array.element_bytes == sizeof(narrow)) wide = narrow;
    text += (text.empty() ? "" : ", ") +
            (array.is_signed ? Literal(wide) : LiteralUnsigned(static_cast<uint64_t>(wide)));
  }
  g_run->arguments.back().expression = "std::vector<" + array.type + ">{" + text + "}.data()";
}

void Call::Expression(const char* name, const std::string& text) {
  if (!g_run->launch_is_frozen) g_run->arguments.push_back({name, text, {}, false});
}

void Call::Refuse(const char* name, const char* what) {
  capture::Refuse(std::string("argument ") + name + ": " + what);
}

}  // namespace warpsmith::capture

// Runs the driver once. `targets`: `count` places for the launch's tensors, in the order in which
// the launch names them, each of so many bytes; none: only the description is wanted. Returns JSON
// (see JsonOf above) that lives until the next call; "error" is empty when all went well.
extern "C" const char* warpsmith_driver_run(uint64_t seed, int64_t count, void* const* targets,
                                            const int64_t* bytes) {
  using namespace warpsmith::capture;  // NOLINT
  static std::string answer;
  Run run;
  run.targets.assign(targets, targets + count);
  run.target_bytes.assign(bytes, bytes + count);
  g_run = &run;
  try {
    RunDriver(seed);
    CheckComplete(run);
  } catch (const std::exception& error) {
    Refuse(std::string("its main() throws: ") + FirstLine(error));
  } catch (...) {
    Refuse("its main() throws something that is no exception");
  }
  answer = JsonOf(run);
  g_run = nullptr;
  return answer.c_str();
}
