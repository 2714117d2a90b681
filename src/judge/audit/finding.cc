#include "judge/audit/finding.h"

#include <algorithm>
#include <string_view>

namespace warpsmith::audit {
namespace {

std::string FirstLine(std::string_view text) {
  constexpr size_t kMost = 300;
  while (!text.empty() && (text.front() == '\n' || text.front() == ' ')) text.remove_prefix(1);
  return std::string(text.substr(0, std::min(text.find('\n'), kMost)));
}

}  // namespace

std::string HowItEnded(const ProcessOutcome& process) {
  if (process.timed_out) return "no end in time";
  std::string text = process.signal != 0 ? "signal " + std::to_string(process.signal)
                                         : "status " + std::to_string(process.exit_status);
  const std::string words = FirstLine(process.output);
  return words.empty() ? text : text + ", '" + words + "'";
}

}  // namespace warpsmith::audit
