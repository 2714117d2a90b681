#include "cuda/kernel_launch.h"

#include <gmock/gmock.h>

namespace warpsmith::cuda {
namespace {

TEST(TensorMap, ListsThatDoNotFitTogetherAreRefused) {
  TensorMapSpec spec;
  spec.dims = {64, 64};
  spec.strides_bytes = {128};
  spec.box = {64, 64};
  const auto missing_strides = EncodeTensorMap(0, spec);
  ASSERT_FALSE(missing_strides.ok());
  EXPECT_EQ(missing_strides.error().code, ErrorCode::kBadInput);
  spec.element_strides = {1, 1};
  spec.swizzle_bytes = 48;
  EXPECT_THAT(EncodeTensorMap(0, spec).error().message, testing::HasSubstr("swizzle"));
}

}  // namespace
}  // namespace warpsmith::cuda
