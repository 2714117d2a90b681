#include "hgemm/bench/shapes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "judge/statistics.h"

namespace warpsmith::hgemm {
namespace {

constexpr double kPrimaryConfidence = 0.99;  // as in verdicts
constexpr const char* kGoOn = "run the same command again: it goes on with what is missing";

bool IsTwin(std::string_view baseline) { return baseline.ends_with("/again"); }

Error NotMeasured(const Problem& problem, const std::string& what) {
  return {ErrorCode::kNothingMeasured, SizesText(problem) + ": " + what, kGoOn};
}

const ContenderTiming* FindBaseline(const ModeTiming& timing, std::string_view name) {
  for (const ContenderTiming& baseline : timing.baselines) {
    if (baseline.name == name) return &baseline;
  }
  return nullptr;
}

// The bar's time over another's, straight from the rounds in which both were timed, so that what
// disturbs both cancels. Nullopt: fewer than two rounds.
std::optional<PairedRatio> Paired(const ContenderTiming& primary, const ContenderTiming& other,
                                  double confidence) {
  const judge::Estimate estimate =
      judge::EstimateOf(judge::PairedLogRatios(primary.samples, other.samples), confidence);
  if (!std::isfinite(judge::HalfWidth(estimate))) return std::nullopt;
  return PairedRatio{estimate.value, estimate.interval};
}

// One mode of a compared shape, contender by contender.
class ComparedMode {
 public:
  ComparedMode(const ShapeTerms& terms, const ModeTiming& timing, double confidence,
               std::string& samples)
      : terms_(terms), timing_(timing), confidence_(confidence), samples_(samples) {}

  Result<ModeComparison> Compare() {
    primary_ = FindBaseline(timing_, kPrimary);
    const ContenderTiming* library = FindBaseline(timing_, terms_.library_baseline);
    if (primary_ == nullptr || library == nullptr) {
      return NotMeasured(terms_.problem, "the library and cuBLASLt were not both measured");
    }
    ModeComparison mode;
    mode.mode = timing_.mode;
    mode.primary_us = primary_->median_us;
    mode.kernel_us = timing_.candidate.median_us;
    mode.kernel = TRY(Add("kernel", timing_.candidate));
    mode.library_us = library->median_us;
    mode.library = TRY(Add("ours", *library));
    samples_ += SampleLines(terms_.problem, timing_.mode, "lt_auto", *primary_);
    if (terms_.plain == kItself) {
      mode.plain_us = mode.kernel_us;
      mode.plain = mode.kernel;
    } else if (!terms_.plain.empty()) {
      const ContenderTiming* plain = TRY(Named(terms_.plain));
      mode.plain_us = plain->median_us;
      mode.plain = TRY(Add("plain", *plain));
    }
    return mode;
  }

  // NVIDIA's other ways.
  Status AddBeside(std::vector<BesidePrimary>& measured) {
    for (const std::string& name : terms_.beside) {
      measured.push_back({timing_.mode, name, TRY(Add(name, *TRY(Named(name))))});
    }
    return {};
  }

 private:
  Result<const ContenderTiming*> Named(const std::string& name) const {
    if (const ContenderTiming* found = FindBaseline(timing_, name)) return found;
    return NotMeasured(terms_.problem, name + " was not measured");
  }

  Result<PairedRatio> Add(std::string_view contender, const ContenderTiming& timing) {
    const auto ratio = Paired(*primary_, timing, confidence_);
    if (!ratio) return NotMeasured(terms_.problem, "fewer than two rounds of " + timing.name);
    samples_ += SampleLines(terms_.problem, timing_.mode, contender, timing);
    return *ratio;
  }

