// Compiled in front of an unchanged KernelBench-CUDA driver: tells what its main() gives to
// launch_gpu_implementation, and what it compares the result with.
//
// How a driver is taken apart (docs/tasks.md):
//   - its main() becomes warpsmith_driver_main by a macro, and its fixed seeds are ignored;
//   - launch_gpu_implementation is ours: it launches nothing and hands every argument to a Call;
//   - torch's own operator observer (at::RecordFunction) says which tensors there are, so that a
//     bare pointer finds its type and extents again, and sees the driver's torch::allclose with
//     the reference, rtol and atol.
// Both ends copy contents to where the judge wants them, when it gave places ("targets").
#ifndef WARPSMITH_JUDGE_TORCH_WARPSMITH_DRIVER_CAPTURE_CAPTURE_H_
#define WARPSMITH_JUDGE_TORCH_WARPSMITH_DRIVER_CAPTURE_CAPTURE_H_

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace warpsmith::capture {

// One call of launch_gpu_implementation: its arguments, in order. Nothing here throws: what cannot
// be told is noted, and refused when the driver has ended.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  template <typename T>
  void Argument(const char* name, const T& value);
  template <typename T>
  void Argument(const char* name, const std::vector<T>& values);

 private:
  void Pointer(const char* name, const void* value);
  void PointerArray(const char* name, const void* const* values);
  void NumberArray(const char* name, const void* values, size_t element_bytes, bool is_signed,
                   const char* type);
  void Expression(const char* name, const std::string& text);
  void Length(const char* name, int64_t value);
  void Refuse(const char* name, const char* what);
};

// C++ expressions that give the value back.
std::string Literal(bool value);
std::string Literal(double value);
std::string Literal(float value);
std::string Literal(int64_t value);
std::string LiteralUnsigned(uint64_t value);

template <typename T>
constexpr const char* IntegerName() {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, long long>) return "int64_t";
  if constexpr (std::is_same_v<T, int>) return "int";
  if constexpr (std::is_same_v<T, uint64_t>) return "uint64_t";
  return nullptr;  // no array of these can be written as an argument
}

template <typename T>
std::string Number(T value) {
  if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
    return Literal(value);
  } else if constexpr (std::is_signed_v<T>) {
    return Literal(static_cast<int64_t>(value));
  } else {
    return LiteralUnsigned(static_cast<uint64_t>(value));
  }
}

template <typename T>
void Call::Argument(const char* name, const T& value) {
  if constexpr (std::is_null_pointer_v<T>) {
    Pointer(name, nullptr);
  } else if constexpr (std::is_pointer_v<T>) {
    using Pointee = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (std::is_pointer_v<Pointee>) {
      PointerArray(name, reinterpret_cast<const void* const*>(value));
    } else if constexpr (std::is_integral_v<Pointee> && IntegerName<Pointee>() != nullptr) {
      NumberArray(name, value, sizeof(Pointee), std::is_signed_v<Pointee>, IntegerName<Pointee>());
    } else {
      Pointer(name, value);
    }
  } else if constexpr (std::is_arithmetic_v<T>) {
    if constexpr (std::is_integral_v<T>) Length(name, static_cast<int64_t>(value));
    Expression(name, Number(value));
  } else {
    Refuse(name, "its type is neither a pointer, nor a number, nor a vector of numbers");
  }
}

template <typename T>
void Call::Argument(const char* name, const std::vector<T>& values) {
  if constexpr (std::is_integral_v<T> && IntegerName<T>() != nullptr) {
    std::string text;
    for (const T value : values) text += (text.empty() ? "" : ", ") + Number(value);
    Expression(name, std::string("std::vector<") + IntegerName<T>() + ">{" + text + "}");
  } else {
    Refuse(name, "its vector's elements are not int, int64_t or uint64_t");
  }
}

// The driver's main(), of either form.
inline int Invoke(int (*driver)()) { return driver(); }
inline int Invoke(int (*driver)(int, char**)) {
  char name[] = "driver";
  char* arguments[] = {name, nullptr};
  return driver(1, arguments);
}

// Defined beside the driver.
int DriverMain();

}  // namespace warpsmith::capture

// The judge's seed stays, whatever the driver asks for.
namespace at {
inline void warpsmith_manual_seed(uint64_t) {}
}  // namespace at
namespace torch {
using at::warpsmith_manual_seed;
namespace cuda {
inline void warpsmith_manual_seed(uint64_t) {}
inline void warpsmith_manual_seed_all(uint64_t) {}
}  // namespace cuda
}  // namespace torch

#endif  // WARPSMITH_JUDGE_TORCH_WARPSMITH_DRIVER_CAPTURE_CAPTURE_H_
