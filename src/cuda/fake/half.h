// Half-precision numbers on the host, for fakes and tests.
#ifndef WARPSMITH_CUDA_FAKE_HALF_H_
#define WARPSMITH_CUDA_FAKE_HALF_H_

#include <cmath>
#include <cstdint>
#include <cstring>

namespace warpsmith::cuda::fake {

inline float FromF16(uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

// Rounded to nearest even.
inline uint16_t ToF16(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return 0x7e00;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return sign | 0x7c00;
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int shift = exponent < -13 ? 24 : 11 - exponent;  // subnormals keep a fixed step
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, shift)));
  if (exponent < -13) return static_cast<uint16_t>(sign | steps);
  return static_cast<uint16_t>(sign + ((exponent + 14) << 10) + (steps - 1024));
}

inline float FromBF16(uint16_t bits) {
  const uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

inline uint16_t ToBF16(float value) {
  uint32_t word = 0;
  std::memcpy(&word, &value, sizeof(word));
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

// One of the two, where code is for either.
struct Half {
  float (*from)(uint16_t bits);
  uint16_t (*to)(float value);
};
inline constexpr Half kF16 = {FromF16, ToF16}, kBF16 = {FromBF16, ToBF16};

}  // namespace warpsmith::cuda::fake

#endif  // WARPSMITH_CUDA_FAKE_HALF_H_
