// The text that every table of the folder is: a first line that says its kind and version, lines
// that begin with '#', one line of columns, and rows. Cells hold no commas and are not quoted.
#ifndef WARPSMITH_HGEMM_TABLE_TEXT_H_
#define WARPSMITH_HGEMM_TABLE_TEXT_H_

#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/result.h"
#include "core/protocol.h"
#include "hgemm/family.h"
#include "hgemm/measurement_table.h"

namespace warpsmith::hgemm {

struct TableKind {
  std::string_view name;  // "catalogue"
  int version = 1;        // the one that is written; older ones are read
  const char* fix;        // where a text is no such table

  std::string Start() const { return "# warpsmith hgemm " + std::string(name) + ", version "; }
  std::string FirstLine() const { return Start() + std::to_string(version) + "\n"; }
};

std::string Quoted(std::string_view text);  // its first 80 characters

// Nullopt unless all of `text` is one number of that type.
template <typename T>
std::optional<T> NumberOf(std::string_view text) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// One row's cells, by their columns' names; a column that the table lacks is empty. It must not
// outlive the text. Errors are kBadInput and name source and line.
class Cells {
 public:
  Cells(std::string place, const char* fix, std::span<const std::string_view> columns,
        std::vector<std::string_view> cells)
      : place_(std::move(place)), fix_(fix), columns_(columns), cells_(std::move(cells)) {}

  std::string_view operator[](std::string_view column) const;
  Result<std::string> Filled(std::string_view column) const;  // not empty
  // Above 0, or 0 where it may be.
  Result<double> Number(std::string_view column, bool may_be_zero = false) const;
  // The columns "ratio", "lo" and "hi" with this suffix: the ratio, and the ends of its interval.
  Result<PairedRatio> Ratio(const std::string& suffix = "") const;
  // The columns m, n and k; layout and type are left as they are by default.
  Result<Problem> Extents() const;
  Result<DType> HalfType() const;  // f16 or bf16, in the column dtype
  Result<Mode> ModeIn() const;     // the column mode
  Error Bad(const std::string& what) const;

 private:
  std::string place_;
  const char* fix_;
  std::span<const std::string_view> columns_;
  std::vector<std::string_view> cells_;
};

// Hands out a table's lines; what follows the last newline is no line. Errors are kBadInput and
// name source and line.
class TableText {
 public:
  // `source` (a file's name) is for messages.
  TableText(const TableKind& kind, std::string_view source, std::string_view text)
      : kind_(kind), source_(source), rest_(text) {}

  // The first line's version, from 1 to the kind's; kVersion for a later one.
  Result<int> Version();
  std::optional<std::string_view> Next();
  Result<std::string_view> NextOfHead();  // an error where there is none
  // What the text says after `start`, in the head's next line.
  Result<std::string> NextOfHead(const std::string& start);
  // The columns must be those of `wanted`; the last `optional` ones may be missing.
  Status TakeColumns(std::string_view line, std::span<const std::string_view> wanted,
                     size_t optional = 0);
  Result<Cells> Row(std::string_view line) const;
  // Of a line that begins with '#': cells of the columns that its form has.
  Result<Cells> Note(std::string_view cells, std::span<const std::string_view> columns) const;
  size_t bytes() const { return bytes_; }  // of the lines handed out
  bool is_cut_off() const { return !rest_.empty(); }
  Error Bad(const std::string& what) const;

 private:
  std::string Place() const;

  const TableKind& kind_;
  std::string source_;
  int line_ = 0;
  std::string_view rest_;
  size_t bytes_ = 0;
  std::vector<std::string_view> columns_;
};

// "m,n,k,layout"
std::string ColumnsText(std::span<const std::string_view> columns);
// "64,128,256", ",12.25", and ",1.25,1.2,1.3".
std::string ExtentsText(const Problem& problem);
std::string NumberText(double value);
std::string RatioText(const PairedRatio& ratio);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_TABLE_TEXT_H_
