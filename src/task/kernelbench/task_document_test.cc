#include "task/kernelbench/task_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "task/kernelbench/task_folder.h"

namespace warpsmith::kernelbench {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const TaskNames kNames = {"set/level1/1_p", "somewhere"};

TEST(Identifier, IsAlwaysOne) {
  EXPECT_EQ(Identifier("conv.weight"), "conv_weight");
  EXPECT_EQ(Identifier("0"), "param_0");
  EXPECT_EQ(Identifier(""), "param_");
  EXPECT_EQ(Identifier("register"), "param_register");
}

ModuleInspection DocumentModule() {
  return {
      .inputs = {{{"x", DType::kF32, {4, 5}}, "", ""}, {{"s", DType::kF32, {}}, "double", "2.5"}},
      .parameters = {{"x", DType::kF32, {5}}, {"net.0.bias", DType::kF32, {5}}},
      .outputs = {{"output", DType::kF32, {}}},
      .bytes = 124};
}

TEST(ModuleTask, CallsWithOutputsInputsThenState) {
  const json task = ModuleTask(kNames, DocumentModule(), "model.py").value();
  EXPECT_EQ(task["program"]["declaration"],
            "extern \"C\" void launch_gpu_implementation(void* output, const void* x, double s, "
            "const void* param_x, const void* net_0_bias)");
  EXPECT_EQ(task["program"]["arguments"], json({"output", "x", "2.5", "param_x", "net_0_bias"}));
  EXPECT_EQ(task["tolerance"]["absolute"], 1e-4);
  EXPECT_EQ(task["tensors"][0]["shape"], json({1}));  // a single value
  EXPECT_FALSE(task["tensors"][0].contains("generator"));
  EXPECT_EQ(task["tensors"][1]["generator"], "reference");
}

TEST(ModuleTask, WantsWholeNumbersToBeEqual) {
  ModuleInspection indices = DocumentModule();
  indices.outputs = {{"output", DType::kI64, {4}}};
  const json whole = ModuleTask(kNames, indices, "model.py").value();
  EXPECT_LT(whole["tolerance"]["absolute"].get<double>(), 1);
  EXPECT_EQ(whole["tolerance"]["relative"], 0);
  EXPECT_THAT(whole["tolerance"]["reason"].get<std::string>(), HasSubstr("must be equal"));
  indices.outputs.push_back({"output1", DType::kF32, {4}});
  const json mixed = ModuleTask(kNames, indices, "model.py").value();
  EXPECT_EQ(mixed["tolerance"]["relative"], 1e-4);
}

TEST(ModuleTask, IsATaskThatCanBeRead) {
  const auto folder = TemporaryDirectory::Create("task").value();
  ASSERT_TRUE(WriteFiles(folder.path(), {{"model.py", "# text\n"}}).ok());
  const auto bytes = WriteTask(folder.path(), *ModuleTask(kNames, DocumentModule(), "model.py"));
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  EXPECT_EQ(*bytes, 4 + 80 + 20 + 20);
  ModuleInspection whole = DocumentModule();
  whole.outputs = {{"output", DType::kBool, {4}}};
  EXPECT_TRUE(WriteTask(folder.path(), *ModuleTask(kNames, whole, "model.py")).ok());
  EXPECT_TRUE(IsDone(folder.path(), {{"model.py", "# text\n"}}));
  EXPECT_FALSE(IsDone(folder.path(), {{"model.py", "# other\n"}}));
  EXPECT_FALSE(IsDone(folder.path(), {{"init/init.cu", ""}}));
}

TEST(ModuleTask, RefusesMoreTensorsThanTheJudgeTakes) {
  ModuleInspection deep = DocumentModule();
  for (size_t i = 0; i < kMostTensors - 2; ++i) {
    deep.parameters.push_back({"p" + std::to_string(i), DType::kF32, {1}});
  }
  EXPECT_THAT(ModuleTask(kNames, deep, "model.py").error().message, HasSubstr("122 tensors"));
}

LaunchDeclaration Launch() {
  return {.c_linkage = false,
          .returns = "void",
          .parameters = {{"void*", "out"}, {"void*", "x"}, {"void**", "list"}, {"int", "n"}}};
}

DriverDescription DocumentDriver() {
  return {.tensors = {{{"out", DType::kF16, {8}}, true}, {{"x", DType::kF16, {8}}, false}},
          .arguments = {{{0}, false, ""}, {{1}, false, ""}, {{1, 0}, true, ""}, {{}, false, "8"}},
          .absolute = 0.1,
          .relative = 0.2};
}

TEST(DriverTask, WritesArgumentsAsTheShimTakesThem) {
  const json task = DriverTask(kNames, DocumentDriver(), Launch()).value();
  EXPECT_EQ(task["program"]["arguments"],
            json({"out", "x", "std::vector<void*>{tensors[1], tensors[0]}.data()", "8"}));
  EXPECT_EQ(task["tolerance"]["relative"], 0.2);
  EXPECT_THAT(task["tolerance"]["reason"].get<std::string>(), HasSubstr("rtol=0.2, atol=0.1"));
  EXPECT_FALSE(task.contains("baselines"));
}

TEST(DriverTask, IsATaskThatCanBeRead) {
  const auto folder = TemporaryDirectory::Create("task").value();
  ASSERT_TRUE(WriteFiles(folder.path(), {{"driver.cpp", "//\n"}, {"launch.inc", "//\n"}}).ok());
  const auto bytes = WriteTask(folder.path(), *DriverTask(kNames, DocumentDriver(), Launch()));
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  EXPECT_EQ(*bytes, 32);
}

TEST(DriverTask, HoldsTheCallToItsDeclaration) {
  DriverDescription driver = DocumentDriver();
  driver.arguments.pop_back();
  EXPECT_THAT(DriverTask(kNames, driver, Launch()).error().message, HasSubstr("3 arguments"));
}

TEST(ReadDescription, GivesTheReason) {
  EXPECT_EQ(ReadDescription(R"({"error": "it throws"})").error().message, "it throws");
  EXPECT_FALSE(ReadDescription(R"({"error": "", "tensors": [], "comparisons": [],
      "arguments": [{"name": "x", "tensors": [0], "array": false}]})")
                   .ok());
}

}  // namespace
}  // namespace warpsmith::kernelbench
