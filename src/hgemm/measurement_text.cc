#include "hgemm/measurement_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/sha256.h"
#include "hgemm/table_text.h"

namespace warpsmith::hgemm {
namespace {

constexpr std::string_view kSession = "# session: ";
// Before the rows of a shape whose rounds held NVIDIA's other ways: how many, how often the bar was
// chosen; and a line for each that is faster than the bar.
constexpr std::string_view kPrimaryCheck = "# bar checked: ",
                           kFasterThanPrimary = "# faster than the bar: ";
constexpr std::string_view kRows = "# rows: ";  // that follow are of one shape: the libraries'
// Ends a part: how many lines stand above, such ones left out, and a digest.
constexpr std::string_view kLinesAbove = " lines above, sha256 ";
constexpr std::array<std::string_view, 5> kPrimaryCheckColumns = {"m", "n", "k", "others",
                                                                  "choices"};
constexpr std::array<std::string_view, 8> kFasterColumns = {"m",    "n",     "k",  "mode",
                                                            "name", "ratio", "lo", "hi"};
// The last four are of the kernel without launch overlap; empty cells where it was not measured.
// Tables that were begun before lack them.
constexpr std::array<std::string_view, 21> kComparisonColumns = {
    "m",         "n",       "k",          "layout",       "dtype",       "mode",      "choice",
    "kernel_us", "ours_us", "lt_auto_us", "ratio_kernel", "lo_kernel",   "hi_kernel", "ratio",
    "lo",        "hi",      "floor_us",   "plain_us",     "ratio_plain", "lo_plain",  "hi_plain"};
constexpr size_t kPlainColumns = 4;
constexpr std::array<std::string_view, 11> kLibraryColumns = {
    "m", "n", "k", "name", "layout", "dtype", "mode", "us", "ratio", "lo", "hi"};

struct SessionField {
  std::string_view start;
  std::string MeasurementSession::*text;
};
constexpr std::array<SessionField, 8> kSessionFields = {
    {{"date=", &MeasurementSession::date},
     {"driver=", &MeasurementSession::driver},
     {"toolkit=", &MeasurementSession::toolkit},
     {"baseline=", &MeasurementSession::baseline},
     {"program=", &MeasurementSession::program},
     {"gpu=", &MeasurementSession::gpu},
     {"commit=", &MeasurementSession::commit},
     {"command=", &MeasurementSession::command}}};
// A session may end behind "program": those that follow came later.
constexpr size_t kFirstSessionFields = 5;
// Of the libraries' first version, which had no toolkit, and the driver only later.
constexpr SessionField kOldBaseline = {"library=", &MeasurementSession::baseline};

constexpr const char* kMeasurementFix =
    "docs/files.md says what a table of measurements holds; 'warpsmith hgemm bench --csv FILE' "
    "writes one";
// Texts of earlier versions have no lines that tell of the others. Those of the libraries' first
// version have other terms, too.
constexpr TableKind kComparisonKind{"comparison", 2, kMeasurementFix},
    kLibraryKind{"library table", 3, kMeasurementFix};
constexpr int kFirstLibraryVersion = 1;

const TableKind& KindOf(bool is_comparison) {
  return is_comparison ? kComparisonKind : kLibraryKind;
}

// "date=2026-11-21T11:01:41Z; driver=580.95; ..."; a command may hold anything.
Result<MeasurementSession> SessionIn(const TableText& text, std::string_view line, bool is_old) {
  MeasurementSession session;
  std::string_view rest = line;
  while (!rest.empty()) {
    const SessionField* field =
        std::find_if(kSessionFields.begin(), kSessionFields.end(),
                     [&](const SessionField& one) { return rest.starts_with(one.start); });
    // Not compared with end(), which may be the address of kOldBaseline.
    if (is_old && rest.starts_with(kOldBaseline.start)) {
      field = &kOldBaseline;
    } else if (field == kSessionFields.end()) {
      break;
    }
    rest.remove_prefix(field->start.size());
    const bool last = field->text == &MeasurementSession::command;
    const size_t end = last ? rest.size() : std::min(rest.find("; "), rest.size());
    session.*field->text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  for (const auto& field : std::span(kSessionFields).first(kFirstSessionFields)) {
    if (is_old && (session.*field.text).empty()) session.*field.text = "unknown";
    if ((session.*field.text).empty() || !rest.empty()) {
      return text.Bad("session: expected '" + std::string(field.start) + "...', found " +
                      Quoted(line));
    }
  }
  return session;
}

// Version 1 of the libraries' tables had its terms in one line:
// "DEVICE; driver 580.95; f16; PROTOCOL; bar CONTEST; catalogue HASH".
Result<MeasurementTerms> OldTermsIn(TableText& text) {
  const std::string line = TRY(text.NextOfHead("# terms: "));
  std::string_view rest = line;
  const auto next = [&] {
    const size_t end = std::min(rest.find("; "), rest.size());
    const std::string part(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 2, rest.size()));
    return part;
  };
  MeasurementTerms terms;
  terms.layout = kBothLayouts;
  terms.device = next();
  terms.library = next();
  terms.dtype = next();
  terms.pack = terms.catalogue = "none";
  constexpr std::string_view kCatalogue = "; catalogue ";
  const size_t catalogue = rest.rfind(kCatalogue);
  terms.protocol = rest.substr(0, catalogue);
  if (catalogue != rest.npos) terms.catalogue = rest.substr(catalogue + kCatalogue.size());
  return terms;
}

// "# device: NVIDIA H200", one for each term, in their order.
Result<MeasurementTerms> TermsIn(TableText& text) {
  MeasurementTerms terms;
  for (const auto& [name, term] : kTermFields) {
    terms.*term = TRY(text.NextOfHead("# " + std::string(name) + ": "));
  }
  return terms;
}

Status CheckTerms(const TableText& text, const MeasurementTerms& terms, bool is_comparison) {
  for (const auto& [name, term] : kTermFields) {
    if ((terms.*term).empty()) return text.Bad("the term " + std::string(name) + " is empty");
  }
  const auto dtype = DTypeFromName(terms.dtype);
  const bool layout =
      is_comparison ? LayoutFromText(terms.layout).has_value() : terms.layout == kBothLayouts;
  if (layout && (dtype == DType::kF16 || dtype == DType::kBF16)) return {};
  return text.Bad("expected layout " + std::string(is_comparison ? "NN or TN" : kBothLayouts) +
                  " and dtype f16 or bf16, found " + Quoted(terms.layout) + " and " +
                  Quoted(terms.dtype));
}

// Takes a table's lines behind its terms.
class Reader {
 public:
  Reader(TableText& text, ReadMeasurements& read, bool is_old)
      : text_(text), table_(read.table), is_old_(is_old), expected_(is_old ? 1 : 0) {
    if (table_.is_comparison()) expected_ = kComparedModes.size();
  }

