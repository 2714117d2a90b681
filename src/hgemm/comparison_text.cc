#include "hgemm/comparison_text.h"

#include <array>
#include <optional>
#include <set>
#include <utility>

#include "hgemm/cells.h"
#include "hgemm/measured_cells.h"

namespace warpsmith::hgemm {
namespace {

constexpr std::string_view kSession = "# session: ";
// Before the rows of a shape whose rounds held NVIDIA's other ways: how many, how often the bar was
// chosen; and a line for each that is faster than the bar.
constexpr std::string_view kBarCheck = "# bar checked: ",
                           kFasterThanBar = "# faster than the bar: ";
constexpr size_t kBarCheckCells = 5, kFasterThanBarCells = 8;
constexpr std::string_view kComparisonColumns =
    "m,n,k,layout,dtype,mode,choice,kernel_us,ours_us,lt_auto_us,ratio_kernel,lo_kernel,hi_kernel,"
    "ratio,lo,hi,floor_us";
constexpr size_t kComparisonColumnCount = 17;
// Of the kernel without launch overlap; empty cells where it was not measured. Tables that were
// begun before lack them.
constexpr std::string_view kPlainColumns = ",plain_us,ratio_plain,lo_plain,hi_plain";
constexpr size_t kPlainCount = 4;

struct SessionField {
  std::string_view name;
  std::string ComparisonSession::*text;
};
constexpr std::array<SessionField, 8> kSessionFields = {{{"date", &ComparisonSession::date},
                                                         {"driver", &ComparisonSession::driver},
                                                         {"toolkit", &ComparisonSession::toolkit},
                                                         {"baseline", &ComparisonSession::baseline},
                                                         {"program", &ComparisonSession::program},
                                                         {"gpu", &ComparisonSession::gpu},
                                                         {"commit", &ComparisonSession::commit},
                                                         {"command", &ComparisonSession::command}}};
// A session may end behind "program": those that follow came later.
constexpr size_t kFirstSessionFields = 5;

constexpr const char* kComparisonFix =
    "docs/files.md says what a comparison holds; 'warpsmith hgemm bench "
    "--against LIB --csv FILE' writes one";
constexpr FirstLine kComparisonFirstLine{
    "comparison", kComparisonVersion, kComparisonFix,
    "use the version of warpsmith that wrote it, or measure again"};

Error BadComparison(const Place& place, const std::string& what) {
  return BadAt(place, what, kComparisonFix);
}

Result<Problem> ProblemIn(const Cells& cells, const ComparisonTerms& terms) {
  const std::array<int64_t, 3> extents = TRY(cells.Extents());
  if (cells[3] != terms.layout || cells[4] != terms.dtype) {
    return cells.Bad("layout and dtype: the head says " + terms.layout + " and " + terms.dtype +
                     ", found " + Quoted(cells[3]) + " and " + Quoted(cells[4]));
  }
  return Problem{extents[0], extents[1], extents[2], LayoutFromText(terms.layout).value(),
                 DTypeFromName(terms.dtype).value()};
}

// One line: a shape in one mode.
struct Row {
  Problem problem;
  std::string choice;
  double floor_us = 0;
  ModeComparison mode;
};

Result<Row> RowIn(const Place& place, const ComparisonTerms& terms, bool has_plain,
                  std::string_view line) {
  const size_t count = kComparisonColumnCount + (has_plain ? kPlainCount : 0);
  const Cells cells = TRY(Cells::Of(place, line, count, kComparisonFix));
  Row row;
  row.problem = TRY(ProblemIn(cells, terms));
  row.mode.mode = TRY(cells.ModeAt(5));
  if (cells[6].empty()) return cells.Bad("choice is empty");
  row.choice = cells[6];
  row.mode.kernel_us = TRY(cells.Number(7, "kernel_us"));
  row.mode.library_us = TRY(cells.Number(8, "ours_us"));
  row.mode.bar_us = TRY(cells.Number(9, "lt_auto_us"));
  row.mode.kernel = TRY(cells.Ratio(10));
  row.mode.library = TRY(cells.Ratio(13));
  row.floor_us = TRY(cells.Number(16, "floor_us", true));
  if (!has_plain || cells[kComparisonColumnCount].empty()) return row;
  row.mode.plain_us = TRY(cells.Number(kComparisonColumnCount, "plain_us"));
  row.mode.plain = TRY(cells.Ratio(kComparisonColumnCount + 1));
  return row;
}

struct ComparisonHead {
  ComparisonTerms terms;
  bool has_plain = false;  // kPlainColumns
};

// "# device: NVIDIA H200", one for each term, in their order; then the columns.
Result<ComparisonHead> ComparisonHeadIn(Lines& lines) {
  const std::string_view first = TRY(lines.NextOfHead(kComparisonFix));
  TRY(CheckFirstLine(kComparisonFirstLine, lines.place(), first));
  ComparisonTerms terms;
  for (const auto& field : kTermFields) {
    const std::string expected = "# " + std::string(field.name) + ": ";
    const std::string_view line = TRY(lines.NextOfHead(kComparisonFix));
    if (!line.starts_with(expected) || line.size() == expected.size()) {
      return BadComparison(lines.place(), "expected '" + expected + "...', found " + Quoted(line));
    }
    terms.*field.text = line.substr(expected.size());
  }
  const auto dtype = DTypeFromName(terms.dtype);
  if (!LayoutFromText(terms.layout) || (dtype != DType::kF16 && dtype != DType::kBF16)) {
    return BadComparison(lines.place(), "expected layout NN or TN and dtype f16 or bf16, found " +
                                            Quoted(terms.layout) + " and " + Quoted(terms.dtype));
  }
  const std::string_view columns = TRY(lines.NextOfHead(kComparisonFix));
  const bool has_plain = columns == std::string(kComparisonColumns) + std::string(kPlainColumns);
  if (has_plain || columns == kComparisonColumns)
    return ComparisonHead{std::move(terms), has_plain};
  return BadComparison(lines.place(), "expected the columns '" + std::string(kComparisonColumns) +
                                          "', found " + Quoted(columns));
}

// "date=2026-11-21T11:01:41Z; driver=580.95; ..."
Result<ComparisonSession> SessionIn(const Place& place, std::string_view text) {
  const std::string behind = "; " + std::string(kSessionFields[kFirstSessionFields].name) + "=";
  const bool is_full = text.find(behind) != std::string_view::npos;
  const size_t count = is_full ? kSessionFields.size() : kFirstSessionFields;
  ComparisonSession session;
  for (size_t i = 0; i < count; ++i) {
    const std::string expected = std::string(kSessionFields[i].name) + "=";
    const bool last = i + 1 == count;
    const size_t end = last ? text.size() : text.find("; ");
    if (end == std::string_view::npos || !text.starts_with(expected) || end == expected.size()) {
      return BadComparison(place, "session: expected '" + expected + "...', found " + Quoted(text));
    }
    session.*kSessionFields[i].text = text.substr(expected.size(), end - expected.size());
    text.remove_prefix(last ? end : end + 2);
  }
  return session;
}

// A check whose shape's rows are still to come.
struct CheckOfShape {
  std::array<int64_t, 3> extents{};
  BarCheck check;
};

Result<CheckOfShape> BarCheckIn(const Place& place, std::string_view text) {
  const Cells cells = TRY(Cells::Of(place, text, kBarCheckCells, kComparisonFix));
  CheckOfShape read;
  read.extents = TRY(cells.Extents());
  read.check.others = static_cast<int>(TRY(cells.Number(3, "others")));
  read.check.choices = static_cast<int>(TRY(cells.Number(4, "choices")));
  return read;
}

Result<BesideBar> FasterIn(const Place& place, std::string_view text,
                           const std::array<int64_t, 3>& extents) {
  const Cells cells = TRY(Cells::Of(place, text, kFasterThanBarCells, kComparisonFix));
  if (TRY(cells.Extents()) != extents) return cells.Bad("of another shape than the line before");
  BesideBar faster;
  faster.mode = TRY(cells.ModeAt(3));
  faster.name = cells[4];
  if (faster.name.empty()) return cells.Bad("the name is empty");
  faster.ratio = TRY(cells.Ratio(5));
  return faster;
}

// Takes a file's lines after its head one by one.
class Shapes {
 public:
  explicit Shapes(ComparisonTable& table) : table_(table) {}

