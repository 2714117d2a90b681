#include "report/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "report/summary.h"

namespace warpsmith::report {
namespace {

Tone ToneOf(const WinnerRow& row) {
  if (row.below_roofline || row.finding == Finding::kSlower) return Tone::kBad;
  if (row.finding == Finding::kFaster) return Tone::kGood;
  return Tone::kPlain;
}

const std::vector<Column>& ResultColumns() {
  static const std::vector<Column> columns = {{"shape"},
                                              {"ours us", Align::kRight},
                                              {"bar us", Align::kRight},
                                              {"ratio", Align::kRight},
                                              {"interval", Align::kRight},
                                              {"finding"},
                                              {"% floor", Align::kRight},
                                              {"evals", Align::kRight},
                                              {"failed", Align::kRight},
                                              {"best configuration"}};
  return columns;
}

// The last column takes what a terminal's line has left; a pipe gets it whole.
std::string Fitted(const std::string& config, const TerminalStyle& style) {
  constexpr int kOtherColumns = 92, kShortest = 24;
  const size_t room = static_cast<size_t>(std::max(kShortest, style.width - kOtherColumns));
  if (!style.redraws || config.size() <= room) return config;
  return config.substr(0, room - 3) + "...";
}

std::vector<Cell> ResultRow(const ShapeReport& shape, const TerminalStyle& style) {
  const std::string evaluations = fmt::format("{}", shape.evaluations);
  const std::string failed = fmt::format("{}", shape.evaluations - shape.passed);
  const WinnerRow* row = FindWinner(shape, shape.headline);
  if (row == nullptr) {
    return {{ShapeLabel(shape)},
            {"-"},
            {"-"},
            {"-"},
            {"-"},
            {"-"},
            {"-"},
            {evaluations},
            {failed},
            {"nothing passed", Tone::kBad}};
  }
  const std::string of_roofline = row->roofline_us > 0 && row->ours_us > 0
                                      ? fmt::format("{:.1f}", 100 * row->roofline_us / row->ours_us)
                                      : "-";
  return {{ShapeLabel(shape)},
          {fmt::format("{:.4g}", row->ours_us)},
          {fmt::format("{:.4g}", row->primary_us)},
          {fmt::format("{:.3f}", row->ratio), ToneOf(*row)},
          {fmt::format("{:.3f}..{:.3f}", row->interval.lo, row->interval.hi)},
          {row->below_roofline ? "below floor!" : std::string(Name(row->finding)), ToneOf(*row)},
          {of_roofline},
          {evaluations},
          {failed},
          {Fitted(row->config, style)}};
}

// "device", or "device and wall" of a report that holds kernels and programs.
std::string HeadlineNames(const RunReport& report) {
  std::set<std::string_view> names;
  for (const ShapeReport& shape : report.shapes) names.insert(Name(shape.headline));
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string TallyLine(const RunReport& report) {
  const Tally tally = TallyOf(report, std::nullopt);
  std::string line = fmt::format("{}: {} faster, {} the same, {} slower, {} not shown",
                                 Printable(HeadlineNames(report)), tally.faster, tally.same,
                                 tally.slower, tally.not_shown);
  if (tally.nothing_passed > 0) line += fmt::format(", {} without a result", tally.nothing_passed);
  if (tally.geomean_ratio > 0) line += fmt::format("; geomean ratio {:.3f}", tally.geomean_ratio);
  return line + "\n";
}

std::string OriginLine(const Origin& origin) {
  std::string line = "measured on " + origin.device + ", driver " + origin.driver;
  // Nothing is known of the rest where no kernel passed.
  for (const std::string& more : {origin.baseline_library, origin.date}) {
    if (!more.empty()) line += ", " + more;
  }
  line = Printable(line);
  if (!origin.recording.empty()) line += Printable("; replayed from " + origin.recording);
  return line;
}

}  // namespace

TerminalStyle ChooseStyle(const std::function<const char*(const char*)>& environment,
                          int terminal_width) {
  if (terminal_width <= 0) return {};
  const char* term = environment("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb" || *term == '\0';
  const char* no_colour = environment("NO_COLOR");
  const bool plain = dumb || (no_colour != nullptr && *no_colour != '\0');
  return {plain ? Colour::kNone : Colour::kAnsi, !dumb, terminal_width};
}

TerminalStyle StyleOf(int descriptor) {
  int width = 0;
  if (isatty(descriptor) == 1) {
    winsize size{};
    width = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }
  return ChooseStyle([](const char* name) { return std::getenv(name); }, width);
}

std::string RenderReport(const RunReport& report, const TerminalStyle& style) {
  std::vector<std::vector<Cell>> rows;
  for (const ShapeReport& shape : report.shapes) rows.push_back(ResultRow(shape, style));
  return RenderTable(ResultColumns(), rows, style.colour) + "\n" + TallyLine(report) +
         Paint(OriginLine(report.origin), Tone::kDim, style.colour) + "\n";
}

}  // namespace warpsmith::report