  bool between() const { return rows_ == 0; }  // two shapes, not inside one

  // True: it says something of what follows.
  Result<bool> TakeNote(std::string_view line) {
    const auto begins = [&](std::string_view start) {
      if (!line.starts_with(start)) return false;
      line.remove_prefix(start.size());
      return true;
    };
    if (!between() && line.starts_with(kSession)) return Lacking();
    if (begins(kSession)) {
      table_.sessions.push_back(TRY(SessionIn(text_, line, is_old_)));
    } else if (begins(kPrimaryCheck)) {
      TRY(TakePrimaryCheck(TRY(text_.Note(line, kPrimaryCheckColumns))));
    } else if (begins(kFasterThanPrimary)) {
      TRY(TakeFaster(TRY(text_.Note(line, kFasterColumns))));
    } else if (!table_.is_comparison() && !is_old_ && begins(kRows)) {
      if (!between()) return Lacking();
      expected_ = NumberOf<size_t>(line).value_or(0);
      if (expected_ == 0)
        return text_.Bad("rows: expected a number above 0, found " + Quoted(line));
    } else {
      return false;
    }
    return true;
  }

  Status TakeRow(const Cells& cells) {
    if (is_old_ && table_.sessions.empty()) {
      table_.sessions.push_back(TRY(SessionIn(text_, "", true)));
    }
    if (table_.sessions.empty()) return cells.Bad("a row before the first '# session: ' line");
    if (expected_ == 0) return cells.Bad("a row before the first '# rows: ' line");
    const Problem extents = TRY(cells.Extents());
    const bool layout = !table_.is_comparison() || cells["layout"] == table_.terms.layout;
    if (!layout || cells["dtype"] != table_.terms.dtype) {
      return cells.Bad("layout and dtype: the head says " + table_.terms.layout + " and " +
                       table_.terms.dtype + ", found " + Quoted(cells["layout"]) + " and " +
                       Quoted(cells["dtype"]));
    }
    if (between()) TRY(Begin(cells, extents));
    if (extents != extents_) return Lacking();
    TRY(table_.is_comparison() ? TakeMode(cells) : TakeTime(cells));
    if (++rows_ == expected_) Keep();
    return {};
  }

