#include "core/expression.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <limits>
#include <optional>

namespace warpsmith {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

int64_t ValueOf(std::string_view text, const Sizes& sizes = {}) {
  const auto expression = Expression::Parse(text);
  EXPECT_TRUE(expression.ok()) << expression.error().message;
  const auto value = expression->Evaluate(sizes);
  EXPECT_TRUE(value.ok()) << value.error().message;
  return value.ok() ? *value : -999;
}

std::string ParseError(std::string_view text) {
  const auto expression = Expression::Parse(text);
  return expression.ok() ? "" : expression.error().message;
}

std::string EvaluationError(std::string_view text, const Sizes& sizes = {}) {
  const auto value = Expression::Literal(text).Evaluate(sizes);
  return value.ok() ? "" : value.error().message;
}

TEST(Expression, BindsAsInC) {
  EXPECT_EQ(ValueOf("1 + 2 * 3"), 7);
  EXPECT_EQ(ValueOf("10 - 3 - 2"), 5);
  EXPECT_EQ(ValueOf("100 / 10 / 5"), 2);
  EXPECT_EQ(ValueOf("1 < 2 == 1"), 1);
  EXPECT_EQ(ValueOf("1 || 0 && 0"), 1);
  EXPECT_EQ(ValueOf("-2 * -3"), 6);
  EXPECT_EQ(ValueOf("- 2 - -3"), 1);
  EXPECT_EQ(ValueOf("!0 + !5"), 1);
  EXPECT_EQ(ValueOf("0 ? 1 : 0 ? 2 : 3"), 3);
  EXPECT_EQ(ValueOf("1 ? 2 : 3 + 10"), 2);
  EXPECT_EQ(ValueOf("(1 + 2) * 3"), 9);
  EXPECT_EQ(ValueOf("5 && 7"), 1);
  EXPECT_EQ(ValueOf("1 <= 1 && 2 >= 2 && 1 != 2 && !(1 > 2)"), 1);
}

TEST(Expression, DividesDownwardsWithRemaindersFromZero) {
  EXPECT_EQ(ValueOf("7 / 2"), 3);
  EXPECT_EQ(ValueOf("-7 / 2"), -4);
  EXPECT_EQ(ValueOf("7 / -2"), -4);
  EXPECT_EQ(ValueOf("-7 % 2"), 1);
  EXPECT_EQ(ValueOf("-7 % -2"), 1);
  EXPECT_EQ(ValueOf("7 % -2"), 1);
  EXPECT_EQ(ValueOf("ceil_div(7, 2)"), 4);
  EXPECT_EQ(ValueOf("ceil_div(-7, 2)"), -3);
  EXPECT_EQ(ValueOf("round_up(65, 64)"), 128);
  EXPECT_EQ(ValueOf("round_up(-65, 64)"), -64);
  EXPECT_EQ(ValueOf("log2_ceil(1) + log2_ceil(2) + log2_ceil(9)"), 5);
  EXPECT_EQ(ValueOf("min(3, -4) + max(3, -4)"), -1);
}

TEST(Expression, ReadsSizes) {
  const Sizes sizes{{"M", 300}, {"sm_count", 132}};
  EXPECT_EQ(ValueOf("min(ceil_div(M, 128), sm_count)", sizes), 3);
  EXPECT_THAT(EvaluationError("M * K", sizes),
              HasSubstr("\"K\" (in \"M * K\") is not a known name; known: M, sm_count"));
}

TEST(Expression, KnowsTheWholeRange) {
  EXPECT_EQ(ValueOf("-9223372036854775808"), kLowest);
  EXPECT_EQ(ValueOf("9223372036854775807"), kHighest);
  EXPECT_THAT(ParseError("9223372036854775808"), HasSubstr("64 bits"));
  EXPECT_EQ(Expression::Constant(kLowest).Evaluate({}).value(), kLowest);
  EXPECT_EQ(ValueOf(Expression::Constant(kLowest).text()), kLowest);
  EXPECT_EQ(ValueOf("(-9223372036854775808) % -1"), 0);
}

TEST(Expression, NamesWhatOverflows) {
  const Sizes sizes{{"M", kHighest}};
  EXPECT_THAT(EvaluationError("1 + 2 * M", sizes), HasSubstr("\"2 * M\""));
  EXPECT_THAT(EvaluationError("M + 1", sizes), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(EvaluationError("-(-M - 1)", sizes), HasSubstr("overflows"));
  EXPECT_THAT(EvaluationError("(-M - 1) / -1", sizes), HasSubstr("overflows"));
  EXPECT_THAT(EvaluationError("ceil_div(-M - 1, -1)", sizes), HasSubstr("overflows"));
  EXPECT_THAT(EvaluationError("round_up(M, 64)", sizes), HasSubstr("overflows"));
  EXPECT_THAT(EvaluationError("M / (M - M)", sizes), HasSubstr("divides by zero"));
  EXPECT_THAT(EvaluationError("M % 0", sizes), HasSubstr("divides by zero"));
  EXPECT_THAT(EvaluationError("log2_ceil(0)"), HasSubstr("below 1"));
  EXPECT_THAT(EvaluationError("round_up(4, 0)"), HasSubstr("multiple of 0"));
}

TEST(Expression, EvaluatesOnlyTheSideThatIsTaken) {
  EXPECT_EQ(ValueOf("B != 0 && 10 % B == 0", {{"B", 0}}), 0);
  EXPECT_EQ(ValueOf("1 || nothing"), 1);
  EXPECT_EQ(ValueOf("1 ? 5 : nothing"), 5);
  EXPECT_NE(EvaluationError("0 ? 5 : nothing"), "");
}

TEST(Expression, RefusesWhatIsNotOne) {
  EXPECT_THAT(ParseError(""), HasSubstr("column 1"));
  EXPECT_THAT(ParseError("1 +"), HasSubstr("a number, a name or '(' at column 4"));
  EXPECT_THAT(ParseError("1 2"), HasSubstr("an operator or the end at column 3"));
  EXPECT_THAT(ParseError("(1"), HasSubstr("')'"));
  EXPECT_THAT(ParseError("1 ? 2"), HasSubstr("':'"));
  EXPECT_THAT(ParseError("sqrt(2)"), HasSubstr("one of the functions"));
  EXPECT_THAT(ParseError("min(1)"), HasSubstr("','"));
  EXPECT_THAT(ParseError("min(1, 2, 3)"), HasSubstr("')'"));
  for (const char* text : {"1.5", "0x10", "1 & 2", "a = b", "a b", "1e6", "@", "a?b", "2M"}) {
    EXPECT_NE(ParseError(text), "") << text;
  }
}

TEST(Expression, LimitsLengthAndDepth) {
  const auto nested = [](size_t levels, const std::string& open, const std::string& close) {
    std::string text;
    for (size_t i = 0; i < levels; ++i) text += open;
    text += "1";
    for (size_t i = 0; i < levels; ++i) text += close;
    return text;
  };
  EXPECT_EQ(ParseError(nested(60, "(", ")")), "");
  EXPECT_NE(ParseError(nested(65, "(", ")")), "");
  EXPECT_NE(ParseError(nested(2000, "(", ")")), "");
  EXPECT_NE(ParseError(nested(4000, "!", "")), "");
  EXPECT_NE(ParseError(nested(2000, "- ", "")), "");
  EXPECT_NE(ParseError(nested(1000, "1?1:", "")), "");
  EXPECT_NE(ParseError(nested(1000, "min(", ",1)")), "");
  std::string chain = "1";
  while (chain.size() + 2 <= kMaxExpressionBytes) chain += "+1";
  EXPECT_EQ(ValueOf(chain), static_cast<int64_t>(chain.size() / 2 + 1));
  EXPECT_NE(ParseError(chain + "+1"), "");
}

TEST(Expression, EqualsBySpelling) {
  EXPECT_EQ(Expression::Literal("M"), Expression::Literal("M"));
  EXPECT_EQ(Expression::Constant(3), Expression::Literal("3"));
  EXPECT_FALSE(Expression::Literal("M") == Expression::Literal("N"));
}

TEST(Expression, AnyTextIsReadOrRefused) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("0123456789MNK+-*/%()<>=!&|?:, minaxcel_d")));
    const auto expression = Expression::Parse(text);
    if (expression.ok()) (void)expression->Evaluate({{"M", 3}, {"N", -5}, {"K", kHighest}});
  }));
}

