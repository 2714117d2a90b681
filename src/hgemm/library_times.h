// How long other people's libraries take, shape by shape: the table that `hgemm bench` writes, and
// goes on with.
#ifndef WARPSMITH_HGEMM_LIBRARY_TIMES_H_
#define WARPSMITH_HGEMM_LIBRARY_TIMES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/protocol.h"
#include "hgemm/comparison_table.h"

namespace warpsmith::hgemm {

inline constexpr int kLibraryTimesVersion = 1;
inline constexpr std::string_view kOurKernel = "kernel";    // the catalogue's, launched by itself
inline constexpr std::string_view kTorchLibrary = "torch";  // torch.matmul

struct LibraryTime {
  std::string name, layout;  // "cublaslt-auto" and "nn", "tn" or "max"; kOurKernel and "tn"
  Mode mode = Mode::kDeviceHot;
  double us = 0;                    // median
  std::optional<PairedRatio> ours;  // this time over our kernel's, where both ran in one round
};

struct LibraryTimes {
  std::array<int64_t, 3> shape{};  // m, n, k
  std::vector<LibraryTime> times;
};

struct FasterThanBar {
  std::array<int64_t, 3> shape{};
  BesideBar what;
};

struct LibraryTable {
  std::string terms;  // one line: what has to be equal for a table to be gone on with
  std::vector<std::string> sessions;  // a line for each call that measured: when, with what
  std::string dtype;
  std::vector<LibraryTimes> shapes;
  std::vector<FasterThanBar> faster = {};  // what was shown to be faster than the bar
};

// How many are faster than the bar: those, and torch.matmul where its time, which was not taken in
// the same rounds, is below the bar's by more than kUnpairedBand.
BarStanding StandingOf(const LibraryTable& table);

// Null: not in the table.
const LibraryTimes* Find(const LibraryTable& table, const std::array<int64_t, 3>& shape);
bool Has(const LibraryTimes& shape, std::string_view name);

std::string ToText(const LibraryTable& table);

// kBadInput with the line where something is wrong, kVersion for another version's table. `source`
// is for messages.
Result<LibraryTable> ParseLibraryTable(std::string_view source, std::string_view text);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_LIBRARY_TIMES_H_