  const ShapeTerms& terms_;
  const ModeTiming& timing_;
  const double confidence_;
  std::string& samples_;
  const ContenderTiming* primary_ = nullptr;
};

// Our kernel's own time, and what it is against each library, where there were rounds for it.
void AddOurs(const ModeTiming& mode, std::vector<LibraryTime>& times) {
  for (LibraryTime& time : times) {
    const std::string full = time.layout == "max" ? time.name : time.name + "-" + time.layout;
    for (const Comparison& comparison : mode.comparisons) {
      const Interval& interval = comparison.interval;
      const bool known = interval.lo > 0 && std::isfinite(interval.hi);
      if (comparison.baseline == full && known) time.ours = {comparison.ratio, interval};
    }
  }
  times.insert(times.begin(),
               {std::string(kOurKernel), "tn", mode.mode, mode.candidate.median_us, std::nullopt});
}

}  // namespace

Result<MeasuredShape> ShapeOf(const ShapeTerms& terms, const Timing& timing, double confidence) {
  MeasuredShape measured;
  measured.shape.problem = terms.problem;
  measured.shape.choice = terms.choice;
  measured.shape.roofline_us = terms.roofline_us;
  std::vector<BesidePrimary> beside;
  for (size_t i = 0; i < kComparedModes.size(); ++i) {
    const auto found =
        std::find_if(timing.modes.begin(), timing.modes.end(),
                     [&](const ModeTiming& one) { return one.mode == kComparedModes[i]; });
    if (found == timing.modes.end()) {
      return NotMeasured(terms.problem, "nothing was measured in mode " +
                                            std::string(warpsmith::Name(kComparedModes[i])));
    }
    ComparedMode mode(terms, *found, confidence, measured.samples);
    measured.shape.modes[i] = TRY(mode.Compare());
    TRY(mode.AddBeside(beside));
  }
  if (!terms.beside.empty()) {
    const auto others = static_cast<int>(terms.beside.size());
    measured.shape.primary_check = CheckOf(others, 1, std::move(beside));
  }
  return measured;
}

std::vector<LibraryTime> LibraryTimesOf(const ModeTiming& mode) {
  std::vector<LibraryTime> times;
  for (const ContenderTiming& baseline : mode.baselines) {
    if (IsTwin(baseline.name)) continue;
    const size_t suffix = baseline.name.size() - 3;
    const bool fixed = baseline.name.ends_with("-nn") || baseline.name.ends_with("-tn");
    times.push_back({fixed ? baseline.name.substr(0, suffix) : baseline.name,
                     fixed ? baseline.name.substr(suffix + 1) : "max", mode.mode,
                     baseline.median_us, std::nullopt});
  }
  return times;
}

MeasuredShape LibrariesOf(const Problem& problem, const Timing& timing, bool ours) {
  MeasuredShape measured;
  measured.shape.problem = problem;
  std::vector<BesidePrimary> beside;
  size_t others = 0;
  for (const ModeTiming& mode : timing.modes) {
    std::vector<LibraryTime> times = LibraryTimesOf(mode);
    if (ours) {
      AddOurs(mode, times);
      measured.samples += SampleLines(problem, mode.mode, kOurKernel, mode.candidate);
    }
    std::move(times.begin(), times.end(), std::back_inserter(measured.shape.times));
    const ContenderTiming* primary = FindBaseline(mode, kPrimary);
    size_t beside_bar = 0;
    for (const ContenderTiming& baseline : mode.baselines) {
      measured.samples += SampleLines(problem, mode.mode, baseline.name, baseline);
      if (primary == nullptr || &baseline == primary || IsTwin(baseline.name)) continue;
      ++beside_bar;
      const auto ratio = Paired(*primary, baseline, kPrimaryConfidence);
      if (ratio) beside.push_back({mode.mode, baseline.name, *ratio});
    }
    others = std::max(others, beside_bar);
  }
  if (others > 0) {
    measured.shape.primary_check = CheckOf(static_cast<int>(others), 1, std::move(beside));
  }
  return measured;
}

Result<MeasuredShape> RecordedLibraries(const store::RecordedDevice& recorded,
                                        const Problem& problem, const std::string& space) {
  MeasuredShape measured;
  measured.shape.problem = problem;
  for (const store::BaselineRow& row : recorded.Baselines()) {
    if (row.space != space || IsTwin(row.name)) continue;
    measured.shape.times.push_back({row.name, row.layout, row.mode, row.us, std::nullopt});
    ContenderTiming median;
    median.samples = {Sample{.us = static_cast<float>(row.us)}};
    measured.samples += SampleLines(problem, row.mode, row.name + "-" + row.layout, median);
  }
  if (!measured.shape.times.empty()) return measured;
  return Error{ErrorCode::kNothingMeasured, space + ": no library was recorded", ""};
}

}  // namespace warpsmith::hgemm