  // An old table tells of what is faster than the bar in its head. A recording cannot tell.
  void Finish() {
    if (table_.terms.protocol.starts_with("replayed")) return;
    for (ShapeMeasurement& shape : table_.shapes) {
      if (!is_old_ || !Has(shape, kPrimary)) continue;
      shape.primary_check = {1, 1, std::move(faster_[shape.problem])};
    }
  }

 private:
  Error Lacking() const {
    if (!table_.is_comparison()) {
      return text_.Bad(SizesText(extents_) + ": expected " + std::to_string(expected_) +
                       " rows of it, found " + std::to_string(rows_));
    }
    return text_.Bad(SizesText(extents_) + ": expected its row of mode '" +
                     std::string(warpsmith::Name(kComparedModes[rows_])) +
                     "'; a shape has a row in each mode, in their order");
  }

  Problem ProblemOf(Problem extents) const {
    extents.layout = LayoutFromText(table_.terms.layout).value_or(extents.layout);
    extents.dtype = DTypeFromName(table_.terms.dtype).value();
    return extents;
  }

  Status Begin(const Cells& cells, const Problem& extents) {
    shape_ = {};
    extents_ = extents;
    shape_.problem = ProblemOf(extents);
    shape_.session = table_.sessions.size() - 1;
    if (table_.is_comparison()) {
      if (place_.contains(shape_.problem)) return cells.Bad(SizesText(extents) + " stands twice");
      shape_.choice = TRY(cells.Filled("choice"));
      shape_.roofline_us = TRY(cells.Number("floor_us", true));
    }
    if (!checked_) return {};
    if (*checked_ != extents) {
      return cells.Bad("the bar was checked of another shape than the rows that follow");
    }
    shape_.primary_check = std::exchange(check_, {});
    checked_.reset();
    return {};
  }

  Status TakePrimaryCheck(const Cells& cells) {
    if (!between()) return Lacking();
    checked_ = TRY(cells.Extents());
    check_ = {static_cast<int>(TRY(cells.Number("others"))),
              static_cast<int>(TRY(cells.Number("choices"))),
              {}};
    return {};
  }

  Status TakeFaster(const Cells& cells) {
    const Problem extents = TRY(cells.Extents());
    BesidePrimary faster;
    faster.mode = TRY(cells.ModeIn());
    faster.name = TRY(cells.Filled("name"));
    faster.ratio = TRY(cells.Ratio());
    if (is_old_) {
      faster_[ProblemOf(extents)].push_back(std::move(faster));
      return {};
    }
    if (!between() || !checked_) return cells.Bad("it follows no line of a checked bar");
    if (*checked_ != extents) return cells.Bad("of another shape than the line before");
    check_.violations.push_back(std::move(faster));
    return {};
  }

  // Where a shape stands in the table: the row of one mode.
  Status TakeMode(const Cells& cells) {
    ModeComparison mode;
    mode.mode = TRY(cells.ModeIn());
    mode.kernel_us = TRY(cells.Number("kernel_us"));
    mode.library_us = TRY(cells.Number("ours_us"));
    mode.primary_us = TRY(cells.Number("lt_auto_us"));
    mode.kernel = TRY(cells.Ratio("_kernel"));
    mode.library = TRY(cells.Ratio());
    if (!cells["plain_us"].empty()) {
      mode.plain_us = TRY(cells.Number("plain_us"));
      mode.plain = TRY(cells.Ratio("_plain"));
    }
    if (mode.mode != kComparedModes[rows_]) return Lacking();
    if (cells["choice"] != shape_.choice ||
        TRY(cells.Number("floor_us", true)) != shape_.roofline_us) {
      return cells.Bad("choice and floor_us must be the same in a shape's four rows");
    }
    shape_.modes[rows_] = mode;
    return {};
  }

  Status TakeTime(const Cells& cells) {
    LibraryTime time;
    time.name = TRY(cells.Filled("name"));
    time.layout = TRY(cells.Filled("layout"));
    time.mode = TRY(cells.ModeIn());
    time.us = TRY(cells.Number("us"));
    const bool paired = !cells["ratio"].empty() || !cells["lo"].empty() || !cells["hi"].empty();
    if (paired) time.ours = TRY(cells.Ratio());
    shape_.times.push_back(std::move(time));
    return {};
  }

