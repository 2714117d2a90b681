// Which of cuBLAS's and cuBLASLt's ways is the bar, chosen in real runner processes over the fake
// driver: its cuBLASLt (cuda/fake/fake_cublaslt.cc) has another best one in each mode, and one that
// only looks best where every call has the same operands.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "cuda/fake/fake_control.h"
#include "judge/baseline/choice_cache.h"
#include "judge/baseline/contest.h"
#include "judge/fake/host_kernels.h"
#include "judge/local_device.h"

namespace warpsmith::judge {
namespace {

using baseline::CallOf;
using baseline::GemmBaselineChoice;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The third word of the fake's algorithms: which one it is.
constexpr int kFirstAnswer = 0, kReplayed = 2, kSubmitted = 3, kHidden = 4;

int KindOf(const GemmBaselineChoice& choice) {
  return choice.algorithm ? static_cast<int>(choice.algorithm->bytes[2]) : -1;
}

Task Product() {
  const Expression m = Expression::Literal("M"), n = Expression::Literal("N"),
                   k = Expression::Literal("K");
  Task task;
  task.name = "gemm";
  task.tensors = {{"A", DType::kF16, Role::kInput, {m, k}, Generator::kNormal},
                  {"B", DType::kF16, Role::kInput, {k, n}, Generator::kNormal},
                  {"C", DType::kF16, Role::kOutput, {m, n}, Generator::kNormal}};
  task.reference = {"gemm", {{"layout", "NN"}}};
  task.tolerance.reduction_length = k;
  return task;
}

class LibraryContestOverFakeDriver : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::make_unique<TemporaryDirectory>(
        std::move(TemporaryDirectory::Create("contest-test")).value());
    const auto libraries = folder_->path() / "cuda" / "lib64";
    std::filesystem::create_directories(libraries);
    for (const char* name : {"libcublasLt.so.13", "libcublas.so.13"}) {
      std::filesystem::create_symlink(cuda::fake::CublasLtPath(), libraries / name);
    }
    setenv("CUDA_HOME", (folder_->path() / "cuda").c_str(), 1);
    setenv("XDG_STATE_HOME", folder_->path().c_str(), 1);
    setenv("XDG_DATA_HOME", folder_->path().c_str(), 1);
    fake::DefineKernels();
    Reopen();
  }

  void Reopen() {
    device_.reset();
    LocalDeviceOptions options;
    options.kernels = fake::KernelImage();
    options.standalone_argv = {"/bin/false"};
    auto device = LocalDevice::Open(std::move(options));
    ASSERT_TRUE(device.ok()) << device.error().Line();
    device_ = std::move(device).value();
  }

  ModeChoices Choose(const ChoiceRequest& request) {
    const Workload workload{"w", {{"M", 16}, {"N", 16}, {"K", 16}}, 1, false};
    auto choices = device_->Choose(Product(), workload, request);
    EXPECT_TRUE(choices.ok()) << choices.error().Line();
    return choices.ok() ? *std::move(choices) : ModeChoices();
  }

  baseline::ChoiceCache Cache() const {
    return baseline::ChoiceCache::Default(
        {device_->Info().name, device_->Info().driver, "cuBLASLt 13.99.0"});
  }

  std::unique_ptr<TemporaryDirectory> folder_;
  std::unique_ptr<LocalDevice> device_;
};

TEST_F(LibraryContestOverFakeDriver, EveryModeGetsItsOwnBest) {
  const ModeChoices choices = Choose(
      {"cublaslt-auto", {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline, Mode::kServer}});
  ASSERT_EQ(choices.size(), 4U);
  // One set of operands, timed again and again, would have made it kReuser in all of them.
  EXPECT_EQ(KindOf(choices.at(Mode::kDeviceHot)), kReplayed);
  EXPECT_EQ(KindOf(choices.at(Mode::kDeviceCold)), kReplayed);
  EXPECT_EQ(KindOf(choices.at(Mode::kOffline)), kSubmitted);
  EXPECT_THAT(CallOf(choices.at(Mode::kServer)), StartsWith("cublasGemmEx"));
  EXPECT_NEAR(choices.at(Mode::kDeviceHot).median_us, 1000, 1);
  EXPECT_NEAR(choices.at(Mode::kOffline).median_us, 1500, 1);
  EXPECT_LT(choices.at(Mode::kServer).median_us, 300) << "what cuBLASLt takes to submit a product";
  for (const auto& [mode, choice] : choices) {
    EXPECT_EQ(choice.mode, mode);
    EXPECT_EQ(choice.tried, 10) << "four answers and cublasGemmEx, in two layouts";
    EXPECT_EQ(choice.contest, baseline::ContestId());
  }
}

