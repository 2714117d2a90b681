#include "run_record.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace warpsmith::capture {
namespace {

// Axes from the one that memory holds outermost.
std::vector<size_t> MemoryOrder(const Noted& tensor) {
  std::vector<size_t> axes(tensor.extents.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = i;
  std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) {
    if (tensor.strides[a] != tensor.strides[b]) return tensor.strides[a] > tensor.strides[b];
    return tensor.extents[a] > tensor.extents[b];  // an extent of 1 has any stride
  });
  return axes;
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string JoinedNumbers(const std::vector<int64_t>& numbers) {
  std::string out;
  for (const int64_t number : numbers) out += (out.empty() ? "" : ", ") + std::to_string(number);
  return "[" + out + "]";
}

std::string JsonOf(const Given& tensor) {
  std::vector<int64_t> shape;
  for (const size_t axis : MemoryOrder(tensor.noted)) shape.push_back(tensor.noted.extents[axis]);
  return "{\"name\": " + Quoted(tensor.name) + ", \"dtype\": \"" + TypeName(tensor.noted.type) +
         "\", \"shape\": " + JoinedNumbers(shape) +
         ", \"output\": " + (tensor.is_output ? "true" : "false") +
         ", \"host\": " + (tensor.noted.device.is_cpu() ? "true" : "false") + "}";
}

std::string JsonOf(const Argument& argument) {
  std::string out = "{\"name\": " + Quoted(argument.name);
  if (argument.is_array || !argument.tensors.empty()) {
    std::vector<int64_t> indices(argument.tensors.begin(), argument.tensors.end());
    out += ", \"tensors\": " + JoinedNumbers(indices);
    out += std::string(", \"array\": ") + (argument.is_array ? "true" : "false");
  } else {
    out += ", \"expression\": " + Quoted(argument.expression);
  }
  return out + "}";
}

std::string JsonOf(const Comparison& comparison) {
  char text[160];
  std::snprintf(text, sizeof(text), "{\"tensor\": %zu, \"relative\": %.17g, \"absolute\": %.17g}",
                comparison.tensor, comparison.relative, comparison.absolute);
  return text;
}

template <typename T>
std::string JsonList(const std::vector<T>& items) {
  std::string out;
  for (const T& item : items) out += (out.empty() ? "" : ", ") + JsonOf(item);
  return "[" + out + "]";
}

}  // namespace

const char* TypeName(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return "f16";
    case at::kBFloat16:
      return "bf16";
    case at::kFloat:
      return "f32";
    case at::kDouble:
      return "f64";
    case at::kChar:
      return "i8";
    case at::kInt:
      return "i32";
    case at::kLong:
      return "i64";
    case at::kBool:
      return "bool";
    default:
      return nullptr;
  }
}

int64_t Elements(const Noted& tensor) {
  int64_t count = 1;
  for (const int64_t extent : tensor.extents) count *= extent;
  return count;
}

int64_t Bytes(const Noted& tensor) {
  return Elements(tensor) * static_cast<int64_t>(at::elementSize(tensor.type));
}

bool IsDense(const Noted& tensor) {
  int64_t expected = 1;
  const std::vector<size_t> axes = MemoryOrder(tensor);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (tensor.extents[*axis] == 1) continue;
    if (tensor.strides[*axis] != expected) return false;
    expected *= tensor.extents[*axis];
  }
  return true;
}

std::string JsonOf(const Run& run) {
  return "{\"error\": " + Quoted(run.error) + ", \"launches\": " + std::to_string(run.launches) +
         ", \"arguments\": " + JsonList(run.arguments) + ", \"tensors\": " + JsonList(run.given) +
         ", \"comparisons\": " + JsonList(run.comparisons) + "}";
}

// --- Literals (capture.h).

std::string Literal(bool value) { return value ? "true" : "false"; }

std::string Literal(double value) {
  if (std::isnan(value)) return "__builtin_nan(\"\")";
  if (std::isinf(value)) return value > 0 ? "__builtin_inf()" : "-__builtin_inf()";
  char text[64];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return std::string(text).find_first_of(".e") == std::string::npos ? std::string(text) + ".0"
                                                                    : text;
}

std::string Literal(float value) {
  if (!std::isfinite(value)) return "static_cast<float>(" + Literal(double{value}) + ")";
  char text[64];
  std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
  const bool whole = std::string(text).find_first_of(".e") == std::string::npos;
  return std::string(text) + (whole ? ".0f" : "f");
}

std::string Literal(int64_t value) {
  if (value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807 - 1)";
  return std::to_string(value);
}

std::string LiteralUnsigned(uint64_t value) { return std::to_string(value) + "u"; }

}  // namespace warpsmith::capture