  // More rows of a shape of the libraries may come later.
  void Keep() {
    rows_ = 0;
    if (!table_.is_comparison() && !is_old_) expected_ = 0;
    const auto [place, is_new] = place_.emplace(shape_.problem, table_.shapes.size());
    if (is_new) {
      table_.shapes.push_back(std::move(shape_));
    } else {
      std::vector<LibraryTime>& times = table_.shapes[place->second].times;
      std::move(shape_.times.begin(), shape_.times.end(), std::back_inserter(times));
    }
  }

  TableText& text_;
  MeasurementTable& table_;
  const bool is_old_;
  size_t expected_, rows_ = 0;  // of one shape
  ShapeMeasurement shape_;
  Problem extents_;                 // its
  std::optional<Problem> checked_;  // whose bar `check_` is of; its rows are still to come
  PrimaryCheck check_;
  std::map<Problem, size_t> place_;
  std::map<Problem, std::vector<BesidePrimary>> faster_;
};

bool TellsOfLinesAbove(std::string_view line) {
  return line.starts_with('#') && line.find(kLinesAbove) != line.npos;
}

struct WholePart {
  CountedText counted;
  size_t bytes = 0;
};

// What stands up to the last line that tells of others; each such line must fit what is above it.
Result<WholePart> WholePartOf(const TableKind& kind, std::string_view source,
                              std::string_view text) {
  TableText lines(kind, source, text);
  WholePart whole;
  size_t above = 0;
  for (auto line = lines.Next(); line; line = lines.Next()) {
    if (TellsOfLinesAbove(*line)) {
      const std::string part(text.substr(whole.bytes, above - whole.bytes));
      if (whole.counted.Add(part) != part + std::string(*line) + "\n") {
        return lines.Bad("the lines above are not those of which this line tells");
      }
      whole.bytes = lines.bytes();
    }
    above = lines.bytes();
  }
  if (whole.bytes > 0) return whole;
  return lines.Bad("the head is cut off: no line tells of the lines above it");
}

Result<ReadMeasurements> Parsed(TableText& text, bool is_comparison) {
  ReadMeasurements read;
  const int version = TRY(text.Version());
  const bool is_counted = version == KindOf(is_comparison).version;
  const bool has_old_terms = !is_comparison && version == kFirstLibraryVersion;
  read.table.terms = has_old_terms ? TRY(OldTermsIn(text)) : TRY(TermsIn(text));
  TRY(CheckTerms(text, read.table.terms, is_comparison));
  Reader reader(text, read, has_old_terms);
  std::string_view columns = TRY(text.NextOfHead());
  for (; columns.starts_with('#'); columns = TRY(text.NextOfHead())) TRY(reader.TakeNote(columns));
  if (is_comparison) {
    TRY(text.TakeColumns(columns, kComparisonColumns, is_counted ? 0 : kPlainColumns));
  } else {
    TRY(text.TakeColumns(columns, kLibraryColumns));
  }
  read.is_old = !is_counted;
  read.whole_bytes = text.bytes();
  while (const auto line = text.Next()) {
    if (TellsOfLinesAbove(*line)) {
      if (!is_counted) return text.Bad("a line that tells of others, which this version has not");
      if (!reader.between()) return text.Bad("the rows of a shape are missing above");
    } else if (line->starts_with('#')) {
      if (TRY(reader.TakeNote(*line))) continue;  // without a shape it is no whole part
    } else {
      TRY(reader.TakeRow(TRY(text.Row(*line))));
    }
    if (reader.between() && !read.table.shapes.empty()) read.whole_bytes = text.bytes();
  }
  // It was written as a whole.
  if (has_old_terms && text.is_cut_off()) return text.Bad("the line behind this one is cut off");
  reader.Finish();
  const auto& shapes = read.table.shapes;
  read.table.sessions.resize(shapes.empty() ? 0 : shapes.back().session + 1);
  return read;
}

}  // namespace

std::string CountedText::Add(const std::string& part) {
  lines_ += static_cast<size_t>(std::count(part.begin(), part.end(), '\n'));
  digest_ = Sha256Hex(digest_ + part);
  return part + "# " + std::to_string(lines_) + std::string(kLinesAbove) + digest_ + "\n";
}

Result<ReadMeasurements> ParseMeasurements(std::string_view source, std::string_view text) {
  const bool is_comparison = !text.starts_with(kLibraryKind.Start());
  const TableKind& kind = KindOf(is_comparison);
  if (!text.starts_with(kind.FirstLine())) {
    TableText lines(kind, source, text);
    return Parsed(lines, is_comparison);
  }
  WholePart whole = TRY(WholePartOf(kind, source, text));
  TableText lines(kind, source, text.substr(0, whole.bytes));
  ReadMeasurements read = TRY(Parsed(lines, is_comparison));
  read.counted = std::move(whole.counted);
  read.whole_bytes = whole.bytes;
  return read;
}

std::string HeadText(const MeasurementTerms& terms) {
  const bool is_comparison = terms.layout != kBothLayouts;
  std::string text = KindOf(is_comparison).FirstLine();
  for (const auto& [name, term] : kTermFields) {
    text += "# " + std::string(name) + ": " + terms.*term + "\n";
  }
  return text + (is_comparison ? ColumnsText(kComparisonColumns) : ColumnsText(kLibraryColumns)) +
         "\n";
}

std::string SessionText(const MeasurementSession& session) {
  std::string text;
  const size_t count = session.gpu.empty() ? kFirstSessionFields : kSessionFields.size();
  for (const SessionField& field : std::span(kSessionFields).first(count)) {
    text += (text.empty() ? "" : "; ") + std::string(field.start) + session.*field.text;
  }
  return std::string(kSession) + text + "\n";
}

namespace {

std::string PrimaryCheckText(const ShapeMeasurement& shape) {
  if (!shape.primary_check) return "";
  const std::string extents = ExtentsText(shape.problem) + ",";
  std::string text = std::string(kPrimaryCheck) + extents +
                     std::to_string(shape.primary_check->others) + "," +
                     std::to_string(shape.primary_check->choices) + "\n";
  for (const BesidePrimary& faster : shape.primary_check->violations) {
    text += std::string(kFasterThanPrimary) + extents + std::string(warpsmith::Name(faster.mode)) +
            "," + faster.name + RatioText(faster.ratio) + "\n";
  }
  return text;
}

}  // namespace

std::string RowsText(const MeasurementTerms& terms, const ShapeMeasurement& shape) {
  std::string text = PrimaryCheckText(shape);
  const std::string extents = ExtentsText(shape.problem) + ",";
  if (terms.layout == kBothLayouts) {
    text += std::string(kRows) + std::to_string(shape.times.size()) + "\n";
    for (const LibraryTime& time : shape.times) {
      text += extents + time.name + "," + time.layout + "," + terms.dtype + "," +
              std::string(warpsmith::Name(time.mode)) + NumberText(time.us) +
              (time.ours ? RatioText(*time.ours) : ",,,") + "\n";
    }
    return text;
  }
  for (const ModeComparison& mode : shape.modes) {
    text += extents + terms.layout + "," + terms.dtype + "," +
            std::string(warpsmith::Name(mode.mode)) + "," + shape.choice +
            NumberText(mode.kernel_us) + NumberText(mode.library_us) + NumberText(mode.primary_us) +
            RatioText(mode.kernel) + RatioText(mode.library) + NumberText(shape.roofline_us) +
            (mode.plain ? NumberText(mode.plain_us) + RatioText(*mode.plain) : ",,,,") + "\n";
  }
  return text;
}

std::string ToText(const MeasurementTable& table) {
  CountedText counted;
  std::string text = counted.Add(HeadText(table.terms));
  std::optional<size_t> session;
  for (const ShapeMeasurement& shape : table.shapes) {
    const bool is_new = session != shape.session;
    text += counted.Add((is_new ? SessionText(table.sessions[shape.session]) : "") +
                        RowsText(table.terms, shape));
    session = shape.session;
  }
  return text;
}

Status CheckWritable(const MeasurementTerms& terms, const MeasurementSession& session) {
  const std::string text = HeadText(terms) + SessionText(session);
  TableText lines(KindOf(terms.layout != kBothLayouts), "the table", text);
  TRY(lines.Version());
  const bool same = TRY(TermsIn(lines)) == terms;
  TRY(lines.NextOfHead());
  const std::string last = TRY(lines.NextOfHead(std::string(kSession)));
  if (same && !lines.Next() && TRY(SessionIn(lines, last, false)) == session) return {};
  return lines.Bad("a text of the head or of the session holds a line's end or '; '");
}

}  // namespace warpsmith::hgemm
