#include "hgemm/bench/bundle_jobs.h"

#include <utility>

#include "base/interrupt.h"
#include "hgemm/cost_model.h"
#include "hgemm/family.h"
#include "search/proposers/closed_subset.h"
#include "search/tuning/search.h"

namespace warpsmith::hgemm {
namespace {

// What can be known of a GPU that is elsewhere: its architecture, and the largest such part.
Target TargetElsewhere(const std::string& architecture) {
  DeviceInfo info;
  info.architecture = architecture;
  info.sm_count = Target{}.sm_count;
  info.max_shared_bytes_per_block =
      architecture.starts_with("sm_9") ? Target{}.max_shared_bytes : 99 * 1024;
  return TargetOf(info);
}

}  // namespace

Result<int> AddJobs(Compiler& compiler, const BundleJobs& options, const task::HgemmShape& shape,
                    std::vector<Job>& jobs) {
  const Task task = TaskOf(options.product);
  const Workload workload = task::HgemmWorkload(shape);
  const Problem problem = search::ProblemOf(task, workload);
  const Target target = TargetElsewhere(options.architecture);
  const Space space = proposers::ClosedSubset(
      SpaceFor(problem, target),
      [&](const Point& point) { return PredictUs(problem, target, point); }, options.limit);
  int failed = 0;
  for (const Point& point : space.points()) {
    if (Interrupted()) return Error{ErrorCode::kInterrupted, "stopped while compiling", ""};
    Candidate candidate = TRY(MakeCandidate(problem, point));
    CompileOutcome outcome = TRY(compiler.Compile(candidate, options.architecture));
    auto* artifact = std::get_if<Artifact>(&outcome);
    if (artifact == nullptr) {
      ++failed;
      continue;
    }
    const Protocol protocol = search::SearchProtocol();
    std::string key = MeasurementKey(candidate, task, workload, protocol);
    jobs.push_back(
        {std::move(key), task, workload, std::move(candidate), std::move(*artifact), protocol});
  }
  return failed;
}

}  // namespace warpsmith::hgemm
