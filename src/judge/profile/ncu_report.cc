#include "judge/profile/ncu_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <utility>

#include "base/display_text.h"
#include "base/text.h"
#include "base/utf8.h"

namespace warpsmith::profile {

bool CsvReader::AtLineEnd() const {
  return at_ >= text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
}

void CsvReader::SkipEmptyLines() {
  while (at_ < text_.size() && AtLineEnd()) at_ += text_[at_] == '\r' ? 2 : 1;
}

std::string CsvReader::Quoted() {
  std::string cell;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] != '"') {
      cell += text_[at_];
      continue;
    }
    if (text_.substr(at_ + 1, 1) == "\"") {
      cell += '"';
      ++at_;
      continue;
    }
    ++at_;
    if (AtLineEnd() || text_[at_] == ',') return cell;
    --at_;  // followed by anything else it does not close the cell
    cell += '"';
  }
  truncated_ = true;
  return cell;
}

std::string CsvReader::Plain() {
  const size_t start = at_;
  while (!AtLineEnd() && text_[at_] != ',') ++at_;
  return std::string(text_.substr(start, at_ - start));
}

bool CsvReader::HasMore() {
  SkipEmptyLines();
  return at_ < text_.size();
}

std::optional<CsvRecord> CsvReader::Next() {
  if (!HasMore()) return std::nullopt;
  CsvRecord record;
  while (true) {
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    record.push_back(quoted ? Quoted() : Plain());
    if (AtLineEnd()) break;
    ++at_;  // the comma
  }
  SkipEmptyLines();
  return record;
}

std::string_view CsvReader::TakeLine() {
  const size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string_view line = text_.substr(at_, end - at_);
  at_ = std::min(end + 1, text_.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool CsvReader::NextStartsWith(std::string_view prefix) {
  SkipEmptyLines();
  return text_.substr(at_).starts_with(prefix);
}

namespace {

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

// "1,234.5" -> 1234.5. Nullopt for what is no finite decimal number, such as "", "n/a", "(!) nan",
// "no data", or separators at other places than thousands.
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

// What a value in `unit` is multiplied by to be in nanoseconds or bytes; 1 for any other unit.
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

constexpr std::string_view kRights = "ERR_NVGPUCTRPERM";
constexpr size_t kMaxMessages = 64;
constexpr size_t kMaxMessageCharacters = 1024;

// Where the table's columns are. A metric column of the wide layout has "__" in its name.
struct Columns {
  CsvRecord names;
  CsvRecord units;  // wide layout
  std::optional<size_t> id, kernel, metric, unit, value;
  bool IsLong() const { return metric && value; }
};

std::optional<size_t> ColumnNamed(const CsvRecord& record, std::string_view name) {
  const auto found = std::find(record.begin(), record.end(), name);
  if (found == record.end()) return std::nullopt;
  return static_cast<size_t>(found - record.begin());
}

std::optional<Columns> ColumnsOf(const CsvRecord& record) {
  Columns columns;
  columns.id = ColumnNamed(record, "ID");
  columns.kernel = ColumnNamed(record, "Kernel Name");
  columns.metric = ColumnNamed(record, "Metric Name");
  columns.unit = ColumnNamed(record, "Metric Unit");
  columns.value = ColumnNamed(record, "Metric Value");
  if (!columns.id || !columns.kernel) return std::nullopt;
  columns.names = record;
  return columns;
}

// Cut at the end of a whole character.
std::string Cut(std::string_view text, size_t bytes) {
  std::string valid = ValidUtf8(text);
  if (valid.size() <= bytes) return valid;
  size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(valid[end]) & 0xC0U) == 0x80U) --end;
  valid.resize(end);
  return valid;
}

void TakeMessage(std::string_view line, NcuReport* report) {
  const auto keep = [&](std::string_view mark, std::vector<std::string>* list) {
    if (!line.starts_with(mark) || list->size() >= kMaxMessages) return;
    const std::string_view text = line.substr(mark.size());
    const size_t first = std::min(text.find_first_not_of(' '), text.size());
    if (first < text.size())
      list->push_back(ForTerminal(text.substr(first), kMaxMessageCharacters));
  };
  keep("==WARNING==", &report->warnings);
  keep("==ERROR==", &report->errors);
}

void Put(KernelProfile* kernel, const std::string& name, std::string_view text,
         std::string_view unit) {
  const std::optional<double> number = NumberOf(text);
  if (!number || name.empty() || kernel->metrics.size() >= kMaxMetricsPerKernel) return;
  const auto same = [&](const auto& metric) { return metric.first == name; };
  if (std::any_of(kernel->metrics.begin(), kernel->metrics.end(), same)) return;
  kernel->metrics.emplace_back(Cut(name, kMaxKernelNameBytes), *number * ScaleOf(unit));
}

class TableReader {
 public:
  TableReader(std::string_view source, std::string_view text) : source_(source), csv_(text) {}

  Result<NcuReport> Read() {
    while (csv_.HasMore()) {
      if (csv_.NextStartsWith("==")) {
        TakeMessage(csv_.TakeLine(), &report_);
      } else if (columns_ || csv_.NextStartsWith("\"ID\"") || csv_.NextStartsWith("ID,")) {
        TRY(Take(*csv_.Next()));
      } else {
        csv_.TakeLine();  // before the table a line is another program's: its quotes mean nothing
      }
    }
    if (csv_.Truncated()) {
      return Error{ErrorCode::kBadInput, source_ + ": the text ends inside a quoted cell",
                   "the output was cut off: take the profile again"};
    }
    return std::move(report_);
  }

 private:
  Status Take(const CsvRecord& record) {
    if (auto columns = ColumnsOf(record)) {
      columns_ = std::move(columns);
      by_id_.clear();
      return {};
    }
    if (!columns_ || record.size() != columns_->names.size()) {
      ++report_.unread_rows;
      return {};
    }
    if (!columns_->IsLong() && record[*columns_->id].empty()) {
      columns_->units = record;
      return {};
    }
    KernelProfile* kernel = TRY(KernelOf(record));
    if (columns_->IsLong()) {
      Put(kernel, record[*columns_->metric], record[*columns_->value],
          columns_->unit ? record[*columns_->unit] : "");
    } else {
      PutRow(kernel, record);
    }
    return {};
  }

  // The wide layout has a row a launch; the long one repeats the launch's ID.
  Result<KernelProfile*> KernelOf(const CsvRecord& record) {
    const std::string& id = record[*columns_->id];
    if (columns_->IsLong()) {
      if (const auto known = by_id_.find(id); known != by_id_.end()) {
        return &report_.kernels[known->second];
      }
    }
    if (report_.kernels.size() >= kMaxKernels) {
      return Error{ErrorCode::kBadInput,
                   source_ + ": more than " + std::to_string(kMaxKernels) + " kernels",
                   "profile fewer launches"};
    }
    by_id_[id] = report_.kernels.size();
    report_.kernels.push_back({Cut(record[*columns_->kernel], kMaxKernelNameBytes), {}});
    return &report_.kernels.back();
  }

  void PutRow(KernelProfile* kernel, const CsvRecord& record) {
    for (size_t i = 0; i < record.size(); ++i) {
      if (columns_->names[i].find("__") == std::string::npos) continue;
      Put(kernel, columns_->names[i], record[i],
          columns_->units.empty() ? std::string_view() : columns_->units[i]);
    }
  }

  std::string source_;
  CsvReader csv_;
  std::optional<Columns> columns_;
  std::map<std::string, size_t> by_id_;
  NcuReport report_;
};

Error NothingMeasured(std::string_view source, const NcuReport& report) {
  if (DeniesCounters(report)) {
    return {ErrorCode::kPermission,
            std::string(source) + ": this user may not read the GPU's performance counters (" +
                std::string(kRights) + ")",
            "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run with "
            "CAP_SYS_ADMIN"};
  }
  std::string why;
  if (!report.warnings.empty()) why = report.warnings.front();
  for (const std::string& warning : report.warnings) {
    if (warning.find("No kernels") != std::string::npos) why = warning;
  }
  if (!report.errors.empty()) why = report.errors.front();
  return {ErrorCode::kNothingMeasured,
          std::string(source) + ": no kernel was measured" + (why.empty() ? "" : ": " + why),
          "see that the candidate launches a kernel, and that ncu knows this GPU"};
}

}  // namespace

