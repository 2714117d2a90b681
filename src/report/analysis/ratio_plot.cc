#include <algorithm>
#include <cmath>
#include <cstdio>

#include "report/analysis/plots.h"
#include "report/analysis/sentences.h"
#include "report/analysis/svg.h"

namespace warpsmith::analysis {
namespace {

constexpr Extent kSize = {600, 330};
constexpr double kLeft = 60, kRight = 588, kTop = 10, kBottom = 286;

struct Scale {
  double low_log2 = 0, high_log2 = 1;    // of MNK
  double low_ratio = 0, high_ratio = 1;  // logarithms

  double X(double log2_mnk) const {
    return kLeft + (log2_mnk - low_log2) / (high_log2 - low_log2) * (kRight - kLeft);
  }
  double Y(double ratio) const {
    const double logarithm = std::clamp(std::log(ratio), low_ratio, high_ratio);
    return kBottom - (logarithm - low_ratio) / (high_ratio - low_ratio) * (kBottom - kTop);
  }
};

Scale RatioScaleOf(const std::vector<PlottedRatio>& ratios) {
  double low = 0.9, high = 1.1, least = 1e9, greatest = -1e9;
  for (const PlottedRatio& plotted : ratios) {
    low = std::min(low, plotted.ratio.value);
    high = std::max(high, plotted.ratio.value);
    least = std::min(least, plotted.log2_mnk);
    greatest = std::max(greatest, plotted.log2_mnk);
  }
  return {std::floor(least) - 0.5, std::floor(greatest) + 1.5, std::log(low * 0.97),
          std::log(high * 1.03)};
}

// Ratios that are worth a line, as many as have room; 1 always is one.
std::string RatioAxis(const Scale& scale) {
  constexpr double kTicks[] = {1,   2,   0.5, 1.5, 0.8, 3,   1.2,  0.9,  0.7, 1.1, 4,   0.6, 5,
                               2.5, 1.3, 0.3, 8,   0.2, 0.1, 0.95, 1.05, 16,  32,  0.4, 1.8};
  constexpr double kRoom = 22;
  std::vector<double> taken;
  std::string text;
  for (const double tick : kTicks) {
    if (std::log(tick) < scale.low_ratio || std::log(tick) > scale.high_ratio) continue;
    const double y = scale.Y(tick);
    const bool crowded = std::any_of(taken.begin(), taken.end(),
                                     [&](double other) { return std::abs(other - y) < kRoom; });
    if (crowded) continue;
    taken.push_back(y);
    text += Line({kLeft, y}, {kRight, y}, tick == 1 ? "bar-line" : "grid");
    text += Text({kLeft - 6, y + 4}, "tick end", NumberText(tick));
  }
  return text;
}

std::string WorkAxis(const Scale& scale) {
  std::string text;
  const int span = static_cast<int>(scale.high_log2 - scale.low_log2);
  const int step = span > 14 ? 2 : 1;
  for (int at = static_cast<int>(std::ceil(scale.low_log2)); at < scale.high_log2; at += step) {
    text += Line({scale.X(at), kBottom}, {scale.X(at), kBottom + 4}, "axis");
    text += Text({scale.X(at), kBottom + 17}, "tick middle", std::to_string(at));
  }
  text += Text({(kLeft + kRight) / 2, kBottom + 36}, "tick middle", "log2(M N K)");
  return text;
}

std::string_view StyleOf(const hgemm::PairedRatio& ratio) {
  if (ratio.interval.hi < 1) return "slower";
  if (ratio.interval.lo > 1) return "faster";
  return ratio.value < 1 ? "below" : "same";
}

std::string Mark(const Scale& scale, const PlottedRatio& plotted) {
  const double x = scale.X(plotted.log2_mnk), y = scale.Y(plotted.ratio.value);
  const Interval& interval = plotted.ratio.interval;
  const std::string style(StyleOf(plotted.ratio));
  return Line({x, scale.Y(interval.lo)}, {x, scale.Y(interval.hi)}, "whisker " + style) +
         Dot({x, y}, 3.4, style, "",
             hgemm::SizesText(plotted.problem) + ": " + RatioText(plotted.ratio.value) + " [" +
                 RatioText(interval.lo) + ", " + RatioText(interval.hi) + "]");
}

}  // namespace

std::string RatioPlot(std::string_view label, std::string_view baseline,
                      const std::vector<PlottedRatio>& ratios) {
  if (ratios.empty()) return "";
  const Scale scale = RatioScaleOf(ratios);
  std::string contents =
      Box({kLeft, scale.Y(1)}, {kRight - kLeft, kBottom - scale.Y(1)}, "loss-ground", "", "");
  contents += RatioAxis(scale);
  contents += WorkAxis(scale);
  contents += TurnedText({14, (kTop + kBottom) / 2}, "tick middle",
                         std::string(baseline) + "'s time / ours, log scale");
  contents += Line({kLeft, kTop}, {kLeft, kBottom}, "axis");
  contents += Line({kLeft, kBottom}, {kRight, kBottom}, "axis");
  // Losses last, so that nothing covers them.
  std::vector<PlottedRatio> ordered = ratios;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.ratio.value > b.ratio.value; });
  for (const PlottedRatio& plotted : ordered) contents += Mark(scale, plotted);
  return Drawing(kSize, label, contents);
}

std::vector<LegendEntry> RatioLegend() {
  return {{"below 0.9", "#b2182b"},    {"0.9 to 0.95", "#d6604d"}, {"0.95 to 0.99", "#f0a080"},
          {"0.99 to 1.01", "#a9b0b8"}, {"1.01 to 1.1", "#92c5de"}, {"1.1 to 1.5", "#4393c3"},
          {"1.5 and more", "#2166ac"}};
}

size_t RatioEntry(double ratio) {
  constexpr double kEnds[] = {0.9, 0.95, 0.99, 1.01, 1.1, 1.5};
  return static_cast<size_t>(std::upper_bound(std::begin(kEnds), std::end(kEnds), ratio) -
                             std::begin(kEnds));
}

}  // namespace warpsmith::analysis
