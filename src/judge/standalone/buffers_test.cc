#include "judge/standalone/buffers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace warpsmith::standalone {
namespace {

template <typename T>
std::vector<T> Make(TensorSpec tensor, int64_t elements, uint64_t seed = 1) {
  tensor.name = "x";
  const auto bytes = MakeContents(tensor, {{"n", 40}}, elements, seed);
  EXPECT_TRUE(bytes.ok());
  std::vector<T> values(static_cast<size_t>(elements));
  EXPECT_EQ(bytes->size(), values.size() * sizeof(T));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

TensorSpec Spec(DType dtype, Generator generator, const char* low = "0", const char* high = "0") {
  return {
      "x", dtype, Role::kInput, {}, generator, Expression::Literal(low), Expression::Literal(high)};
}

TEST(StandaloneContents, FloatsFollowTheirGenerator) {
  double sum = 0, squares = 0;
  const auto normal = Make<float>(Spec(DType::kF32, Generator::kNormal), 10'000);
  for (const float value : normal) {
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 10'000, 0, 0.05);
  EXPECT_NEAR(squares / 10'000, 1, 0.1);
  for (const double value : Make<double>(Spec(DType::kF64, Generator::kUniform), 1000)) {
    ASSERT_LE(std::abs(value), 1);
  }
  for (const double value : Make<double>(Spec(DType::kF64, Generator::kUnit), 1000)) {
    ASSERT_TRUE(value >= 0 && value < 1);
  }
}

TEST(StandaloneContents, IntegersStayBelowHigh) {
  bool low = false, high = false;
  for (const int32_t value :
       Make<int32_t>(Spec(DType::kI32, Generator::kIntegers, "-3", "n / 8"), 1000)) {
    ASSERT_TRUE(value >= -3 && value < 5) << value;
    low |= value == -3;
    high |= value == 4;
  }
  EXPECT_TRUE(low && high);
}

TEST(StandaloneContents, OffsetsAscendFromZeroToHigh) {
  const auto offsets = Make<int64_t>(Spec(DType::kI64, Generator::kOffsets, "0", "7 * n"), 101);
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets.back(), 280);
  for (size_t i = 1; i < offsets.size(); ++i) ASSERT_LE(offsets[i - 1], offsets[i]) << i;
}

TEST(StandaloneContents, WhatOnlyTheReferenceCanDrawIsHarmless) {
  for (const int32_t value : Make<int32_t>(Spec(DType::kI32, Generator::kReference), 100)) {
    ASSERT_EQ(value, 0);
  }
  const auto floats = Make<float>(Spec(DType::kF32, Generator::kReference), 100);
  EXPECT_NE(floats[0], floats[1]);
}

TEST(StandaloneContents, EqualSeedsGiveEqualContentsThatRepeatAfterThePrime) {
  const TensorSpec spec = Spec(DType::kI8, Generator::kIntegers, "0", "100");
  EXPECT_EQ(Make<int8_t>(spec, 1000, 7), Make<int8_t>(spec, 1000, 7));
  EXPECT_NE(Make<int8_t>(spec, 1000, 7), Make<int8_t>(spec, 1000, 8));
  const auto large = Make<int8_t>(spec, 3 * kDistinctElements);
  for (const int64_t i : {int64_t{0}, int64_t{5}, kDistinctElements - 1}) {
    EXPECT_EQ(large[static_cast<size_t>(i)], large[static_cast<size_t>(i + kDistinctElements)]);
    EXPECT_EQ(large[static_cast<size_t>(i)], large[static_cast<size_t>(i + 2 * kDistinctElements)]);
  }
}

TEST(StandaloneContents, BadBoundsNameTheTensor) {
  const auto made = MakeContents(Spec(DType::kI32, Generator::kIntegers, "0", "unknown"), {}, 1, 1);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("tensor x"), std::string::npos);
}

double FromHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(HalfBits, EveryHalfIsItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double value = FromHalf(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(HalfBits(static_cast<float>(value)), bits);
  }
  EXPECT_EQ(HalfBits(65519.9F), 0x7bff);
  EXPECT_EQ(HalfBits(65520.0F), 0x7c00);
  EXPECT_EQ(HalfBits(std::numeric_limits<float>::quiet_NaN()) & 0x7fff, 0x7e00);
}

// From far below the smallest half to just below the largest.
RC_GTEST_PROP(HalfBits, RoundsToTheNearest, (uint32_t bits_of_float)) {
  const uint32_t exponent = 98 + (bits_of_float >> 23) % 44;
  const auto value = std::bit_cast<float>((bits_of_float & 0x807fffff) | (exponent << 23));
  const uint16_t bits = HalfBits(value);
  const double error = std::abs(FromHalf(bits) - double{value});
  for (const int step : {-1, 1}) {
    const int magnitude = (bits & 0x7fff) + step;
    if (magnitude < 0 || magnitude > 0x7bff) continue;
    const auto neighbour = static_cast<uint16_t>((bits & 0x8000) | magnitude);
    RC_ASSERT(error <= std::abs(FromHalf(neighbour) - double{value}));
  }
}

TEST(BFloat16Bits, RoundsToNearestEven) {
  EXPECT_EQ(BFloat16Bits(1.0F), 0x3f80);
  EXPECT_EQ(BFloat16Bits(1.00390625F), 0x3f80);  // half way to the next: even
  EXPECT_EQ(BFloat16Bits(1.01171875F), 0x3f82);  // half way above an odd one
  EXPECT_EQ(BFloat16Bits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(BFloat16Bits(std::numeric_limits<float>::quiet_NaN()) & 0x7fc0, 0x7fc0);
}

}  // namespace
}  // namespace warpsmith::standalone
