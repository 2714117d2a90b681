// What the tables of measurements share: their lines, and cells that are sizes, times and ratios.
#ifndef WARPSMITH_HGEMM_MEASURED_CELLS_H_
#define WARPSMITH_HGEMM_MEASURED_CELLS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hgemm/cells.h"
#include "hgemm/comparison_table.h"

namespace warpsmith::hgemm {

// Hands out a text's lines; what follows the last newline is no line.
class Lines {
 public:
  Lines(std::string_view source, std::string_view text) : place_{source, 0}, rest_(text) {}

  std::optional<std::string_view> Next();
  Result<std::string_view> NextOfHead(const char* fix);  // kBadInput: there is none
  const Place& place() const { return place_; }
  size_t bytes() const { return bytes_; }  // of the lines handed out

 private:
  Place place_;
  std::string_view rest_;
  size_t bytes_ = 0;
};

// Cells of one line. Errors are kBadInput and say `fix`.
class Cells {
 public:
  // As many as there are columns.
  static Result<Cells> Of(const Place& place, std::string_view line, size_t columns,
                          const char* fix);

  std::string_view operator[](size_t column) const { return cells_[column]; }
  // Above 0, or 0 where it may be.
  Result<double> Number(size_t column, std::string_view name, bool may_be_zero = false) const;
  // Three columns: the ratio, and the ends of its interval.
  Result<PairedRatio> Ratio(size_t first) const;
  // The first three columns: m, n, k.
  Result<std::array<int64_t, 3>> Extents() const;
  Result<Mode> ModeAt(size_t column) const;
  Error Bad(const std::string& what) const { return BadAt(place_, what, fix_); }

 private:
  Cells(const Place& place, const char* fix) : place_(place), fix_(fix) {}

  Place place_;
  const char* fix_;
  std::vector<std::string_view> cells_;
};

// ",12.25", and ",1.25,1.2,1.3".
std::string NumberText(double value);
std::string RatioText(const PairedRatio& ratio);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_MEASURED_CELLS_H_
