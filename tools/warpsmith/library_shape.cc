#include "library_shape.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "judge/statistics.h"

namespace warpsmith::cli {
namespace {

using hgemm::LibraryTime;

constexpr double kBarConfidence = 0.99;  // as in verdicts

LibraryTime TimeOf(const store::BaselineRow& row) {
  return {row.name, row.layout, row.mode, row.us, std::nullopt};
}

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
  times.insert(times.begin(), {std::string(hgemm::kOurKernel), "tn", mode.mode,
                               mode.candidate.median_us, std::nullopt});
}

// Of the mode's baselines, by the rounds that they shared with the bar.
void AddFaster(const ModeTiming& mode, std::vector<hgemm::BesideBar>& faster) {
  const auto bar = std::find_if(mode.baselines.begin(), mode.baselines.end(),
                                [](const ContenderTiming& one) { return one.name == hgemm::kBar; });
  if (bar == mode.baselines.end()) return;
  for (const ContenderTiming& other : mode.baselines) {
    if (other.name == hgemm::kBar || other.name.ends_with("/again")) continue;
    const judge::Estimate estimate =
        judge::EstimateOf(judge::PairedLogRatios(bar->samples, other.samples), kBarConfidence);
    if (!std::isfinite(judge::HalfWidth(estimate))) continue;
    const hgemm::PairedRatio ratio{estimate.value, estimate.interval};
    if (hgemm::IsViolation(ratio)) faster.push_back({mode.mode, other.name, ratio});
  }
}

}  // namespace

MeasuredLibraries LibrariesOf(const Sizes& shape, const BesideLibraries& beside, bool ours) {
  MeasuredLibraries measured;
  measured.times.shape = shape;
  measured.library = beside.library;
  for (const ModeTiming& mode : beside.timing.modes) {
    std::vector<LibraryTime> times;
    for (const store::BaselineRow& row : LibraryRows("", mode)) times.push_back(TimeOf(row));
    if (ours) {
      AddOurs(mode, times);
      measured.samples += SampleLines(shape, mode.mode, hgemm::kOurKernel, mode.candidate);
    }
    std::move(times.begin(), times.end(), std::back_inserter(measured.times.times));
    AddFaster(mode, measured.faster);
    for (const ContenderTiming& baseline : mode.baselines) {
      measured.samples += SampleLines(shape, mode.mode, baseline.name, baseline);
    }
  }
  return measured;
}

Result<MeasuredLibraries> RecordedLibraries(const store::RecordedDevice& recorded,
                                            const Sizes& shape, const std::string& space) {
  MeasuredLibraries measured;
  measured.times.shape = shape;
  measured.library = "recorded";
  for (const store::BaselineRow& row : recorded.Baselines()) {
    if (row.space != space || row.name.ends_with("/again")) continue;
    measured.times.times.push_back(TimeOf(row));
    ContenderTiming median;
    median.samples = {Sample{.us = static_cast<float>(row.us)}};
    measured.samples += SampleLines(shape, row.mode, row.name + "-" + row.layout, median);
  }
  if (!measured.times.times.empty()) return measured;
  return Error{ErrorCode::kNothingMeasured, space + ": no library was recorded", ""};
}

}  // namespace warpsmith::cli
