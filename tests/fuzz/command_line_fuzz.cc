// Words of a command line that have a grammar of their own; the first line says which.
#include "core/step.h"
#include "fuzz.h"
#include "judge/profile/ncu_report.h"
#include "task/hgemm_task.h"

using namespace warpsmith;

namespace {

void Shapes(std::string_view text) {
  const auto shapes = task::ParseHgemmShapes(text);
  if (fuzz::ValueOf(shapes) == nullptr) return;
  CHECK(!shapes->empty());
  for (const task::HgemmShape& shape : *shapes) {
    CHECK(task::ParseHgemmShape(task::Name(shape)).value() == shape);
    CHECK(task::ShapeOf(task::HgemmWorkload(shape)) == shape);
  }
}

void Limits(std::string_view text) {
  const auto budget = ParseBudget(text);
  if (fuzz::ValueOf(budget) == nullptr) return;
  CHECK(budget->evaluations >= 0 && budget->tokens >= 0);
  CHECK(budget->gpu_seconds >= 0 && budget->wall_seconds >= 0 && budget->money >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [kind, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  if (kind == "shapes") Shapes(text);
  if (kind == "budget") Limits(text);
  if (kind == "ncu") profile::NcuVersion(text);
  return 0;
}
