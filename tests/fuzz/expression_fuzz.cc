// Expressions of plans and task files: total, and equal to themselves when written and read.
#include "core/expression.h"
#include "fuzz.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = Expression::Parse(fuzz::TextOf(data, size));
  const Expression* expression = fuzz::ValueOf(parsed);
  if (expression == nullptr) return 0;
  const auto again = Expression::Parse(expression->text());
  CHECK(again.ok() && *again == *expression);
  for (const Sizes& sizes : {Sizes{}, Sizes{{"M", 512}, {"N", 7}, {"K", 1}},
                             Sizes{{"M", INT64_MAX}, {"N", INT64_MIN}, {"K", -1}}}) {
    const auto value = expression->Evaluate(sizes);
    const auto same = again->Evaluate(sizes);
    if (fuzz::ValueOf(value)) {
      CHECK(same.ok() && *same == *value);
    } else {
      CHECK(!same.ok());
    }
  }
  return 0;
}
