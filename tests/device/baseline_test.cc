// The baselines on a GPU: right answers in both layouts, and entrants that another process can
// repeat. Which of them wins is judge_test.cc's.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/random.h"
#include "cuda/context.h"
#include "cuda/driver.h"
#include "cuda/memory.h"
#include "judge/baseline/entrants.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/baseline/torch_gemm.h"

namespace warpsmith::baseline {
namespace {

constexpr int64_t kM = 64, kN = 136, kK = 256;

using cuda::HalfType;

// Small integers are exact in both types and their sums here too.
uint16_t HalfOf(int value, HalfType type) {
  static constexpr std::array<uint16_t, 3> kF16 = {0x0000, 0x3c00, 0x4000},
                                           kBF16 = {0x0000, 0x3f80, 0x4000};
  const auto& magnitudes = type == HalfType::kBF16 ? kBF16 : kF16;
  return static_cast<uint16_t>(magnitudes.at(std::abs(value)) | (value < 0 ? 0x8000 : 0));
}

double DoubleOf(uint16_t half, HalfType type) {
  if (type == HalfType::kBF16) return std::bit_cast<float>(uint32_t{half} << 16);
  const int exponent = half >> 10 & 31;
  const double fraction = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

class BaselineDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    const Result<const cuda::Driver*> driver = cuda::Driver::Open();
    if (!driver.ok()) GTEST_SKIP() << driver.error().Line();
    context_.emplace(cuda::Context::Retain((*driver)->Properties(0).value()).value());
    stream_.emplace(cuda::Stream::Create().value());
    Draw(HalfType::kF16);
  }

  // What `choice` computes from a_ and b_, poisoned before.
  std::vector<uint16_t> Product(const GemmBaselineChoice& choice) {
    const auto callable = MakeGemmBaseline(choice, shared_);
    EXPECT_TRUE(callable.ok()) << callable.error().Line();
    cuda::DeviceBuffer a = Upload(a_), b = Upload(b_),
                       c = Upload(std::vector<uint16_t>(kM * kN, 0x7e00));
    const std::vector<plan::Binding> bindings = {{"A", a.address(), kM * kK * 2},
                                                 {"B", b.address(), kK * kN * 2},
                                                 {"C", c.address(), kM * kN * 2}};
    const Status submitted = callable->enqueue(*stream_, bindings);
    EXPECT_TRUE(submitted.ok()) << submitted.error().Line();
    EXPECT_TRUE(stream_->Synchronize().ok());
    std::vector<uint16_t> product(kM * kN);
    EXPECT_TRUE(cuda::CopyToHost(product.data(), c.address(), kM * kN * 2).ok());
    return product;
  }

  std::vector<GemmBaselineChoice> All(const GemmBaselineName& name,
                                      const EntrantOptions& options = {}) {
    auto entrants = Entrants(name, {kM, kN, kK, type_}, options);
    EXPECT_TRUE(entrants.ok()) << entrants.error().Line();
    return std::move(entrants).value();
  }

  void ExpectRight(const std::vector<uint16_t>& product, cuda::GemmLayout layout) {
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < kK; ++l) {
          const int64_t at = layout == cuda::GemmLayout::kNN ? l * kN + j : j * kK + l;
          sum += DoubleOf(a_[i * kK + l], type_) * DoubleOf(b_[at], type_);
        }
        ASSERT_EQ(DoubleOf(product[i * kN + j], type_), sum)
            << Text(layout) << " at " << i << ", " << j;
      }
    }
  }

  static cuda::DeviceBuffer Upload(const std::vector<uint16_t>& values) {
    cuda::DeviceBuffer buffer = cuda::DeviceBuffer::Allocate(values.size() * 2).value();
    EXPECT_TRUE(cuda::CopyToDevice(buffer.address(), values.data(), values.size() * 2).ok());
    return buffer;
  }

  void Draw(HalfType type) {
    type_ = type;
    a_ = SmallIntegers(kM * kK, "a");
    b_ = SmallIntegers(kK * kN, "b");
  }

  std::vector<uint16_t> SmallIntegers(size_t count, const char* stream) const {
    Random random(5, stream);
    std::vector<uint16_t> values(count);
    for (uint16_t& value : values) value = HalfOf(static_cast<int>(random.Below(5)) - 2, type_);
    return values;
  }

  HalfType type_ = HalfType::kF16;
  std::vector<uint16_t> a_, b_;
  std::optional<cuda::Context> context_;
  std::optional<cuda::Stream> stream_;
  SharedHandles shared_;
};

