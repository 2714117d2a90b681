#include "task/check.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>

#include "core/tests/gemm_example.h"

namespace warpsmith::task {
namespace {

// The findings by name; a missing one is null.
const TaskFinding* Find(const std::vector<TaskFinding>& findings, const std::string& name) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const TaskFinding& one) { return one.name == name; });
  return found == findings.end() ? nullptr : &*found;
}

std::string NamesOf(const std::vector<TaskFinding>& findings) {
  std::string names;
  for (const TaskFinding& finding : findings) names += finding.name + " ";
  return names;
}

LaunchPlan PlanOver(std::initializer_list<const char*> tensors) {
  LaunchOperation launch;
  launch.kernel = "k";
  for (const char* tensor : tensors) launch.arguments.emplace_back(TensorArgument{tensor});
  LaunchPlan plan;
  plan.operations = {launch};
  return plan;
}

// Nothing is wrong with it.
Task GoodTask() {
  Task task;
  task.name = "scale";
  task.tensors = {{"x", DType::kF32, Role::kInput, {E("n")}},
                  {"y", DType::kF32, Role::kOutput, {E("n")}}};
  task.reference = {"cuda", {{"entry", "r.cu"}}, {{"r.cu", "reference"}}, PlanOver({"x", "y"})};
  task.tolerance.reduction_length = E("1");
  task.workloads = {{"big", {{"n", 1 << 24}}, 1, false}, {"odd", {{"n", 99991}}, 1, true}};
  Candidate current;
  current.sources = {{"mine.cu", "mine"}};
  current.entry = "mine.cu";
  current.plan = PlanOver({"x", "y"});
  task.rivals = {{"current", current}};
  task.baselines = {"current"};
  task.program = ProgramEntry{"void run(const float* x, float* y, int64_t n)", {"x", "y", "n"}};
  task.flops = E("n");
  return task;
}

void Finds(const Task& task, const std::string& name, Severity severity) {
  const auto findings = ExamineText(task);
  const TaskFinding* finding = Find(findings, name);
  ASSERT_NE(finding, nullptr) << name << " is not among: " << NamesOf(findings);
  EXPECT_EQ(Name(finding->severity), Name(severity)) << name << ": " << finding->what;
  EXPECT_FALSE(finding->what.empty());
  EXPECT_FALSE(finding->fix.empty());
  EXPECT_EQ((finding->what + finding->fix).find('\n'), std::string::npos);
}

TEST(TaskCheck, SaysNothingAboutAGoodTask) {
  EXPECT_EQ(NamesOf(ExamineText(GoodTask())), "");
  EXPECT_EQ(Worst({}), Severity::kNote);
}

TEST(TaskCheck, BuiltInProductsAreGoodButForHiddenSizes) {
  EXPECT_EQ(NamesOf(ExamineText(GemmTask())), "no-hidden-workload ");
}

TEST(TaskCheck, NamesWhatTheTextShows) {
  Task task = GoodTask();
  task.workloads.pop_back();
  Finds(task, "no-hidden-workload", Severity::kNote);

  task = GoodTask();
  task.flops = E("2 * m");
  Finds(task, "bad-expression", Severity::kRefuse);
  task.flops = Expression::Constant(0);
  Finds(task, "flops-unknown", Severity::kNote);

  task = GoodTask();
  task.tolerance.reduction_length = E("n / (n - n)");
  Finds(task, "bad-expression", Severity::kRefuse);
  task.tolerance.reduction_length = {};
  Finds(task, "no-tolerance", Severity::kRefuse);
  task.tolerance.absolute = 1;
  Finds(task, "reason-missing", Severity::kRefuse);

  for (const double bad : {-1.0, HUGE_VAL, std::nan("")}) {
    task = GoodTask();
    task.tolerance.relative = bad;
    task.tolerance.reason = "why not";
    Finds(task, "bad-tolerance", Severity::kRefuse);
    task = GoodTask();
    task.tolerance.absolute = bad;
    Finds(task, "bad-tolerance", Severity::kRefuse);
  }

  task = GoodTask();
  task.workloads = {};
  Finds(task, "no-workload", Severity::kRefuse);
  for (const int64_t size : {int64_t{0}, int64_t{-4}, int64_t{1} << 62, INT64_MAX}) {
    task = GoodTask();
    task.workloads[0].sizes["n"] = size;
    Finds(task, "bad-workload", Severity::kRefuse);
  }
  for (const double weight : {0.0, -1.0, HUGE_VAL}) {
    task = GoodTask();
    task.workloads[0].weight = weight;
    Finds(task, "bad-workload", Severity::kRefuse);
  }

  task = GoodTask();
  task.baselines = {"torch-best"};
  Finds(task, "unknown-baseline", Severity::kRefuse);
  task.baselines = {"torch"};
  Finds(task, "unknown-baseline", Severity::kRefuse);
  task.baselines = {"nobody"};
  Finds(task, "unknown-baseline", Severity::kRefuse);
  task.baselines = {};
  Finds(task, "no-baseline", Severity::kNote);

  task = GoodTask();
  task.rivals[0].candidate.sources["copy.cu"] = " refe\nrence";
  Finds(task, "self-referencing", Severity::kOutOfHeadlines);

  task = GoodTask();
  task.tensors[0].dtype = DType::kI32;
  Finds(task, "integers-without-range", Severity::kRefuse);
  task.tensors[0].generator = Generator::kIntegers;
  Finds(task, "integers-without-range", Severity::kRefuse);  // from 0 to below 0
  task.tensors[0].high = E("n");
  EXPECT_EQ(NamesOf(ExamineText(task)), "");
}

