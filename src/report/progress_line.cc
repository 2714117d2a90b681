#include "report/progress_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace warpsmith::report {
namespace {

constexpr double kRedrawEverySeconds = 0.1;
constexpr double kPlainLineEverySeconds = 10;

}  // namespace

std::optional<double> SecondsLeft(double elapsed_s, size_t done, size_t all) {
  if (done == 0) return std::nullopt;
  return elapsed_s * static_cast<double>(all - done) / static_cast<double>(done);
}

std::string DurationText(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::clamp(seconds, 0.0, 1e9)));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string ProgressText(const Progress& progress) {
  std::string text = progress.label + "  " + std::to_string(progress.evaluations);
  if (progress.planned > 0) text += "/" + std::to_string(progress.planned);
  if (progress.best_ratio > 0) text += fmt::format("  best screened {:.3f}x", progress.best_ratio);
  if (progress.best_ratio == 0) text += "  best -";
  int64_t total = 0;
  std::string reasons;
  for (const auto& [outcome, count] : progress.failed) {
    total += count;
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, outcome);
  }
  if (total > 0) text += fmt::format("  failed {}: {}", total, reasons);
  if (progress.seconds_left) text += "  " + DurationText(*progress.seconds_left) + " left";
  if (!progress.more.empty()) text += "  " + progress.more;
  return Printable(text);
}

void ProgressLine::Update(const Progress& progress, double now_s) {
  const bool stays = lines_ == Lines::kStaying;
  if (stays) {
    Progress news = progress;
    news.evaluations = 0;
    const std::string says = ProgressText(news);
    if (says == said_ && progress.evaluations != progress.planned) return;
    said_ = says;
  } else {
    if (now_s < next_s_) return;
    next_s_ = now_s + (style_.redraws ? kRedrawEverySeconds : kPlainLineEverySeconds);
  }
  std::string text = ProgressText(progress);
  // One column is left free: a full line would wrap, and then only its second half is rewritten.
  if (style_.redraws) {
    text.resize(std::min(text.size(), static_cast<size_t>(std::max(1, style_.width - 1))));
  }
  if (style_.redraws && !stays) {
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
