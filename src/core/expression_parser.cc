#include <algorithm>
#include <array>
#include <charconv>

#include "core/expression_program.h"

namespace warpsmith {
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
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

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

}  // namespace

Result<Expression::Program> TranslateExpression(std::string_view text) {
  return Parser(text).Parse();
}

}  // namespace warpsmith
