#include "hgemm/bench/known_points.h"

#include <algorithm>
#include <utility>

namespace warpsmith::hgemm {
namespace {

bool ComesBefore(const KnownPoint& a, const KnownPoint& b) {
  const auto rank = [](const KnownPoint& row) {
    return std::pair(!row.measured_us, row.measured_us.value_or(row.predicted_us));
  };
  return rank(a) < rank(b);
}

}  // namespace

Result<std::vector<KnownPoint>> KnownPoints(search::Machine& machine,
                                            const search::SearchJob& job) {
  store::DatabaseStore* store = TRY(machine.store());
  std::vector<KnownPoint> rows;
  for (const Point& point : job.space.points()) {
    KnownPoint row{point, job.model(point), {}, {}, ""};
    const std::string key =
        MeasurementKey(TRY(job.make(point)), job.task, job.workload, search::SearchProtocol());
    std::optional<Completed> found;
    if (machine.recorded() != nullptr) {
      if (machine.recorded()->Has(key)) found = TRY(machine.recorded()->LookUp(key));
    } else {
      found = TRY(store->FindVerdict(key, machine.info().uuid));
    }
    if (found) {
      row.outcome = OutcomeName(found->verdict.outcome);
      row.ratio = RatioToPrimary(found->verdict, Mode::kDeviceHot);
      if (const ModeTiming* timing = FindTiming(found->verdict, Mode::kDeviceHot)) {
        row.measured_us = timing->candidate.median_us;
      }
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), ComesBefore);
  return rows;
}

}  // namespace warpsmith::hgemm
