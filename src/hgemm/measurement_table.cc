#include "hgemm/measurement_table.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include "base/sha256.h"

namespace warpsmith::hgemm {

std::string DifferencesOf(const MeasurementTerms& one, const MeasurementTerms& other) {
  std::string names;
  for (const auto& [name, text] : kTermFields) {
    if (one.*text == other.*text) continue;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

const ShapeMeasurement* Find(const MeasurementTable& table, const Problem& problem) {
  for (const ShapeMeasurement& shape : table.shapes) {
    if (shape.problem == problem) return &shape;
  }
  return nullptr;
}

bool Has(const ShapeMeasurement& shape, std::string_view library) {
  return std::any_of(shape.times.begin(), shape.times.end(),
                     [&](const LibraryTime& time) { return time.name == library; });
}

namespace {

// torch.matmul's times that are below the bar's.
size_t FasterUnpaired(const ShapeMeasurement& shape) {
  size_t faster = 0;
  for (const LibraryTime& primary : shape.times) {
    if (primary.name != kPrimary || primary.layout != "max") continue;
    faster += static_cast<size_t>(
        std::count_if(shape.times.begin(), shape.times.end(), [&](const LibraryTime& time) {
          return time.name == kTorchLibrary && time.mode == primary.mode &&
                 IsViolationUnpaired(primary.us, time.us);
        }));
  }
  return faster;
}

}  // namespace

PrimaryStanding StandingOf(const MeasurementTable& table) {
  PrimaryStanding standing{table.shapes.size(), 0, 0, 0};
  for (const ShapeMeasurement& shape : table.shapes) {
    standing.violations += FasterUnpaired(shape);
    if (!shape.primary_check) continue;
    ++standing.checked;
    standing.chosen_again += shape.primary_check->choices > 1 ? 1 : 0;
    standing.violations += shape.primary_check->violations.size();
  }
  return standing;
}

Result<MeasurementTable> Join(std::span<const NamedMeasurements> parts) {
  CHECK(!parts.empty());
  const auto refused = [&](const NamedMeasurements& part, const std::string& what) {
    return Error{ErrorCode::kBadInput, part.source + ": " + what,
                 "only parts of one comparison can be joined: the same device, library, pack, "
                 "catalogue and protocol, each shape once"};
  };
  MeasurementTable joined{parts.front().table.terms, {}, {}};
  std::set<Problem> seen;
  for (const NamedMeasurements& part : parts) {
    if (!part.table.is_comparison()) return refused(part, "it holds times of libraries alone");
    const std::string differing = DifferencesOf(part.table.terms, joined.terms);
    if (!differing.empty()) {
      return refused(
          part, "of another comparison than " + parts.front().source + ": another " + differing);
    }
    const size_t before = joined.sessions.size();
    joined.sessions.insert(joined.sessions.end(), part.table.sessions.begin(),
                           part.table.sessions.end());
    for (ShapeMeasurement shape : part.table.shapes) {
      if (!seen.insert(shape.problem).second) {
        return refused(part, SizesText(shape.problem) + " stands in a file before it, too");
      }
      shape.session += before;
      joined.shapes.push_back(std::move(shape));
    }
  }
  if (!joined.shapes.empty()) return joined;
  return Error{ErrorCode::kNothingMeasured, parts.front().source + ": no shape was compared",
               "the command that began it goes on with the shapes that are missing"};
}

bool IsViolation(const PairedRatio& primary_over_other) {
  return primary_over_other.interval.lo > 1 + kPrimaryBand;
}

bool IsViolationUnpaired(double primary_us, double other_us) {
  return primary_us > other_us * (1 + kUnpairedBand);
}

PrimaryCheck CheckOf(int others, int choices, std::vector<BesidePrimary> measured) {
  std::erase_if(measured, [](const BesidePrimary& one) { return !IsViolation(one.ratio); });
  return {others, choices, std::move(measured)};
}

bool IsDrawnForPrimaryCheck(const Problem& problem, int one_in) {
  if (one_in <= 0) return false;
  const std::string hash = Sha256Hex("beside the bar: " + NameOf(problem));
  return std::stoull(hash.substr(0, 8), nullptr, 16) % static_cast<uint64_t>(one_in) == 0;
}

std::string Text(const PrimaryStanding& standing) {
  if (standing.checked == 0) return "bar: not checked beside NVIDIA's other ways: not a headline";
  std::string text = "bar: checked beside NVIDIA's other ways on " +
                     std::to_string(standing.checked) + " of " + std::to_string(standing.shapes) +
                     " shapes, chosen again on " + std::to_string(standing.chosen_again) + ", " +
                     std::to_string(standing.violations) +
                     (standing.violations == 1 ? " violation" : " violations");
  if (standing.IsHeadline()) return text;
  return text + (standing.violations > 0 ? "" : " on fewer than one shape in ten") +
         ": not a headline";
}

}  // namespace warpsmith::hgemm
