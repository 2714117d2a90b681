#include "core/expression.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace warpsmith {

// What an expression's text is translated to: code for a stack machine. No trees, so neither
// evaluating nor destroying one recurses, however long the text.

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

namespace {

struct BinaryOperator {
  std::string_view sign;
  Opcode opcode;
  int precedence;  // higher binds tighter
};

// Longer signs before their own beginnings. || and && have levels 1 and 2.
constexpr std::array<BinaryOperator, 11> kBinaryOperators = {{{"==", Opcode::kEqual, 3},
                                                              {"!=", Opcode::kNotEqual, 3},
                                                              {"<=", Opcode::kLessEqual, 4},
                                                              {">=", Opcode::kGreaterEqual, 4},
                                                              {"<", Opcode::kLess, 4},
                                                              {">", Opcode::kGreater, 4},
                                                              {"+", Opcode::kAdd, 5},
                                                              {"-", Opcode::kSubtract, 5},
                                                              {"*", Opcode::kMultiply, 6},
                                                              {"/", Opcode::kDivide, 6},
                                                              {"%", Opcode::kModulo, 6}}};
constexpr int kTightest = 6;

struct FunctionName {
  std::string_view name;
  Opcode opcode;
  int arguments;
};

constexpr std::array<FunctionName, 5> kFunctions = {{{"min", Opcode::kMin, 2},
                                                     {"max", Opcode::kMax, 2},
                                                     {"ceil_div", Opcode::kCeilDiv, 2},
                                                     {"round_up", Opcode::kRoundUp, 2},
                                                     {"log2_ceil", Opcode::kLog2Ceil, 1}}};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsNameStart(char c) { return c == '_' || IsLetter(c); }

// Recursive descent; every way to nest passes through Nested(), which counts levels.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Expression::Program> Parse() {
    if (text_.size() > kMaxExpressionBytes) return Bad("at most 4096 bytes");
    TRY(Choice());
    SkipSpace();
    if (at_ != text_.size()) return Bad("an operator or the end");
    return std::move(program_);
  }

 private:
  // choice := or ("?" choice ":" choice)?
  Status Choice() {
    TRY(Nested());
    SkipSpace();
    const size_t begin = at_;
    TRY(Binary(1));
    if (Accept("?")) {
      const size_t to_else = Emit(Opcode::kJumpIfZero, 0, begin);
      TRY(Choice());
      if (!Accept(":")) return Bad("':'");
      const size_t to_end = Emit(Opcode::kJump, 0, begin);
      JumpsHere(to_else);
      TRY(Choice());
      JumpsHere(to_end);
    }
    --depth_;
    return {};
  }

  Status Binary(int precedence) {
    if (precedence <= 2) return ShortCircuit(precedence);
    if (precedence > kTightest) return Unary();
    SkipSpace();
    const size_t begin = at_;
    TRY(Binary(precedence + 1));
    while (const BinaryOperator* found = AcceptOperator(precedence)) {
      TRY(Binary(precedence + 1));
      Emit(found->opcode, 0, begin);
    }
    return {};
  }

  // a || b: a; if true push 1; else the truth of b. && likewise.
  Status ShortCircuit(int precedence) {
    const bool is_or = precedence == 1;
    SkipSpace();
    const size_t begin = at_;
    TRY(Binary(precedence + 1));
    while (Accept(is_or ? "||" : "&&")) {
      const size_t decided = Emit(is_or ? Opcode::kJumpIfTrue : Opcode::kJumpIfZero, 0, begin);
      TRY(Binary(precedence + 1));
      Emit(Opcode::kTruth, 0, begin);
      const size_t to_end = Emit(Opcode::kJump, 0, begin);
      JumpsHere(decided);
      Emit(Opcode::kPush, is_or ? 1 : 0, begin);
      JumpsHere(to_end);
    }
    return {};
  }

  Status Unary() {
    SkipSpace();
    const size_t begin = at_;
    const bool negates = Accept("-");
    if (negates && at_ < text_.size() && IsDigit(text_[at_])) return Number(begin);
    const bool inverts = !negates && !StartsWith("!=") && Accept("!");
    if (!negates && !inverts) return Primary();
    TRY(Nested());
    TRY(Unary());
    --depth_;
    Emit(negates ? Opcode::kNegate : Opcode::kNot, 0, begin);
    return {};
  }

  Status Primary() {
    SkipSpace();
    const size_t begin = at_;
    if (at_ == text_.size()) return Bad("a number, a name or '('");
    if (IsDigit(text_[at_])) return Number(begin);
    if (IsNameStart(text_[at_])) return NameOrCall(begin);
    if (!Accept("(")) return Bad("a number, a name or '('");
    TRY(Choice());
    if (!Accept(")")) return Bad("')'");
    return {};
  }

  // With the sign, so that the lowest 64-bit number can be written.
  Status Number(size_t begin) {
    int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto [rest, failed] = std::from_chars(text_.data() + begin, end, value);
    if (failed != std::errc()) return Bad("a number that fits into 64 bits");
    at_ = static_cast<size_t>(rest - text_.data());
    if (at_ < text_.size() && IsNameStart(text_[at_])) return Bad("an operator");
    Emit(Opcode::kPush, value, begin);
    return {};
  }

  Status NameOrCall(size_t begin) {
    while (at_ < text_.size() && (IsNameStart(text_[at_]) || IsDigit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    SkipSpace();
    if (StartsWith("(")) return Call(begin, name);
    auto found = std::ranges::find(program_.names, name);
    if (found == program_.names.end()) found = program_.names.emplace(found, name);
    Emit(Opcode::kLoad, found - program_.names.begin(), begin, begin + name.size());
    return {};
  }

  Status Call(size_t begin, std::string_view name) {
    const auto* const function = std::ranges::find(kFunctions, name, &FunctionName::name);
    if (function == kFunctions.end()) {
      at_ = begin;
      return Bad("one of the functions min, max, ceil_div, round_up, log2_ceil");
    }
    Accept("(");
    for (int i = 0; i < function->arguments; ++i) {
      if (i > 0 && !Accept(",")) return Bad("','");
      TRY(Choice());
    }
    if (!Accept(")")) return Bad("')'");
    Emit(function->opcode, 0, begin);
    return {};
  }

  Status Nested() {
    if (++depth_ > kMaxExpressionDepth) return Bad("at most 64 levels of nesting");
    return {};
  }

  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }
  bool StartsWith(std::string_view sign) const { return text_.substr(at_).starts_with(sign); }
  bool Accept(std::string_view sign) {
    SkipSpace();
    if (!StartsWith(sign)) return false;
    at_ += sign.size();
    return true;
  }
  const BinaryOperator* AcceptOperator(int precedence) {
    SkipSpace();
    for (const BinaryOperator& candidate : kBinaryOperators) {
      if (!StartsWith(candidate.sign)) continue;
      if (candidate.precedence != precedence) return nullptr;
      at_ += candidate.sign.size();
      return &candidate;
    }
    return nullptr;
  }

  size_t Emit(Opcode opcode, int64_t value, size_t begin) {
    return Emit(opcode, value, begin, at_);
  }
  size_t Emit(Opcode opcode, int64_t value, size_t begin, size_t end) {
    program_.code.push_back(
        {opcode, value, static_cast<uint16_t>(begin), static_cast<uint16_t>(end)});
    return program_.code.size() - 1;
  }
  void JumpsHere(size_t from) {
    program_.code[from].value = static_cast<int64_t>(program_.code.size());
  }

  Error Bad(std::string_view expected) const {
    return Error{ErrorCode::kBadInput,
                 "expression \"" + std::string(text_.substr(0, 200)) + "\": expected " +
                     std::string(expected) + " at column " + std::to_string(at_ + 1),
                 ""};
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  Expression::Program program_;
};

Result<Expression::Program> TranslateExpression(std::string_view text) {
  return Parser(text).Parse();
}

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
    const std::string known = Joined(sizes_, ", ", &Sizes::value_type::first);
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
