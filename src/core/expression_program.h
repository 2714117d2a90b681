// What an expression's text is translated to: code for a stack machine. No trees, so neither
// evaluating nor destroying one recurses, however long the text.
#ifndef WARPSMITH_CORE_EXPRESSION_PROGRAM_H_
#define WARPSMITH_CORE_EXPRESSION_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/expression.h"

namespace warpsmith {

enum class Opcode : uint8_t {
  kPush,  // value
  kLoad,  // names[value]
  kNegate,
  kNot,
  kTruth,
  kLog2Ceil,  // 1 operand
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,  // 2 operands
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kMin,
  kMax,
  kCeilDiv,
  kRoundUp,
  kJump,        // to code[value]
  kJumpIfZero,  // takes the operand
  kJumpIfTrue,
};

struct Instruction {
  Opcode opcode = Opcode::kPush;
  int64_t value = 0;
  uint16_t begin = 0, end = 0;  // its sub-expression in the text, for errors
};

struct Expression::Program {
  std::vector<Instruction> code;
  std::vector<std::string> names;
};

inline constexpr size_t kMaxExpressionBytes = 4096;
inline constexpr int kMaxExpressionDepth = 64;

Result<Expression::Program> TranslateExpression(std::string_view text);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_EXPRESSION_PROGRAM_H_
