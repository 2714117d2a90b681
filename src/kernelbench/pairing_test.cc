#include "kernelbench/pairing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::kernelbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TensorRow Row(const std::string& name, std::vector<int64_t> shape, DType dtype = DType::kF32) {
  return {name, dtype, std::move(shape)};
}

// y = conv(x), with two parameters of the same extents.
ModuleInspection Module() {
  return {.inputs = {{Row("x", {16, 3, 32}), "", ""}, {Row("s", {}), "double", "2.0"}},
          .parameters = {Row("bn.weight", {8}), Row("bn.bias", {8}),
                         Row("bn.num_batches_tracked", {}, DType::kI64)},
          .outputs = {Row("output", {16, 8, 1})},
          .bytes = 0};
}

DriverDescription Driver() {
  return {.tensors = {{Row("out", {16, 8}, DType::kF16), true},
                      {Row("bn_bias", {8}, DType::kF16), false},
                      {Row("bn_weight", {8}, DType::kF16), false},
                      {Row("input", {16, 3, 32}, DType::kF16), false}},
          .arguments = {},
          .absolute = 0.1,
          .relative = 0.1};
}

TEST(Pairing, BindsByExtentsThenByName) {
  const auto binding = Bind(Module(), Driver());
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  EXPECT_THAT(binding->inputs, ElementsAre(3));
  EXPECT_THAT(binding->parameters, ElementsAre(Pair("bn.weight", 2), Pair("bn.bias", 1)));
}

TEST(Pairing, NeedsEveryExtentToBeTheSame) {
  DriverDescription larger = Driver();
  larger.tensors[3].row.shape = {16, 3, 64};
  EXPECT_THAT(Bind(Module(), larger).error().message, HasSubstr("input x (16x3x32)"));
  DriverDescription output = Driver();
  output.tensors[0].row.shape = {32, 8};
  EXPECT_THAT(Bind(Module(), output).error().message, HasSubstr("16x8x1"));
  DriverDescription fewer = Driver();
  fewer.tensors.erase(fewer.tensors.begin() + 1);
  EXPECT_THAT(Bind(Module(), fewer).error().message, HasSubstr("parameter bn.bias"));
  DriverDescription more = Driver();
  more.tensors.push_back({Row("mask", {5}), false});
  EXPECT_THAT(Bind(Module(), more).error().message, HasSubstr("the driver's mask (5)"));
}

}  // namespace
}  // namespace warpsmith::kernelbench