TEST_F(LibraryContestOverFakeDriver, ANameWithoutChoiceIsNotTimed) {
  const ModeChoices choices = Choose({"cublaslt-heuristic-tn", {Mode::kDeviceHot, Mode::kServer}});
  EXPECT_EQ(KindOf(choices.at(Mode::kServer)), kFirstAnswer);
  EXPECT_EQ(choices.at(Mode::kDeviceHot).median_us, 0);
  EXPECT_EQ(choices.at(Mode::kDeviceHot).shape.layout, cuda::GemmLayout::kTN);
}

TEST_F(LibraryContestOverFakeDriver, ChoicesAreKeptByModeAndTheBestOfEachLayoutBesideThem) {
  (void)Choose({"cublaslt-auto", {Mode::kOffline}});
  const baseline::ChoiceKey key{{baseline::GemmLibrary::kLtAuto, {}}, {16, 16, 16}, Mode::kOffline};
  ASSERT_TRUE(Cache().Find(key).value().has_value());
  baseline::ChoiceKey hot = key;
  hot.mode = Mode::kDeviceHot;
  EXPECT_EQ(Cache().Find(hot).value(), std::nullopt);
  for (const auto layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
    baseline::ChoiceKey of_layout = key;
    of_layout.name.layout = layout;
    const auto found = Cache().Find(of_layout).value();
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->shape.layout, layout);
    EXPECT_EQ(KindOf(*found), kSubmitted);
    EXPECT_EQ(found->tried, 4);
  }
}

// A wrong one in the cache: taken as it is until the choice is made again.
TEST_F(LibraryContestOverFakeDriver, WhatIsKnownIsTakenUntilItIsChosenAgain) {
  GemmBaselineChoice wrong = Choose({"cublaslt-auto", {Mode::kDeviceHot}}).at(Mode::kDeviceHot);
  wrong.algorithm->bytes[2] = kFirstAnswer;
  ASSERT_TRUE(Cache().Put(std::vector{wrong}).ok());
  Reopen();
  EXPECT_EQ(KindOf(Choose({"cublaslt-auto", {Mode::kDeviceHot}}).at(Mode::kDeviceHot)),
            kFirstAnswer);
  ChoiceRequest again{"cublaslt-auto", {Mode::kDeviceHot}};
  again.again = true;
  EXPECT_EQ(KindOf(Choose(again).at(Mode::kDeviceHot)), kReplayed);
  Reopen();
  EXPECT_EQ(KindOf(Choose({"cublaslt-auto", {Mode::kDeviceHot}}).at(Mode::kDeviceHot)), kReplayed);
}

TEST_F(LibraryContestOverFakeDriver, AnExhaustiveListHasWhatTheHeuristicDoesNotKnow) {
  ChoiceRequest request{"cublaslt-auto", {Mode::kDeviceHot, Mode::kOffline}};
  request.exhaustive_seconds = 5;
  const ModeChoices choices = Choose(request);
  for (const Mode mode : request.modes) {
    EXPECT_EQ(KindOf(choices.at(mode)), kHidden) << Name(mode);
    EXPECT_TRUE(choices.at(mode).exhaustive);
    // Ten, and in each layout three tiles in three clusters.
    EXPECT_EQ(choices.at(mode).tried, 10 + 2 * 3 * 3);
  }
  ChoiceRequest again{"cublaslt-auto", {Mode::kDeviceHot}};
  again.again = true;
  EXPECT_EQ(KindOf(Choose(again).at(Mode::kDeviceHot)), kHidden) << "it takes part, too";
}

TEST_F(LibraryContestOverFakeDriver, ATaskThatIsNoProductHasNoLibrary) {
  Task task = Product();
  task.reference.kind = "oracle of Delphi";
  const Workload workload{"w", {{"M", 16}, {"N", 16}, {"K", 16}}, 1, false};
  EXPECT_FALSE(device_->Choose(task, workload, {"cublaslt-auto", {Mode::kDeviceHot}}).ok());
}

}  // namespace
}  // namespace warpsmith::judge
