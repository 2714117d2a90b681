// [program]: a declaration on the first line, then one argument a line.
#include "core/program_shim.h"
#include "fuzz.h"
#include "task/check.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto [declaration, rest] = fuzz::CutLine(fuzz::TextOf(data, size));
  Task task;
  task.tensors = {{"x", DType::kF32, Role::kOutput, {Expression::Literal("n")}}};
  task.program = ProgramEntry{std::string(declaration), {}};
  while (!rest.empty()) {
    const auto [argument, after] = fuzz::CutLine(rest);
    task.program->arguments.emplace_back(argument);
    rest = after;
  }
  Candidate program;
  program.form = Form::kProgram;
  const bool callable = CheckProgramEntry(task).ok();
  CHECK(callable == WithProgramShim(program, task, {"main", {{"n", 1}}}).ok());
  for (const auto& finding : task::ExamineText(task)) CHECK(!finding.what.empty());
  return 0;
}
