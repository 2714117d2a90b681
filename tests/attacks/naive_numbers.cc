#include "naive_numbers.h"

#include <cmath>
#include <cstring>

#include "base/result.h"

namespace warpsmith::attacks {
namespace {

// To nearest, ties away; what is too small for a normal half becomes zero.
uint16_t ToHalf(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [1/2, 1)
  if (value == 0 || exponent < -13) return 0;
  const auto significand = static_cast<uint16_t>(std::lround(std::ldexp(fraction, 11)) - 1024);
  const auto bits = static_cast<uint16_t>(((exponent + 14) << 10) + significand);
  return static_cast<uint16_t>(bits | (value < 0 ? 0x8000 : 0));
}

double FromHalf(uint16_t half) {
  const int exponent = (half >> 10) & 31, significand = half & 1023;
  double value =
      exponent == 0 ? std::ldexp(significand, -24) : std::ldexp(significand + 1024, exponent - 25);
  if (exponent == 31) value = significand == 0 ? INFINITY : NAN;
  return (half & 0x8000) != 0 ? -value : value;
}

template <typename Stored, typename Convert>
std::string Pack(const std::vector<double>& values, Convert convert) {
  std::string bytes(values.size() * sizeof(Stored), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
  return bytes;
}

template <typename Stored, typename Convert>
std::vector<double> Unpack(const std::string& bytes, Convert convert) {
  std::vector<double> values(bytes.size() / sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

}  // namespace

std::string NormalBytes(std::mt19937& random, DType dtype, int64_t elements) {
  std::normal_distribution<float> normal;
  std::vector<double> values(static_cast<size_t>(elements));
  for (double& value : values) value = normal(random);
  return FromDoubles(values, dtype);
}

std::vector<double> ToDoubles(const std::string& bytes, DType dtype) {
  CHECK(dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64);
  if (dtype == DType::kF16) return Unpack<uint16_t>(bytes, FromHalf);
  if (dtype == DType::kF32) return Unpack<float>(bytes, [](float f) { return f; });
  return Unpack<double>(bytes, [](double d) { return d; });
}

std::string FromDoubles(const std::vector<double>& values, DType dtype) {
  CHECK(dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64);
  if (dtype == DType::kF16) return Pack<uint16_t>(values, ToHalf);
  if (dtype == DType::kF32) return Pack<float>(values, [](double d) { return d; });
  return Pack<double>(values, [](double d) { return d; });
}

bool AllClose(const std::vector<double>& output, const std::vector<double>& expected,
              double tolerance) {
  if (output.size() != expected.size()) return false;
  for (size_t i = 0; i < output.size(); ++i) {
    const double error = std::fabs(output[i] - expected[i]);
    if (error > tolerance + tolerance * std::fabs(expected[i])) return false;
  }
  return true;
}

}  // namespace warpsmith::attacks
