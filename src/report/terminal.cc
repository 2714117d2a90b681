#include "report/terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "report/summary.h"

namespace warpsmith::report {
namespace {

std::string_view Code(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kDim:
      return "\x1b[2m";
    case Tone::kPlain:
      break;
  }
  return "";
}

std::string Pad(const std::string& text, size_t width, Align align) {
  const std::string spaces(width - std::min(width, text.size()), ' ');
  return align == Align::kLeft ? text + spaces : spaces + text;
}

std::string TrimRight(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return clean;
}

std::string Paint(std::string_view text, Tone tone, Colour colour) {
  const std::string_view code = Code(tone);
  if (colour == Colour::kNone || code.empty()) return std::string(text);
  return std::string(code) + std::string(text) + "\x1b[0m";
}

std::string RenderTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<Cell>>& rows, Colour colour) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t width = columns[i].title.size();
    for (const std::vector<Cell>& row : rows) width = std::max(width, row[i].text.size());
    widths.push_back(width);
  }
  std::string header, rule;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string gap = i == 0 ? "" : "  ";
    header += gap + Pad(columns[i].title, widths[i], columns[i].align);
    rule += gap + std::string(widths[i], '-');
  }
  std::string table = TrimRight(header) + rule + "\n";
  for (const std::vector<Cell>& row : rows) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string padded = Pad(Printable(row[i].text), widths[i], columns[i].align);
      line += (i == 0 ? "" : "  ") + Paint(padded, row[i].tone, colour);
    }
    table += TrimRight(line);
  }
  return table;
}

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

std::vector<Cell> ResultRow(const ShapeReport& shape) {
  const std::string evaluations = fmt::format("{}", shape.evaluations);
  const std::string failed = fmt::format("{}", shape.evaluations - shape.passed);
  const WinnerRow* row = FindWinner(shape, shape.headline);
  if (row == nullptr) {
    return {
        {ShapeLabel(shape)}, {"-"},    {"-"}, {"-"}, {"-"}, {"nothing passed", Tone::kBad}, {"-"},
        {evaluations},       {failed}, {"-"}};
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
          {row->config}};
}

// A table whose lines fit a terminal of this many columns: the last column is cut, then columns are
// left out from the right, as far as the one that says which is faster.
std::string FittedTable(std::vector<std::vector<Cell>> rows, const TerminalStyle& style) {
  constexpr size_t kShortestConfig = 24, kFewestColumns = 6;
  std::vector<Column> columns = ResultColumns();
  if (!style.redraws) return RenderTable(columns, rows, style.colour);
  const auto width = [&] {
    const std::string text = RenderTable(columns, rows, Colour::kNone);
    size_t widest = 0, begin = 0;
    for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      widest = std::max(widest, end - begin);
    }
    return widest;
  };
  const size_t room = static_cast<size_t>(style.width);
  std::vector<std::string> configs;
  for (std::vector<Cell>& row : rows) {
    configs.push_back(row.back().text);
    row.back().text.resize(std::min(row.back().text.size(), kShortestConfig));
  }
  const size_t used = width();
  const size_t kept = kShortestConfig + (used < room ? room - used : 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool fits = configs[i].size() <= kept;
    rows[i].back().text = fits ? configs[i] : configs[i].substr(0, kept - 3) + "...";
  }
  while (columns.size() > kFewestColumns && width() > room) {
    columns.pop_back();
    for (std::vector<Cell>& row : rows) row.pop_back();
  }
  return RenderTable(columns, rows, style.colour);
}

// "device", or "device and wall" of a report that holds kernels and programs.
std::string HeadlineNames(const RunReport& report) {
  std::set<std::string_view> names;
  for (const ShapeReport& shape : report.shapes) names.insert(Name(shape.headline));
  return Joined(names, " and ");
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

std::string Wrapped(std::string_view text, int width) {
  std::string lines;
  size_t column = 0;
  for (const std::string_view word : Split(text, ' ')) {
    const bool fits = column > 0 && column + 1 + word.size() <= static_cast<size_t>(width);
    lines += fits ? " " : (lines.empty() ? "  " : "\n  ");
    lines += word;
    column = (fits ? column + 1 : 2) + word.size();
  }
  return lines;
}

std::string RenderReport(const RunReport& report, const TerminalStyle& style) {
  std::vector<std::vector<Cell>> rows;
  for (const ShapeReport& shape : report.shapes) rows.push_back(ResultRow(shape));
  return FittedTable(std::move(rows), style) + "\n" + TallyLine(report) +
         Paint(OriginLine(report.origin), Tone::kDim, style.colour) + "\n";
}

std::string RenderFailed(const RunReport& report, size_t most, Colour colour) {
  std::vector<std::vector<Cell>> rows;
  size_t count = 0;
  for (const ShapeReport& shape : report.shapes) {
    count += shape.failed.size();
    for (const FailedEvaluation& one : shape.failed) {
      if (rows.size() == most) break;
      rows.push_back({{ShapeLabel(shape)}, {fmt::format("{}", one.evaluation)}, {one.why}});
    }
  }
  if (rows.empty()) return "";
  const size_t more = count - rows.size();
  return "\n" +
         RenderTable({{"shape"}, {"evaluation", Align::kRight}, {"why it failed"}}, rows, colour) +
         (more > 0 ? fmt::format("{} more: --json has all\n", more) : "");
}

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
