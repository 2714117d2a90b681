#include "judge/baseline/entrants.h"

#include <gmock/gmock.h>

#include <array>

#include "cuda/fake/fake_control.h"

namespace warpsmith::baseline {
namespace {

using ::testing::HasSubstr;

class RivalLibraryTest : public ::testing::Test {
 protected:
  std::vector<plan::Binding> Bindings() {
    return {{"A", 256, 64}, {"B", 512, 64}, {"C", reinterpret_cast<uint64_t>(marks_.data()), 64}};
  }
  cuda::Context context_ = cuda::fake::OpenContext();
  cuda::Stream stream_ = cuda::Stream::Create().value();
  std::array<int64_t, 8> marks_{};
};

TEST_F(RivalLibraryTest, CallsTheEntryWithTheProductAfterPreparingOnce) {
  const auto rival = MakeRivalLibrary(WARPSMITH_FAKE_RIVAL, {1, 2, 3, cuda::GemmLayout::kTN});
  ASSERT_TRUE(rival.ok()) << rival.error().Line();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(rival->enqueue(stream_, Bindings()).ok());
  EXPECT_EQ(marks_[0], 1002003);
  EXPECT_EQ(marks_[1], 1);
  EXPECT_EQ(marks_[2], 256);
  EXPECT_EQ(marks_[3], 512);
  EXPECT_EQ(marks_[4], 1);
  EXPECT_EQ(marks_[5], 1);
}

TEST_F(RivalLibraryTest, Bf16HasEntriesOfItsOwn) {
  const auto rival = MakeRivalLibrary(WARPSMITH_FAKE_RIVAL,
                                      {1, 2, 3, cuda::GemmLayout::kNN, cuda::HalfType::kBF16});
  ASSERT_TRUE(rival.ok()) << rival.error().Line();
  EXPECT_TRUE(rival->enqueue(stream_, Bindings()).ok());
  EXPECT_EQ(marks_[0], -1002003);
}

TEST_F(RivalLibraryTest, ALibraryWithoutAKernelForTheShapeSaysSo) {
  const auto rival = MakeRivalLibrary(WARPSMITH_FAKE_RIVAL, {7, 2, 3, cuda::GemmLayout::kNN});
  ASSERT_TRUE(rival.ok());
  const Status status = rival->enqueue(stream_, Bindings());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("no kernel for this product"));
}

TEST_F(RivalLibraryTest, WhatIsNoSuchLibraryIsRefusedInWords) {
  const cuda::GemmShape shape{1, 2, 3, cuda::GemmLayout::kNN};
  EXPECT_THAT(MakeRivalLibrary("/nowhere/lib.so", shape).error().message,
              HasSubstr("/nowhere/lib.so: "));
  const auto other = MakeRivalLibrary("libm.so.6", shape);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("exports neither warpsmith_rival_gemm"));
}

TEST_F(RivalLibraryTest, TensorsThatAreNotBoundAreRefused) {
  const auto rival = MakeRivalLibrary(WARPSMITH_FAKE_RIVAL, {1, 2, 3, cuda::GemmLayout::kNN});
  const plan::Binding only_a[] = {{"A", 256, 64}};
  EXPECT_FALSE(rival->enqueue(stream_, only_a).ok());
}

}  // namespace
}  // namespace warpsmith::baseline
