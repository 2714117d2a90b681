#include "agent/knowledge/quoted.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace warpsmith::knowledge {
namespace {

constexpr std::string_view kMarks = "<>`{}&$\x7f";

// At most so many bytes, cut between characters.
std::string Beginning(std::string text, size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

std::string Quoted(std::string_view text, size_t most_bytes) {
  const nlohmann::json value = Beginning(ValidUtf8(text), most_bytes);
  std::string quoted;
  for (const char c : value.dump(-1, ' ', true)) {
    if (kMarks.find(c) == kMarks.npos) {
      quoted += c;
    } else {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    }
  }
  return quoted;
}

std::string RatioText(double ratio) { return fmt::format("{:.3g}x", ratio); }

std::string GainText(double log_gain) { return RatioText(std::exp(log_gain)); }

}  // namespace warpsmith::knowledge
