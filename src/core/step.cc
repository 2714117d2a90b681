#include "core/step.h"

#include <charconv>
#include <cmath>
#include <set>

namespace warpsmith {
namespace {

constexpr std::string_view kRunPrefix = "run:";

constexpr std::string_view kCountForm = "a whole number from 1, such as 200 or 1e6";
constexpr std::string_view kSecondsForm = "a time above 0, such as 30s, 10m or 1.5h";
constexpr std::string_view kMoneyForm = "an amount above 0";

// The number that `text` begins with; `text` keeps what follows it. Nothing unless above 0.
std::optional<double> TakeNumber(std::string_view& text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || !std::isfinite(value) || value <= 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::optional<int64_t> Count(std::string_view text) {
  constexpr double kLargest = 0x1p53;
  const std::optional<double> value = TakeNumber(text);
  if (!value || !text.empty() || *value != std::floor(*value) || *value > kLargest) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*value);
}

std::optional<double> Seconds(std::string_view text) {
  const std::optional<double> value = TakeNumber(text);
  if (!value) return std::nullopt;
  if (text.empty() || text == "s") return *value;
  if (text == "m") return *value * 60;
  if (text == "h") return *value * 3600;
  return std::nullopt;
}

std::optional<double> Money(std::string_view text) {
  const std::optional<double> value = TakeNumber(text);
  return text.empty() ? value : std::nullopt;
}

// Stores what `parsed` holds; what was expected otherwise.
template <typename T>
std::string_view Store(std::optional<T> parsed, std::string_view form, T& limit) {
  if (!parsed) return form;
  limit = *parsed;
  return {};
}

// What was expected, or nothing when the limit was understood.
std::string_view SetLimit(std::string_view name, std::string_view value, Budget& budget) {
  if (name == "evals") return Store(Count(value), kCountForm, budget.evaluations);
  if (name == "gpu") return Store(Seconds(value), kSecondsForm, budget.gpu_seconds);
  if (name == "time") return Store(Seconds(value), kSecondsForm, budget.wall_seconds);
  if (name == "tokens") return Store(Count(value), kCountForm, budget.tokens);
  if (name == "money") return Store(Money(value), kMoneyForm, budget.money);
  return "one of evals=, gpu=, time=, tokens=, money=";
}

}  // namespace

std::string TextOf(const StepReference& reference) {
  return std::string(kRunPrefix) + reference.run + "#" + std::to_string(reference.index);
}

std::optional<StepReference> StepReferenceFrom(std::string_view text) {
  const size_t hash = text.rfind('#');
  if (!text.starts_with(kRunPrefix) || hash == text.npos) return std::nullopt;
  StepReference reference;
  const char* const end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data() + hash + 1, end, reference.index);
  if (failed != std::errc() || stopped != end || reference.index < 0) return std::nullopt;
  reference.run = text.substr(kRunPrefix.size(), hash - kRunPrefix.size());
  return reference;
}

Result<Budget> ParseBudget(std::string_view text) {
  Budget budget;
  std::set<std::string_view> seen;
  std::string problems;
  std::string_view rest = text;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view piece = rest.substr(0, comma);
    const size_t equals = piece.find('=');
    const std::string_view name = piece.substr(0, equals);
    const std::string_view value = equals == piece.npos ? "" : piece.substr(equals + 1);
    std::string_view expected = SetLimit(name, value, budget);
    if (!seen.insert(name).second) expected = "each limit once";
    if (!expected.empty()) {
      problems += (problems.empty() ? "'" : "; '") + std::string(piece) + "': expected " +
                  std::string(expected);
    }
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (problems.empty()) return budget;
  return Error{ErrorCode::kUsage, "budget \"" + std::string(text) + "\": " + problems,
               "write it as in evals=200,gpu=30s,time=10m,tokens=1e6,money=5"};
}

Cost operator+(const Cost& a, const Cost& b) {
  return {a.evaluations + b.evaluations, a.gpu_seconds + b.gpu_seconds,
          a.wall_seconds + b.wall_seconds, a.tokens + b.tokens, a.money + b.money};
}

std::optional<std::string> ReachedLimit(const Budget& budget, const Cost& spent) {
  if (spent.evaluations >= budget.evaluations) return "evals";
  if (spent.gpu_seconds >= budget.gpu_seconds) return "gpu";
  if (spent.wall_seconds >= budget.wall_seconds) return "time";
  if (spent.tokens >= budget.tokens) return "tokens";
  if (spent.money >= budget.money) return "money";
  return std::nullopt;
}

}  // namespace warpsmith
