#include "task/kernelbench/pairing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace warpsmith::kernelbench {
namespace {

using nlohmann::json;
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

TEST(Pairing, BindsByExtentsThenByNameOrByOrder) {
  const auto bindings = Bindings(Module(), Driver());
  ASSERT_TRUE(bindings.ok()) << bindings.error().message;
  ASSERT_EQ(bindings->size(), 2U);
  EXPECT_THAT(bindings->at(0).inputs, ElementsAre(3));
  EXPECT_THAT(bindings->at(0).parameters, ElementsAre(Pair("bn.weight", 2), Pair("bn.bias", 1)));
  EXPECT_THAT(bindings->at(1).parameters, ElementsAre(Pair("bn.weight", 1), Pair("bn.bias", 2)));
}

TEST(Pairing, BindsInAllOtherWaysIfTheyAreFew) {
  ModuleInspection module = Module();
  DriverDescription driver = Driver();
  module.parameters = {Row("a", {8}), Row("b", {8}), Row("c", {8}), Row("d", {7}), Row("e", {7})};
  driver.tensors.erase(driver.tensors.begin() + 1, driver.tensors.begin() + 3);
  for (const TensorRow& row : module.parameters) driver.tensors.push_back({row, false});
  const auto bindings = Bindings(module, driver);
  EXPECT_EQ(bindings->size(), 12U);
  for (size_t i = 1; i < bindings->size(); ++i) {
    for (size_t k = 0; k < i; ++k) EXPECT_NE(bindings->at(i), bindings->at(k));
  }
  for (const char* name : {"f", "g"}) {
    module.parameters.push_back(Row(name, {8}));
    driver.tensors.push_back({Row(name, {8}), false});
  }
  EXPECT_EQ(Bindings(module, driver)->size(), 1U);
}

// A convolution's bias and another one that is added to its result.
TEST(Pairing, TellsTensorsApartByExtentsOfOne) {
  ModuleInspection module = Module();
  module.parameters = {Row("bias", {8, 1, 1}), Row("conv.bias", {8})};
  DriverDescription driver = Driver();
  driver.tensors[1].row = Row("conv_bias", {8});
  driver.tensors[2].row = Row("model_bias", {8, 1, 1});
  const auto bindings = Bindings(module, driver);
  ASSERT_TRUE(bindings.ok()) << bindings.error().message;
  ASSERT_EQ(bindings->size(), 1U);
  EXPECT_THAT(bindings->at(0).parameters, ElementsAre(Pair("bias", 2), Pair("conv.bias", 1)));
}

// state_dict() has a module's own parameters first, whatever they are used for.
TEST(Pairing, BindsTheMostAlikeNamesFirst) {
  ModuleInspection module = Module();
  module.parameters = {Row("bias", {8}), Row("matmul.bias", {8})};
  DriverDescription driver = Driver();
  driver.tensors[1].row.name = "matmul_bias";
  driver.tensors[2].row.name = "extra_bias";
  EXPECT_THAT(Bindings(module, driver)->at(0).parameters,
              ElementsAre(Pair("bias", 2), Pair("matmul.bias", 1)));
}

TEST(Pairing, NeedsEveryExtentToBeTheSame) {
  DriverDescription larger = Driver();
  larger.tensors[3].row.shape = {16, 3, 64};
  EXPECT_THAT(Bindings(Module(), larger).error().message, HasSubstr("input x (16x3x32)"));
  DriverDescription output = Driver();
  output.tensors[0].row.shape = {32, 8};
  EXPECT_THAT(Bindings(Module(), output).error().message, HasSubstr("16x8x1"));
  DriverDescription fewer = Driver();
  fewer.tensors.erase(fewer.tensors.begin() + 1);
  EXPECT_THAT(Bindings(Module(), fewer).error().message, HasSubstr("parameter bn.bias"));
  DriverDescription more = Driver();
  more.tensors.push_back({Row("mask", {5}), false});
  EXPECT_THAT(Bindings(Module(), more).error().message, HasSubstr("the driver's mask (5)"));
}

class AddPairTest : public ::testing::Test {
 protected:
  AddPairTest() {
    const auto path = folder_.path() / "1_Conv.py";
    EXPECT_TRUE(WriteFileAtomic(path, "# the module\n").ok());
    pairs_.modules.insert({{1, 1}, {{1, 1, "1_Conv", path}, Module()}});
  }
  // What is said when the trial of the bindings ends so.
  std::string Said(const Result<size_t>& chosen, int number = 1) {
    const ChooseBinding choose = [&](const json&, const json& options) -> Result<size_t> {
      EXPECT_EQ(options.size(), 2U);
      EXPECT_TRUE(std::filesystem::exists(folder_.path() / "model.py"));
      return chosen;
    };
    return AddPair(pairs_, {1, number, "001_Conv", {}}, Driver(), folder_.path(), choose, task_)
        .value();
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("pair").value();
  ModulePairs pairs_;
  json task_ = {
      {"origin", "a set"},
      {"reference", {{"sources", {"driver.cpp"}}}},
      {"tensors", {{{"name", "out"}}, {{"name", "b"}}, {{"name", "w"}}, {{"name", "x"}}}}};
};

TEST_F(AddPairTest, WritesTheBindingThatIsRight) {
  EXPECT_EQ(Said(1), "");
  EXPECT_EQ(task_["baselines"], json({"torch-best"}));
  EXPECT_EQ(task_["reference"]["options"], json({{"module", "model.py"},
                                                 {"dtype", "f16"},
                                                 {"inputs", "x"},
                                                 {"parameters", "bn.weight=b,bn.bias=w"}}));
  EXPECT_EQ(task_["reference"]["sources"], json({"driver.cpp", "model.py"}));
  EXPECT_THAT(task_["origin"].get<std::string>(), HasSubstr("KernelBench level1/1_Conv"));
}

TEST_F(AddPairTest, LeavesOutWhatIsNotRight) {
  const Error other{ErrorCode::kBadInput, "other outputs", ""};
  EXPECT_EQ(Said(other), "no torch baseline: other outputs");
  EXPECT_FALSE(task_.contains("baselines"));
  EXPECT_FALSE(task_["reference"].contains("options"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "model.py"));
  EXPECT_EQ(task_["origin"], "a set; no torch baseline: other outputs");
  EXPECT_THAT(Said(0, 2), HasSubstr("no problem of this number"));
}

}  // namespace
}  // namespace warpsmith::kernelbench
