// What a library and its kernels were measured to be beside cuBLASLt, shape by shape: the table
// that `hgemm bench --against` makes.
#ifndef WARPSMITH_HGEMM_COMPARISON_TABLE_H_
#define WARPSMITH_HGEMM_COMPARISON_TABLE_H_

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/protocol.h"
#include "core/verdict.h"
#include "hgemm/bar_check.h"
#include "hgemm/problem.h"

namespace warpsmith::hgemm {

// Every shape has a row in each, in this order.
inline constexpr std::array<Mode, 4> kComparedModes = {Mode::kDeviceHot, Mode::kDeviceCold,
                                                       Mode::kOffline, Mode::kServer};

// What all ratios are to: cuBLASLt, autotuned.
inline constexpr std::string_view kBar = "cublaslt-auto";

// What was compared, and how: the same in every row of a table. Two tables are of one comparison
// when all of these are equal.
struct ComparisonTerms {
  std::string device;         // "NVIDIA H200"
  std::string layout, dtype;  // "TN", "f16"
  std::string library;        // the file's name and SHA-256
  std::string pack;           // likewise, of the pack it finds, or "none"
  std::string catalogue;      // CatalogueHash of it AsBuiltNow, or "none"
  std::string protocol;       // ProtocolId
  bool operator==(const ComparisonTerms&) const = default;
};

// The terms by the names that files and errors give them, in a file's order.
struct TermField {
  std::string_view name;
  std::string ComparisonTerms::*text;
};
inline constexpr std::array<TermField, 7> kTermFields = {
    {{"device", &ComparisonTerms::device},
     {"layout", &ComparisonTerms::layout},
     {"dtype", &ComparisonTerms::dtype},
     {"library", &ComparisonTerms::library},
     {"pack", &ComparisonTerms::pack},
     {"catalogue", &ComparisonTerms::catalogue},
     {"protocol", &ComparisonTerms::protocol}}};

// One call's measuring: what may differ from one to the next.
struct ComparisonSession {
  std::string date, driver, toolkit, baseline, program;  // baseline: "cuBLASLt 13.1.0"
  // The GPU's UUID shortened, the commit the program was built from, the command; empty in tables
  // that were written without them.
  std::string gpu, commit, command;
  bool operator==(const ComparisonSession&) const = default;
};

struct ModeComparison {
  Mode mode = Mode::kDeviceHot;
  double kernel_us = 0, library_us = 0, bar_us = 0;  // medians
  // The bar's time over ours: above 1 ours is faster. The kernel launched alone; the library, guard
  // and dispatch included.
  PairedRatio kernel, library;
  // The same kernel built without launch overlap, launched alone: what it is worth where the call
  // ahead must have ended. Empty: not measured.
  double plain_us = 0;
  std::optional<PairedRatio> plain = {};
};

inline constexpr std::string_view kUnlisted = "unlisted";  // a choice: no row of the catalogue

struct ShapeComparison {
  Problem problem;
  std::string choice;   // the kernel (PointName) or "cublaslt", as the catalogue says; kUnlisted
  double floor_us = 0;  // 0: not known for this device
  std::array<ModeComparison, 4> modes;     // as kComparedModes
  size_t session = 0;                      // of ComparisonTable::sessions
  std::optional<BarCheck> bar_check = {};  // where its rounds held NVIDIA's other ways
};

struct ComparisonTable {
  ComparisonTerms terms;
  std::vector<ComparisonSession> sessions;
  std::vector<ShapeComparison> shapes;  // as they were measured; none twice
};

BarStanding StandingOf(const ComparisonTable& table);

// "catalogue, pack": which terms differ; empty: none does.
std::string DifferencesOf(const ComparisonTerms& one, const ComparisonTerms& other);

const ShapeComparison* Find(const ComparisonTable& table, const Problem& problem);

struct NamedComparison {
  std::string source;
  ComparisonTable table;
};
// Tables of one comparison as one, shapes in the parts' order. kBadInput: their terms differ, or a
// shape stands in two of them; kNothingMeasured: none has a shape. `parts` must not be empty.
Result<ComparisonTable> Join(std::span<const NamedComparison> parts);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_COMPARISON_TABLE_H_
