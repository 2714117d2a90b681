#include "core/program_shim.h"

#include <gmock/gmock.h>

namespace warpsmith {
namespace {

using testing::HasSubstr;

Task TaskWith(const std::string& declaration, const std::vector<std::string>& arguments) {
  Task task;
  task.name = "t";
  task.tensors = {{"x", DType::kF32, Role::kInput, {Expression::Literal("N")}},
                  {"out", DType::kF32, Role::kOutput, {Expression::Literal("N")}}};
  task.program = ProgramEntry{declaration, arguments};
  return task;
}

Candidate Program() {
  Candidate candidate;
  candidate.form = Form::kProgram;
  candidate.toolchain = "nvcc";
  candidate.entry = "a.cu";
  candidate.sources["a.cu"] = "";
  return candidate;
}

const Workload kWorkload{"w", {{"N", 7}, {"low", -3}}, 1, false};

Result<std::string> ShimOf(const Task& task, const Workload& workload = kWorkload) {
  const Candidate whole = TRY(WithProgramShim(Program(), task, workload));
  return whole.sources.at(whole.entry);
}

std::string ShimTextOf(const std::string& declaration, const std::vector<std::string>& arguments) {
  const auto shim = ShimOf(TaskWith(declaration, arguments));
  EXPECT_TRUE(shim.ok()) << shim.error().Line();
  return shim.ok() ? *shim : "";
}

TEST(ProgramShim, CallsWithTensorsInTheTasksOrderAndSizesInScope) {
  const std::string shim = ShimTextOf(
      "void run(float* out, const float* __restrict__ in, int64_t n);", {"out", "x", "N * 2"});
  EXPECT_THAT(shim, HasSubstr("\nvoid run(float* out, const float* __restrict__ in, int64_t n);"));
  EXPECT_THAT(shim, HasSubstr("const int64_t N = INT64_C(7);"));
  EXPECT_THAT(shim, HasSubstr("const int64_t low = INT64_C(-3);"));
  EXPECT_THAT(shim, HasSubstr("static_cast<float*>(tensors[1])"));
  EXPECT_THAT(shim, HasSubstr("static_cast<const float*>(tensors[0])"));
  EXPECT_THAT(shim, HasSubstr("N * 2);"));
}

TEST(ProgramShim, UnderstandsWhatPeopleDeclare) {
  EXPECT_THAT(ShimTextOf("void f(void*, const void *)", {"out", "x"}),
              HasSubstr("static_cast<const void*>(tensors[0])"));
  EXPECT_THAT(ShimTextOf("extern \"C\" int f(float x[], bool b, float s)", {"x", "true", "1.5f"}),
              HasSubstr("static_cast<float*>(tensors[0]),\n      true,\n      1.5f"));
  EXPECT_THAT(ShimTextOf("void f(const std::vector<std::pair<int, int>>& shape, void* o)",
                         {"{{1, int(N)}}", "out"}),
              HasSubstr("f({{1, int(N)}},\n      static_cast<void*>(tensors[1]))"));
  EXPECT_THAT(ShimTextOf("void f(void)", {}), HasSubstr("  f();"));
}

TEST(ProgramShim, RefusesWhatItCannotCall) {
  const auto refused = [](const std::string& declaration, const std::vector<std::string>& list) {
    const auto shim = ShimOf(TaskWith(declaration, list));
    return !shim.ok() && shim.error().code == ErrorCode::kBadInput;
  };
  EXPECT_TRUE(refused("void f(float* out)", {}));
  EXPECT_TRUE(refused("void f(at::Tensor out)", {"out"}));
  EXPECT_TRUE(refused("f(float* out)", {"out"})) << "no return type";
  EXPECT_TRUE(refused("void f", {}));
  EXPECT_TRUE(refused("void f() {} void g()", {}));
  EXPECT_TRUE(refused("#include <x>\nvoid f()", {}));
  Task silent = TaskWith("void f()", {});
  silent.program.reset();
  EXPECT_FALSE(ShimOf(silent).ok());
}

TEST(ProgramShim, SizesCannotSmuggleCode) {
  const Task task = TaskWith("void f()", {});
  EXPECT_FALSE(ShimOf(task, {"w", {{"N = 0; int g", 1}}, 1, false}).ok());
  EXPECT_FALSE(ShimOf(task, {"w", {{"", 1}}, 1, false}).ok());
  EXPECT_FALSE(ShimOf(task, {"w", {{"2N", 1}}, 1, false}).ok());
}

TEST(ProgramShim, LeavesTheCandidateItself) {
  const Task task = TaskWith("void f()", {});
  Candidate candidate = Program();
  candidate.sources["warpsmith_shim.cpp"] = "mine";
  const auto whole = WithProgramShim(candidate, task, kWorkload);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->sources.at("warpsmith_shim.cpp"), "mine");
  EXPECT_EQ(whole->sources.size(), 3U);
  candidate.form = Form::kKernel;
  EXPECT_EQ(CandidateId(*WithProgramShim(candidate, task, kWorkload)), CandidateId(candidate));
}

TEST(ProgramShim, HoldsNoMoreThanOneDeclarationAndOneCall) {
  const auto refuses = [](const std::string& declaration, const std::string& argument) {
    return !CheckProgramEntry(TaskWith(declaration, {argument})).ok();
  };
  EXPECT_FALSE(refuses("void f(float* y)", "out"));
  EXPECT_FALSE(refuses("void f(std::array<int, 2> y)", "std::array<int, 2>{int(N), (1 + 2)}"));
  EXPECT_TRUE(refuses("void f(void* y); } void g() { ; } namespace {", "out"));
  for (const char* argument : {"0); system(0", "0; abort()", "0) + (0", "", "{1", "\"x\"", "0 #"}) {
    EXPECT_TRUE(refuses("void f(int y)", argument)) << argument;
  }
}

}  // namespace
}  // namespace warpsmith
