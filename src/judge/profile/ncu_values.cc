#include "judge/profile/ncu_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

namespace warpsmith::profile {
namespace {

bool IsDigit(char character) { return character >= '0' && character <= '9'; }

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Commas stand before every third digit of the whole part, counted from its end, and nowhere else.
bool HasThousandsOnly(std::string_view text) {
  const size_t whole_end = std::min(text.find_first_not_of("0123456789,-"), text.size());
  if (text.find(',', whole_end) != std::string_view::npos) return false;
  for (size_t i = 0; i < whole_end; ++i) {
    if (text[i] != ',') continue;
    if (i == 0 || !IsDigit(text[i - 1]) || (whole_end - i) % 4 != 0) return false;
  }
  const size_t first = text.substr(0, whole_end).find(',');
  if (first == std::string_view::npos) return true;
  for (size_t i = first + 4; i < whole_end; i += 4) {
    if (text[i] != ',') return false;
  }
  const size_t lead = first - (text.starts_with('-') ? 1 : 0);
  return lead >= 1 && lead <= 3;
}

}  // namespace

std::optional<double> NumberOf(std::string_view text) {
  text = Trimmed(text);
  if (text.empty() || !HasThousandsOnly(text)) return std::nullopt;
  std::string digits(text);
  std::erase(digits, ',');
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

double ScaleOf(std::string_view unit) {
  unit = unit.substr(0, unit.find('/'));  // "Kbyte/block"
  static constexpr std::array<std::pair<std::string_view, double>, 18> kScales = {{
      {"s", 1e9},
      {"second", 1e9},
      {"sec", 1e9},
      {"ms", 1e6},
      {"msecond", 1e6},
      {"msec", 1e6},
      {"us", 1e3},
      {"usecond", 1e3},
      {"usec", 1e3},
      {"ns", 1},
      {"nsecond", 1},
      {"Kbyte", 1e3},
      {"Mbyte", 1e6},
      {"Gbyte", 1e9},
      {"Tbyte", 1e12},
      {"Kibyte", 1024},
      {"KB", 1e3},
      {"MB", 1e6},
  }};
  for (const auto& [name, scale] : kScales) {
    if (unit == name) return scale;
  }
  return 1;
}

}  // namespace warpsmith::profile