TEST(TaskCheck, FollowsTensorsIntoPlansAndCalls) {
  Task task = GoodTask();
  task.reference.plan = PlanOver({"x"});
  Finds(task, "unused-tensor", Severity::kRefuse);
  task.reference.plan = PlanOver({"y"});
  Finds(task, "unused-tensor", Severity::kNote);
  task.reference.plan = PlanOver({"x", "z"});
  Finds(task, "plan-does-not-fit", Severity::kRefuse);

  task = GoodTask();
  task.program->arguments = {"x", "x", "n"};
  Finds(task, "unused-tensor", Severity::kRefuse);
  task.program->arguments = {"x", "y"};
  Finds(task, "program-arguments", Severity::kRefuse);
  task.program->arguments = {"x", "y", "rows"};
  Finds(task, "program-arguments", Severity::kNote);
  task.program->declaration = "run";
  Finds(task, "program-arguments", Severity::kRefuse);
}

TEST(TaskCheck, AReferencesMemsetMayFillItsWiderOutputs) {
  Task task = GoodTask();  // its outputs are FP64 in the reference: 8 bytes each
  MemsetOperation memset;
  memset.target = "y";
  memset.bytes = E("8 * n");
  task.reference.plan->operations.emplace_back(memset);
  EXPECT_EQ(NamesOf(ExamineText(task)), "");
  task.reference.options["outputs"] = "f32";
  Finds(task, "plan-does-not-fit", Severity::kRefuse);
}

TEST(TaskCheck, KnowsAReferenceThatNobodyWroteYet) {
  Task task = GoodTask();
  task.reference = {"torch", {}, {{"reference.py", "raise NotImplementedError(\"...\")"}}, {}};
  Finds(task, "reference-unwritten", Severity::kRefuse);
  EXPECT_EQ(Worst(ExamineText(task)), Severity::kRefuse);
}

TEST(TaskCheck, DynamicSharedMemoryNeedsBytesInThePlan) {
  Task task = GoodTask();
  task.rivals[0].candidate.sources["mine.cu"] =
      "__global__ void k(float* y) { extern __align__(16) __shared__ float tile[]; }";
  Finds(task, "no-shared-bytes", Severity::kNote);
  auto& launch = std::get<LaunchOperation>(task.rivals[0].candidate.plan.operations[0]);
  launch.shared_bytes = E("64");
  EXPECT_EQ(NamesOf(ExamineText(task)), "");
}

TEST(TaskCheck, AKernelOfTwoDimensionsNeedsAPlanOfTwo) {
  Task task = GoodTask();
  task.rivals[0].candidate.sources["mine.cu"] =
      "__global__ void k(float* y) { y[blockIdx.y] = threadIdx.y; }";
  const auto findings = ExamineText(task);
  EXPECT_EQ(NamesOf(findings), "one-dimensional-plan ");
  EXPECT_EQ(findings.at(0).severity, Severity::kNote);
  EXPECT_THAT(findings.at(0).what, testing::HasSubstr("blockIdx.y, threadIdx.y"));
  auto& launch = std::get<LaunchOperation>(task.rivals[0].candidate.plan.operations[0]);
  launch.grid[1] = E("3");
  EXPECT_THAT(ExamineText(task).at(0).what, testing::Not(testing::HasSubstr("blockIdx.y")));
  launch.block[1] = E("2");
  EXPECT_EQ(NamesOf(ExamineText(task)), "");
}

TaskObservations GoodObservations() {
  TaskObservations seen;
  seen.workload = "big";
  seen.roofline_us = 20;
  return seen;
}

void Observes(const TaskObservations& seen, const std::string& names, Severity severity) {
  const auto findings = Examine(GoodTask(), seen);
  EXPECT_EQ(NamesOf(findings), names);
  EXPECT_EQ(Name(Worst(findings)), Name(severity)) << names;
}

TEST(TaskCheck, SaysNothingAboutGoodObservations) {
  Observes(GoodObservations(), "", Severity::kNote);
}

TEST(TaskCheck, NamesWhatTheDeviceShowed) {
  TaskObservations seen = GoodObservations();
  seen.reference_failure = "reference(): ValueError";
  Observes(seen, "reference-fails ", Severity::kRefuse);

  seen = GoodObservations();
  seen.trivial_answers = {"zeros", "a copy of x"};
  Observes(seen, "zero-friendly trivial-answer ", Severity::kOutOfHeadlines);
}

TEST(TaskCheck, WhatALaunchOutlastsIsLaunchBound) {
  TaskObservations seen = GoodObservations();
  seen.roofline_us = 1;
  Observes(seen, "launch-bound ", Severity::kOutOfHeadlines);
  seen.roofline_us = 0;  // nothing is known
  Observes(seen, "", Severity::kNote);
}

TEST(TaskCheck, HiddenWorkloadsMayBeSmall) {
  Task task = GoodTask();
  task.workloads.push_back({"tiny", {}, 1, true});
  TaskObservations seen = GoodObservations();
  seen.roofline_us = 1;
  seen.workload = "tiny";
  EXPECT_TRUE(Examine(task, seen).empty());
  task.workloads.back().hidden = false;
  EXPECT_EQ(Worst(Examine(task, seen)), Severity::kOutOfHeadlines);
}

}  // namespace
}  // namespace warpsmith::task