  bool between() const { return modes_ == 0; }  // two shapes, not inside one

  Status TakeSession(const Place& place, std::string_view text) {
    if (!between()) return Lacking(place);
    table_.sessions.push_back(TRY(SessionIn(place, text)));
    return {};
  }

  Status TakeBarCheck(const Place& place, std::string_view text) {
    if (!between()) return Lacking(place);
    check_ = TRY(BarCheckIn(place, text));
    return {};
  }

  Status TakeFaster(const Place& place, std::string_view text) {
    if (!between() || !check_) return BadComparison(place, "it follows no line of a checked bar");
    check_->check.violations.push_back(TRY(FasterIn(place, text, check_->extents)));
    return {};
  }

  Status TakeRow(const Place& place, const Row& row) {
    if (table_.sessions.empty())
      return BadComparison(place, "a row before the first '# session: ' line");
    if (between()) {
      if (!seen_.insert(row.problem).second) {
        return BadComparison(place, SizesText(row.problem) + " stands twice");
      }
      shape_ = {row.problem, row.choice, row.floor_us, {}, table_.sessions.size() - 1};
      TRY(TakeCheckOf(place, row.problem));
    }
    const bool same = row.problem == shape_.problem;
    if (!same || row.mode.mode != kComparedModes[modes_]) return Lacking(place);
    if (row.choice != shape_.choice || row.floor_us != shape_.floor_us) {
      return BadComparison(place, "choice and floor_us must be the same in a shape's four rows");
    }
    shape_.modes[modes_++] = row.mode;
    if (modes_ < kComparedModes.size()) return {};
    table_.shapes.push_back(shape_);
    modes_ = 0;
    return {};
  }

