// What kernels and libraries were measured to take, shape by shape, in the rounds that they shared
// with cuBLASLt: the table that `hgemm bench` makes. With --against it holds one library and its
// kernels beside the bar in each mode (a comparison), without it the times of NVIDIA's libraries.
#ifndef WARPSMITH_HGEMM_MEASUREMENT_TABLE_H_
#define WARPSMITH_HGEMM_MEASUREMENT_TABLE_H_

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
#include "hgemm/family.h"

namespace warpsmith::hgemm {

// Every compared shape has a row in each, in this order.
inline constexpr std::array<Mode, 4> kComparedModes = {Mode::kDeviceHot, Mode::kDeviceCold,
                                                       Mode::kOffline, Mode::kServer};

// What all ratios of a comparison are to: cuBLASLt, autotuned.
inline constexpr std::string_view kPrimary = "cublaslt-auto";
inline constexpr std::string_view kOurKernel = "kernel";    // the catalogue's, launched by itself
inline constexpr std::string_view kTorchLibrary = "torch";  // torch.matmul
inline constexpr std::string_view kBothLayouts = "both";    // a term: of the libraries' times

// --- Is the bar the strongest that NVIDIA's libraries offer? Whatever of theirs is measured beside
// it must not be faster than it, beyond the noise.

// One time over another, paired in the same rounds: above 1 the other is faster. Of its interval,
// 0 < lo <= value <= hi, finite.
using PairedRatio = Estimate;

// What is that much faster at most is called the same, as in a verdict (Protocol::band).
inline constexpr double kPrimaryBand = 0.01;
// Of a time that was not paired with the bar's in its rounds (torch.matmul's).
inline constexpr double kUnpairedBand = 0.05;

// Another way of NVIDIA's, in one mode: the bar's time over its.
struct BesidePrimary {
  Mode mode = Mode::kDeviceHot;
  std::string name;  // "cublas-tn"
  PairedRatio ratio;
};

// Shown to be faster than the bar: its whole interval lies above the band.
bool IsViolation(const PairedRatio& primary_over_other);
// The same of microseconds that were not paired, by kUnpairedBand.
bool IsViolationUnpaired(double primary_us, double other_us);

// One shape whose rounds held others beside the bar.
struct PrimaryCheck {
  int others = 0;   // contenders of NVIDIA's beside the bar
  int choices = 1;  // how often the bar was chosen: 2 where the first was found too slow
  std::vector<BesidePrimary> violations;  // that are left
};
// Keeps those that violate.
PrimaryCheck CheckOf(int others, int choices, std::vector<BesidePrimary> measured);

// Whether a shape is one of those whose rounds hold the others: one in `one_in`, drawn by its
// hash, so that nobody picks them and the same command draws the same. 0: none is.
bool IsDrawnForPrimaryCheck(const Problem& problem, int one_in);

// Of a table: what its bar is worth.
struct PrimaryStanding {
  size_t shapes = 0, checked = 0, chosen_again = 0, violations = 0;
  // At least one shape in ten was checked, and nothing was found.
  bool IsHeadline() const { return shapes > 0 && violations == 0 && 10 * checked >= shapes; }
};
// One line for a person, without its end.
std::string Text(const PrimaryStanding& standing);

// --- The table.

// What was measured, and how: the same in every row of a table. Two tables are of one measuring
// when all of these are equal.
struct MeasurementTerms {
  std::string device;         // "NVIDIA H200"
  std::string layout, dtype;  // "TN", or kBothLayouts; "f16"
  std::string library;        // the file's name and SHA-256; of NVIDIA's: "driver 580.95"
  std::string pack;           // likewise, of the pack it finds, or "none"
  std::string catalogue;      // CatalogueHash of it AsBuiltNow, or "none"
  std::string protocol;       // ProtocolId and the bar's, or where it was replayed from
  bool operator==(const MeasurementTerms&) const = default;
};

// The terms by the names that files and errors give them, in a file's order.
using TermField = std::pair<std::string_view, std::string MeasurementTerms::*>;
inline constexpr std::array<TermField, 7> kTermFields = {
    {{"device", &MeasurementTerms::device},
     {"layout", &MeasurementTerms::layout},
     {"dtype", &MeasurementTerms::dtype},
     {"library", &MeasurementTerms::library},
     {"pack", &MeasurementTerms::pack},
     {"catalogue", &MeasurementTerms::catalogue},
     {"protocol", &MeasurementTerms::protocol}}};

// One call's measuring: what may differ from one to the next.
struct MeasurementSession {
  std::string date, driver, toolkit, baseline, program;  // baseline: "cuBLASLt 13.1.0"
  // The GPU's UUID shortened, the commit the program was built from, the command; empty in tables
  // that were written without them.
  std::string gpu, commit, command;
  bool operator==(const MeasurementSession&) const = default;
};

// One mode of a comparison.
struct ModeComparison {
  Mode mode = Mode::kDeviceHot;
  double kernel_us = 0, library_us = 0, primary_us = 0;  // medians
  // The bar's time over ours: above 1 ours is faster. The kernel launched alone; the library, guard
  // and dispatch included.
  PairedRatio kernel, library;
  // The same kernel built without launch overlap, launched alone: what it is worth where the call
  // ahead must have ended. Empty: not measured.
  double plain_us = 0;
  std::optional<PairedRatio> plain = {};
};

// One time of the libraries' times.
struct LibraryTime {
  std::string name, layout;  // "cublaslt-auto" and "nn", "tn" or "max"; kOurKernel and "tn"
  Mode mode = Mode::kDeviceHot;
  double us = 0;                    // median
  std::optional<PairedRatio> ours;  // this time over our kernel's, where both ran in one round
};

inline constexpr std::string_view kUnlisted = "unlisted";  // a choice: no row of the catalogue

struct ShapeMeasurement {
  Problem problem;
  // Of a comparison.
  std::string choice;      // the kernel (PointName) or "cublaslt", as the catalogue says; kUnlisted
  double roofline_us = 0;  // 0: not known for this device
  std::array<ModeComparison, 4> modes = {};        // as kComparedModes
  size_t session = 0;                              // of MeasurementTable::sessions
  std::optional<PrimaryCheck> primary_check = {};  // where its rounds held NVIDIA's other ways
  std::vector<LibraryTime> times = {};             // of the libraries
};

struct MeasurementTable {
  MeasurementTerms terms;
  std::vector<MeasurementSession> sessions;
  std::vector<ShapeMeasurement> shapes;  // as they were measured; none twice

  bool is_comparison() const { return terms.layout != kBothLayouts; }
};

// What the bar is worth; also a time of torch.matmul, which was not taken in the same rounds, that
// is below the bar's by more than kUnpairedBand is a violation.
PrimaryStanding StandingOf(const MeasurementTable& table);

// "catalogue, pack": which terms differ; empty: none does.
std::string DifferencesOf(const MeasurementTerms& one, const MeasurementTerms& other);

const ShapeMeasurement* Find(const MeasurementTable& table, const Problem& problem);
bool Has(const ShapeMeasurement& shape, std::string_view library);

struct NamedMeasurements {
  std::string source;
  MeasurementTable table;
};
// Comparisons of one kind as one, shapes in the parts' order. kBadInput: their terms differ, they
// are no comparisons, or a shape stands in two of them; kNothingMeasured: none has a shape. `parts`
// must not be empty.
Result<MeasurementTable> Join(std::span<const NamedMeasurements> parts);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_MEASUREMENT_TABLE_H_
