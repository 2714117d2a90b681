#include "judge/baseline/entrants.h"

#include <gmock/gmock.h>

#include <array>

#include "cuda/fake/fake_control.h"

namespace warpsmith::baseline {
namespace {

using ::testing::HasSubstr;

class ThirdPartyTest : public ::testing::Test {
 protected:
  std::vector<plan::Binding> Bindings() {
    return {{"A", 256, 64}, {"B", 512, 64}, {"C", reinterpret_cast<uint64_t>(marks_.data()), 64}};
  }
  cuda::Context context_ = cuda::fake::OpenContext();
  cuda::Stream stream_ = cuda::Stream::Create().value();
  std::array<int64_t, 8> marks_{};
};

TEST_F(ThirdPartyTest, CallsTheEntryWithTheProductAfterPreparingOnce) {
  const auto library = MakeThirdParty(WARPSMITH_FAKE_THIRD_PARTY, {1, 2, 3, cuda::GemmLayout::kTN});
  ASSERT_TRUE(library.ok()) << library.error().Line();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(library->enqueue(stream_, Bindings()).ok());
  EXPECT_EQ(marks_[0], 1002003);
  EXPECT_EQ(marks_[1], 1);
  EXPECT_EQ(marks_[2], 256);
  EXPECT_EQ(marks_[3], 512);
  EXPECT_EQ(marks_[4], 1);
  EXPECT_EQ(marks_[5], 1);
}

TEST_F(ThirdPartyTest, Bf16HasEntriesOfItsOwn) {
  const auto library = MakeThirdParty(WARPSMITH_FAKE_THIRD_PARTY,
                                      {1, 2, 3, cuda::GemmLayout::kNN, cuda::HalfType::kBF16});
  ASSERT_TRUE(library.ok()) << library.error().Line();
  EXPECT_TRUE(library->enqueue(stream_, Bindings()).ok());
  EXPECT_EQ(marks_[0], -1002003);
}

TEST_F(ThirdPartyTest, ALibraryWithoutAKernelForTheShapeSaysSo) {
  const auto library = MakeThirdParty(WARPSMITH_FAKE_THIRD_PARTY, {7, 2, 3, cuda::GemmLayout::kNN});
  ASSERT_TRUE(library.ok());
  const Status status = library->enqueue(stream_, Bindings());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("no kernel for this product"));
}

TEST_F(ThirdPartyTest, WhatIsNoSuchLibraryIsRefusedInWords) {
  const cuda::GemmShape shape{1, 2, 3, cuda::GemmLayout::kNN};
  EXPECT_THAT(MakeThirdParty("/nowhere/lib.so", shape).error().message,
              HasSubstr("/nowhere/lib.so: "));
  const auto other = MakeThirdParty("libm.so.6", shape);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("exports neither warpsmith_rival_gemm"));
}

TEST_F(ThirdPartyTest, TensorsThatAreNotBoundAreRefused) {
  const auto library = MakeThirdParty(WARPSMITH_FAKE_THIRD_PARTY, {1, 2, 3, cuda::GemmLayout::kNN});
  const plan::Binding only_a[] = {{"A", 256, 64}};
  EXPECT_FALSE(library->enqueue(stream_, only_a).ok());
}

}  // namespace
}  // namespace warpsmith::baseline