 private:
  Error Lacking(const Place& place) const {
    return BadComparison(place, SizesText(shape_.problem) + ": expected its row of mode '" +
                                    std::string(warpsmith::Name(kComparedModes[modes_])) +
                                    "'; a shape has a row in each mode, in their order");
  }

  // The check that stands before a shape's rows is that shape's.
  Status TakeCheckOf(const Place& place, const Problem& problem) {
    if (!check_) return {};
    if (check_->extents != std::array<int64_t, 3>{problem.m, problem.n, problem.k}) {
      return BadComparison(place, "the bar was checked of another shape than the rows that follow");
    }
    shape_.bar_check = std::move(check_->check);
    check_.reset();
    return {};
  }

  ComparisonTable& table_;
  ShapeComparison shape_;
  std::optional<CheckOfShape> check_;
  size_t modes_ = 0;
  std::set<Problem> seen_;
};

}  // namespace

Result<ReadComparison> ParseComparison(std::string_view source, std::string_view text) {
  ReadComparison read;
  Lines lines(source, text);
  ComparisonHead head = TRY(ComparisonHeadIn(lines));
  read.table.terms = std::move(head.terms);
  read.whole_bytes = lines.bytes();
  Shapes shapes(read.table);
  while (const auto line = lines.Next()) {
    if (line->starts_with(kSession)) {
      TRY(shapes.TakeSession(lines.place(), line->substr(kSession.size())));
      continue;  // without a shape it is no whole part
    }
    if (line->starts_with(kBarCheck)) {
      TRY(shapes.TakeBarCheck(lines.place(), line->substr(kBarCheck.size())));
      continue;
    }
    if (line->starts_with(kFasterThanBar)) {
      TRY(shapes.TakeFaster(lines.place(), line->substr(kFasterThanBar.size())));
      continue;
    }
    if (!line->starts_with('#')) {
      TRY(shapes.TakeRow(lines.place(),
                         TRY(RowIn(lines.place(), read.table.terms, head.has_plain, *line))));
    }
    if (shapes.between() && !read.table.shapes.empty()) read.whole_bytes = lines.bytes();
  }
  const size_t used = read.table.shapes.empty() ? 0 : read.table.shapes.back().session + 1;
  read.table.sessions.resize(used);
  return read;
}

std::string HeadText(const ComparisonTerms& terms) {
  std::string text = kComparisonFirstLine.Text() + "\n";
  for (const auto& field : kTermFields) {
    text += "# " + std::string(field.name) + ": " + terms.*field.text + "\n";
  }
  return text + std::string(kComparisonColumns) + std::string(kPlainColumns) + "\n";
}

std::string SessionText(const ComparisonSession& session) {
  std::string text;
  const size_t count = session.gpu.empty() ? kFirstSessionFields : kSessionFields.size();
  for (size_t i = 0; i < count; ++i) {
    const SessionField& field = kSessionFields[i];
    text += (text.empty() ? "" : "; ") + std::string(field.name) + "=" + session.*field.text;
  }
  return std::string(kSession) + text + "\n";
}

namespace {

std::string BarCheckText(const ShapeComparison& shape) {
  if (!shape.bar_check) return "";
  const Problem& problem = shape.problem;
  const std::string extents = std::to_string(problem.m) + "," + std::to_string(problem.n) + "," +
                              std::to_string(problem.k) + ",";
  std::string text = std::string(kBarCheck) + extents + std::to_string(shape.bar_check->others) +
                     "," + std::to_string(shape.bar_check->choices) + "\n";
  for (const BesideBar& faster : shape.bar_check->violations) {
    text += std::string(kFasterThanBar) + extents + std::string(warpsmith::Name(faster.mode)) +
            "," + faster.name + RatioText(faster.ratio) + "\n";
  }
  return text;
}

}  // namespace

std::string RowsText(const ComparisonTerms& terms, const ShapeComparison& shape) {
  std::string text = BarCheckText(shape);
  for (const ModeComparison& mode : shape.modes) {
    text += std::to_string(shape.problem.m) + "," + std::to_string(shape.problem.n) + "," +
            std::to_string(shape.problem.k) + "," + terms.layout + "," + terms.dtype + "," +
            std::string(warpsmith::Name(mode.mode)) + "," + shape.choice +
            NumberText(mode.kernel_us) + NumberText(mode.library_us) + NumberText(mode.bar_us) +
            RatioText(mode.kernel) + RatioText(mode.library) + NumberText(shape.floor_us) +
            (mode.plain ? NumberText(mode.plain_us) + RatioText(*mode.plain) : ",,,,") + "\n";
  }
  return text;
}

std::string ToText(const ComparisonTable& table) {
  std::string text = HeadText(table.terms);
  std::optional<size_t> session;
  for (const ShapeComparison& shape : table.shapes) {
    if (session != shape.session) text += SessionText(table.sessions[shape.session]);
    session = shape.session;
    text += RowsText(table.terms, shape);
  }
  return text;
}

Status CheckWritable(const ComparisonTerms& terms, const ComparisonSession& session) {
  const std::string text = HeadText(terms) + SessionText(session);
  Lines lines("the comparison", text);
  const ComparisonTerms read = TRY(ComparisonHeadIn(lines)).terms;
  const std::string_view last = lines.Next().value_or("");
  const Place place = lines.place();
  if (read == terms && last.starts_with(kSession) && !lines.Next() &&
      TRY(SessionIn(place, last.substr(kSession.size()))) == session) {
    return {};
  }
  return BadComparison(place, "a text of the head or of the session holds a line's end or '; '");
}

}  // namespace warpsmith::hgemm
