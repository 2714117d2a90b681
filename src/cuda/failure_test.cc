#include "cuda/failure.h"

#include <gtest/gtest.h>

namespace warpsmith::cuda {
namespace {

TEST(Failure, TextNamesCallCodeAndArgument) {
  const Error error = ErrorFrom({"cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory", "8 B"});
  EXPECT_EQ(error.message, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory): 8 B");
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_FALSE(error.fix.empty());
}

// What a driver says of a GPU that fell off the bus or whose memory failed: no bug of ours.
TEST(Failure, AGpuThatVanishedIsUnavailable) {
  for (const char* code : {"CUDA_ERROR_UNKNOWN", "CUDA_ERROR_ECC_UNCORRECTABLE",
                           "CUDA_ERROR_NVLINK_UNCORRECTABLE", "CUDA_ERROR_CONTAINED"}) {
    const Error error = ErrorFrom({"cuStreamSynchronize", code, "words", ""});
    EXPECT_EQ(error.code, ErrorCode::kUnavailable) << code;
    EXPECT_NE(error.fix.find("nvidia-smi"), std::string::npos) << code;
  }
}

TEST(Failure, ComesBackFromItsText) {
  const Failure failure{"cuLaunchKernelEx", "CUDA_ERROR_INVALID_VALUE", "invalid argument",
                        "kernel 'a: b (c)', grid 1 x 1 x 1"};
  const auto back = FailureFrom(ErrorFrom(failure));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->call, failure.call);
  EXPECT_EQ(back->code, failure.code);
  EXPECT_EQ(back->words, failure.words);
  EXPECT_EQ(back->detail, failure.detail);
}

TEST(Failure, ComesBackBehindAPrefix) {
  Error error = ErrorFrom({"cuStreamSynchronize", "CUDA_ERROR_ILLEGAL_ADDRESS", "bad access", ""});
  error.message = "operations[1] (launch): " + error.message;
  const auto back = FailureFrom(error);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->call, "cuStreamSynchronize");
  EXPECT_EQ(back->code, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_TRUE(back->detail.empty());
}

TEST(Failure, OtherErrorsAreNone) {
  EXPECT_FALSE(FailureFrom({ErrorCode::kBadInput, "plan.json: grid (found 2): expected 3", ""}));
  EXPECT_FALSE(FailureFrom({ErrorCode::kBadInput, "", ""}));
}

}  // namespace
}  // namespace warpsmith::cuda
