// Total integer expressions over named sizes, as launch plans and task files use them.
//
// Grammar: integers, names, + - * / % (Euclidean: floor toward -inf for /, result >= 0 for %),
// comparisons, && || !, ?:, parentheses, min(a,b), max(a,b), ceil_div(a,b), round_up(a,b),
// log2_ceil(a). Evaluation is checked: overflow of 64 bits, division by zero and unknown names are
// errors that name the sub-expression; nothing wraps. The side of && || ?: that is not taken is not
// evaluated. The limits on a text are below.
#ifndef WARPSMITH_CORE_EXPRESSION_H_
#define WARPSMITH_CORE_EXPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpsmith {

inline constexpr size_t kMaxExpressionBytes = 4096;
inline constexpr int kMaxExpressionDepth = 64;

using Sizes = std::map<std::string, int64_t, std::less<>>;

class Expression {
 public:
  // kBadInput, with the column, for what is no expression or beyond the limits above.
  static Result<Expression> Parse(std::string_view text);
  static Expression Constant(int64_t value);
  // For texts written in our own sources: a parse error is a bug.
  static Expression Literal(std::string_view text);

  // kBadInput: a name that `sizes` lacks, a division by zero, a result beyond 64 bits.
  Result<int64_t> Evaluate(const Sizes& sizes) const;
  const std::string& text() const { return text_; }
  bool operator==(const Expression& other) const { return text_ == other.text_; }

  struct Program;

 private:
  Expression(std::string text, std::shared_ptr<const Program> program);
  std::string text_;
  std::shared_ptr<const Program> program_;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_EXPRESSION_H_
