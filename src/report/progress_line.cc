#include "report/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpsmith::report {
namespace {

constexpr double kRedrawEverySeconds = 0.1;
constexpr double kPlainLineEverySeconds = 10;

}  // namespace

std::string DurationText(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::clamp(seconds, 0.0, 1e9)));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string ProgressText(const Progress& progress) {
  std::string text = progress.label + "  " + std::to_string(progress.evaluations);
  if (progress.planned > 0) text += "/" + std::to_string(progress.planned);
  text += progress.best_ratio > 0 ? fmt::format("  best {:.3f}x", progress.best_ratio) : "  best -";
  int64_t total = 0;
  std::string reasons;
  for (const auto& [outcome, count] : progress.rejected) {
    total += count;
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, outcome);
  }
  if (total > 0) text += fmt::format("  rejected {}: {}", total, reasons);
  if (progress.seconds_left) text += "  " + DurationText(*progress.seconds_left) + " left";
  if (!progress.more.empty()) text += "  " + progress.more;
  return Printable(text);
}

void ProgressLine::Update(const Progress& progress, double now_s) {
  if (lines_ == Lines::kStaying) {
    fmt::print(out_, "{}\n", ProgressText(progress));
    std::fflush(out_);
    return;
  }
  if (now_s < next_s_) return;
  next_s_ = now_s + (style_.redraws ? kRedrawEverySeconds : kPlainLineEverySeconds);
  std::string text = ProgressText(progress);
  if (style_.redraws) {
    // One column is left free: a full line would wrap, and then only its second half is rewritten.
    text.resize(std::min(text.size(), static_cast<size_t>(std::max(1, style_.width - 1))));
    fmt::print(out_, "\r\x1b[K{}", text);
    drawn_ = true;
  } else {
    fmt::print(out_, "{}\n", text);
  }
  std::fflush(out_);
}

void ProgressLine::Clear() {
  if (!drawn_) return;
  fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
  drawn_ = false;
}

}  // namespace warpsmith::report
