#include "core/expression.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "core/expression_program.h"

namespace warpsmith {
namespace {

using MaybeInt = std::optional<int64_t>;  // nothing: it does not fit into 64 bits

MaybeInt Add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? MaybeInt() : sum;
}
MaybeInt Subtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? MaybeInt() : difference;
}
MaybeInt Multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? MaybeInt() : product;
}

// b != 0. Only the lowest number by -1 overflows.
MaybeInt FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return Subtract(0, a);
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
MaybeInt CeilDivide(int64_t a, int64_t b) {
  if (b == -1) return Subtract(0, a);
  return a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0);
}
MaybeInt Modulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  if (remainder >= 0) return remainder;
  return b > 0 ? remainder + b : remainder - b;
}
MaybeInt RoundUp(int64_t a, int64_t b) { return Multiply(*CeilDivide(a, b), b); }

int64_t Log2Ceil(int64_t a) { return std::bit_width(static_cast<uint64_t>(a) - 1); }

bool Divides(Opcode opcode) {
  return opcode == Opcode::kDivide || opcode == Opcode::kModulo || opcode == Opcode::kCeilDiv;
}

MaybeInt ApplyBinary(Opcode opcode, int64_t a, int64_t b) {
  switch (opcode) {
    case Opcode::kAdd:
      return Add(a, b);
    case Opcode::kSubtract:
      return Subtract(a, b);
    case Opcode::kMultiply:
      return Multiply(a, b);
    case Opcode::kDivide:
      return FloorDivide(a, b);
    case Opcode::kModulo:
      return Modulo(a, b);
    case Opcode::kLess:
      return a < b ? 1 : 0;
    case Opcode::kLessEqual:
      return a <= b ? 1 : 0;
    case Opcode::kGreater:
      return a > b ? 1 : 0;
    case Opcode::kGreaterEqual:
      return a >= b ? 1 : 0;
    case Opcode::kEqual:
      return a == b ? 1 : 0;
    case Opcode::kNotEqual:
      return a != b ? 1 : 0;
    case Opcode::kMin:
      return std::min(a, b);
    case Opcode::kMax:
      return std::max(a, b);
    case Opcode::kCeilDiv:
      return CeilDivide(a, b);
    case Opcode::kRoundUp:
      return RoundUp(a, b);
    default:
      break;
  }
  std::abort();
}

MaybeInt ApplyUnary(Opcode opcode, int64_t a) {
  switch (opcode) {
    case Opcode::kNegate:
      return Subtract(0, a);
    case Opcode::kNot:
      return a == 0 ? 1 : 0;
    case Opcode::kTruth:
      return a != 0 ? 1 : 0;
    case Opcode::kLog2Ceil:
      return Log2Ceil(a);
    default:
      break;
  }
  std::abort();
}

bool IsUnary(Opcode opcode) { return opcode >= Opcode::kNegate && opcode <= Opcode::kLog2Ceil; }

// One evaluation. Jumps only lead forward, so it ends after at most one pass over the code.
class Machine {
 public:
  Machine(std::string_view text, const Expression::Program& program, const Sizes& sizes)
      : text_(text), program_(program), sizes_(sizes) {}

  Result<int64_t> Run() {
    size_t next = 0;
    while (next < program_.code.size()) {
      const Instruction& instruction = program_.code[next++];
      if (instruction.opcode >= Opcode::kJump) {
        if (Jumps(instruction.opcode)) next = static_cast<size_t>(instruction.value);
      } else {
        stack_.push_back(TRY(Compute(instruction)));
      }
    }
    CHECK(stack_.size() == 1);
    return stack_.back();
  }

 private:
  bool Jumps(Opcode opcode) {
    if (opcode == Opcode::kJump) return true;
    return (Pop() == 0) == (opcode == Opcode::kJumpIfZero);
  }

  Result<int64_t> Compute(const Instruction& instruction) {
    const Opcode opcode = instruction.opcode;
    if (opcode == Opcode::kPush) return instruction.value;
    if (opcode == Opcode::kLoad) return Load(instruction);
    const int64_t b = Pop();
    MaybeInt value;
    if (IsUnary(opcode)) {
      if (opcode == Opcode::kLog2Ceil && b < 1) {
        return Bad(instruction, "has an operand below 1 (" + std::to_string(b) + ")");
      }
      value = ApplyUnary(opcode, b);
    } else {
      if (Divides(opcode) && b == 0) return Bad(instruction, "divides by zero");
      if (opcode == Opcode::kRoundUp && b < 1) {
        return Bad(instruction, "rounds to a multiple of " + std::to_string(b));
      }
      value = ApplyBinary(opcode, Pop(), b);
    }
    if (!value.has_value()) return Bad(instruction, "overflows 64 bits");
    return *value;
  }

  Result<int64_t> Load(const Instruction& instruction) const {
    const std::string& name = program_.names[static_cast<size_t>(instruction.value)];
    const auto found = sizes_.find(name);
    if (found != sizes_.end()) return found->second;
    std::string known;
    for (const auto& [size, value] : sizes_) known += (known.empty() ? "" : ", ") + size;
    return Bad(instruction, "is not a known name; known: " + (known.empty() ? "none" : known));
  }

  int64_t Pop() {
    const int64_t value = stack_.back();
    stack_.pop_back();
    return value;
  }

  Error Bad(const Instruction& instruction, const std::string& what) const {
    const std::string part(
        text_.substr(instruction.begin, std::min(instruction.end - instruction.begin, 200)));
    const std::string whole =
        part.size() == text_.size() ? "" : " (in \"" + std::string(text_.substr(0, 200)) + "\")";
    return Error{ErrorCode::kBadInput, "expression \"" + part + "\"" + whole + " " + what, ""};
  }

  std::string_view text_;
  const Expression::Program& program_;
  const Sizes& sizes_;
  std::vector<int64_t> stack_;
};

}  // namespace

Expression::Expression(std::string text, std::shared_ptr<const Program> program)
    : text_(std::move(text)), program_(std::move(program)) {}

Result<Expression> Expression::Parse(std::string_view text) {
  auto program = std::make_shared<Program>(TRY(TranslateExpression(text)));
  return Expression(std::string(text), std::move(program));
}

Expression Expression::Constant(int64_t value) {
  auto program = std::make_shared<Program>();
  program->code.push_back({Opcode::kPush, value, 0, 0});
  return {std::to_string(value), std::move(program)};
}

Expression Expression::Literal(std::string_view text) {
  Result<Expression> parsed = Parse(text);
  if (!parsed.ok()) std::fprintf(stderr, "%s\n", parsed.error().Line().c_str());
  CHECK(parsed.ok());
  return std::move(parsed).value();
}

Result<int64_t> Expression::Evaluate(const Sizes& sizes) const {
  return Machine(text_, *program_, sizes).Run();
}

}  // namespace warpsmith