// --- Against a reference: random trees, written out and evaluated in 128 bits.

struct Tree {
  std::string text;
  std::optional<__int128> value;  // nothing: an error
};

__int128 Floor(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

std::optional<__int128> Checked(__int128 value) {
  if (value < kLowest || value > kHighest) return std::nullopt;
  return value;
}

std::optional<__int128> Reference(const std::string& sign, __int128 a, __int128 b) {
  if (sign == "+") return Checked(a + b);
  if (sign == "-") return Checked(a - b);
  if (sign == "*") return Checked(a * b);
  if (sign == "<") return a < b;
  if (sign == "<=") return a <= b;
  if (sign == ">") return a > b;
  if (sign == ">=") return a >= b;
  if (sign == "==") return a == b;
  if (sign == "!=") return a != b;
  if (sign == "min") return std::min(a, b);
  if (sign == "max") return std::max(a, b);
  if (sign == "round_up") return b < 1 ? std::nullopt : Checked(-Floor(-a, b) * b);
  if (b == 0) return std::nullopt;
  if (sign == "/") return Checked(Floor(a, b));
  if (sign == "ceil_div") return Checked(-Floor(-a, b));
  const __int128 magnitude = b < 0 ? -b : b;
  return ((a % magnitude) + magnitude) % magnitude;  // %
}

Tree MakeTree(int depth);

Tree MakeLeaf() {
  const auto value =
      *rc::gen::oneOf(rc::gen::inRange<int64_t>(-9, 10), rc::gen::arbitrary<int64_t>(),
                      rc::gen::element(kLowest, kHighest, kLowest + 1));
  return {std::to_string(value), value};
}

Tree MakeChoice(int depth) {
  const Tree condition = MakeTree(depth - 1), yes = MakeTree(depth - 1), no = MakeTree(depth - 1);
  Tree tree{"(" + condition.text + " ? " + yes.text + ":" + no.text + ")", std::nullopt};
  if (condition.value) tree.value = *condition.value != 0 ? yes.value : no.value;
  return tree;
}

Tree MakeShortCircuit(int depth) {
  const bool is_or = *rc::gen::arbitrary<bool>();
  const Tree a = MakeTree(depth - 1), b = MakeTree(depth - 1);
  Tree tree{"(" + a.text + (is_or ? "||" : " && ") + b.text + ")", std::nullopt};
  if (!a.value) return tree;
  const bool decided = (*a.value != 0) == is_or;
  if (decided) {
    tree.value = is_or ? 1 : 0;
  } else if (b.value) {
    tree.value = *b.value != 0 ? 1 : 0;
  }
  return tree;
}

Tree MakeBinary(int depth) {
  const auto sign = *rc::gen::elementOf(std::vector<std::string>{"+", "-", "*", "/", "%", "<",
                                                                 "<=", ">", ">=", "==", "!=", "min",
                                                                 "max", "ceil_div", "round_up"});
  const Tree a = MakeTree(depth - 1), b = MakeTree(depth - 1);
  const bool is_call = sign.size() > 2;
  Tree tree{is_call ? sign + "(" + a.text + "," + b.text + ")"
                    : "(" + a.text + " " + sign + " " + b.text + ")",
            std::nullopt};
  if (a.value && b.value) tree.value = Reference(sign, *a.value, *b.value);
  return tree;
}

Tree MakeUnary(int depth) {
  const bool negates = *rc::gen::arbitrary<bool>();
  const Tree a = MakeTree(depth - 1);
  Tree tree{(negates ? "-(" : "!(") + a.text + ")", std::nullopt};
  if (a.value) tree.value = negates ? Checked(-*a.value) : std::optional<__int128>(*a.value == 0);
  return tree;
}

Tree MakeTree(int depth) {
  if (depth == 0) return MakeLeaf();
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      return MakeLeaf();
    case 1:
      return MakeUnary(depth);
    case 2:
      return MakeChoice(depth);
    case 3:
      return MakeShortCircuit(depth);
    default:
      return MakeBinary(depth);
  }
}

TEST(Expression, AgreesWithAReferenceIn128Bits) {
  EXPECT_TRUE(rc::check([] {
    const Tree tree = MakeTree(*rc::gen::inRange(0, 5));
    if (tree.text.size() > kMaxExpressionBytes) return;
    const auto value = Expression::Literal(tree.text).Evaluate({});
    RC_ASSERT(value.ok() == tree.value.has_value());
    if (value.ok()) RC_ASSERT(static_cast<__int128>(*value) == *tree.value);
  }));
}

}  // namespace
}  // namespace warpsmith