Result<NcuReport> ReadNcuReport(std::string_view source, std::string_view text) {
  NcuReport report = TRY(TableReader(source, text).Read());
  const bool any = std::any_of(report.kernels.begin(), report.kernels.end(),
                               [](const KernelProfile& kernel) { return !kernel.metrics.empty(); });
  if (!any) return NothingMeasured(source, report);
  return report;
}

NcuReport ReadNcuMessages(std::string_view text) {
  NcuReport report;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    TakeMessage(text.substr(0, end), &report);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return report;
}

bool DeniesCounters(const NcuReport& report) {
  const auto denies = [](const std::string& line) { return line.find(kRights) != line.npos; };
  return std::any_of(report.errors.begin(), report.errors.end(), denies) ||
         std::any_of(report.warnings.begin(), report.warnings.end(), denies);
}

std::vector<std::string> UnknownMetrics(const NcuReport& report) {
  std::vector<std::string> names;
  for (const std::string& line : report.errors) {
    const size_t find = line.find("Failed to find metric ");
    const size_t access = line.find("Failed to access the following");
    size_t start = std::string::npos;
    if (find != std::string::npos) start = find + 22;
    if (access != std::string::npos) start = line.find(": ", access);
    if (start == std::string::npos) continue;
    std::istringstream rest(line.substr(start));
    for (std::string word; rest >> word;) {
      word.erase(word.find_last_not_of(",.;") + 1);
      if (word.find("__") != std::string::npos) names.push_back(word);
    }
  }
  return names;
}

std::optional<std::string> NcuVersion(std::string_view text) {
  const size_t mark = text.find("Version ");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(mark + 8);
  std::string_view version = rest.substr(0, rest.find_first_not_of("0123456789."));
  // "2025.3.1.0": the fourth number is the build's.
  size_t dots = 0;
  for (size_t i = 0; i < version.size(); ++i) {
    if (version[i] == '.' && ++dots == 3) version = version.substr(0, i);
  }
  if (version.empty() || version.size() > 32) return std::nullopt;
  return "ncu " + std::string(version);
}

}  // namespace warpsmith::profile