TEST_F(BaselineDeviceTest, EveryBaselineMultipliesRightInTheLayoutAndTypeItSays) {
  for (const HalfType type : {HalfType::kF16, HalfType::kBF16}) {
    Draw(type);
    for (const std::string& text : GemmBaselineNames()) {
      for (const GemmBaselineChoice& entrant : All(ParseGemmBaselineName(text).value())) {
        SCOPED_TRACE(text + " " + CallOf(entrant) + " " + std::string(Text(type)));
        EXPECT_EQ(entrant.shape.type, type);
        ExpectRight(Product(entrant), entrant.shape.layout);
      }
    }
  }
}

TEST_F(BaselineDeviceTest, AnEntrantReadBackFromItsTextRunsTheSameKernel) {
  const auto entrants = All({GemmLibrary::kLtAuto, {}});
  EXPECT_GT(entrants.size(), 4U) << "two layouts, cublasGemmEx in both";
  for (const GemmBaselineChoice& entrant : entrants) {
    const GemmBaselineChoice read = GemmBaselineChoiceFromText(ToText(entrant)).value();
    EXPECT_EQ(CallOf(read), CallOf(entrant));
    EXPECT_EQ(Product(read), Product(entrant));
  }
}

TEST_F(BaselineDeviceTest, AnExhaustiveListHoldsMoreThanTheHeuristics) {
  const GemmBaselineName name{GemmLibrary::kLtAuto, cuda::GemmLayout::kTN};
  EntrantOptions every;
  every.exhaustive_seconds = 1;
  const auto listed = All(name), all = All(name, every);
  ASSERT_GT(all.size(), listed.size());
  size_t right = 0;
  for (size_t i = listed.size(); i < std::min(all.size(), listed.size() + 50); ++i) {
    EXPECT_TRUE(all[i].exhaustive);
    if (!MakeGemmBaseline(all[i], shared_).ok()) continue;
    ExpectRight(Product(all[i]), all[i].shape.layout);
    ++right;
  }
  EXPECT_GT(right, 0U);
}

TEST_F(BaselineDeviceTest, AMissingOrSmallTensorIsRefused) {
  const auto callable = MakeGemmBaseline(All({GemmLibrary::kCublas, {}}).front(), shared_).value();
  const cuda::DeviceBuffer buffer = cuda::DeviceBuffer::Allocate(1 << 20).value();
  std::vector<plan::Binding> bindings = {{"A", buffer.address(), kM * kK * 2},
                                         {"B", buffer.address(), kK * kN * 2 - 2},
                                         {"C", buffer.address(), kM * kN * 2}};
  EXPECT_EQ(callable.enqueue(*stream_, bindings).error().code, ErrorCode::kBadInput);
  bindings.erase(bindings.begin() + 1);
  EXPECT_EQ(callable.enqueue(*stream_, bindings).error().code, ErrorCode::kBadInput);
}

TEST_F(BaselineDeviceTest, TorchIsMeasuredOrSaidToBeAbsent) {
  const auto outcome =
      MeasureTorch({{.m = 512, .n = 512, .k = 512, .layout = cuda::GemmLayout::kTN}});
  ASSERT_TRUE(outcome.ok()) << outcome.error().Line();
  if (const auto* measured = std::get_if<TorchMeasured>(&*outcome)) {
    ASSERT_EQ(measured->times.size(), 1U);
    EXPECT_GT(measured->times[0].device_us, 0.5);
    EXPECT_GE(measured->times[0].server_us, measured->times[0].device_us);
  } else {
    EXPECT_FALSE(std::get<TorchAbsent>(*outcome).reason.empty());
  }
}

}  // namespace
}  // namespace warpsmith::baseline
