#include "measuring.h"

#include <algorithm>
#include <deque>
#include <thread>

#include "base/interrupt.h"
#include "search/evaluator.h"

namespace warpsmith::cli {
namespace {

constexpr int kMostOnDevice = 4;  // enough that it never waits for us
constexpr size_t kWindow = 96;    // begun and not delivered: bounds the images in memory

int CompileThreads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 2);
}

}  // namespace

Result<bool> MeasurePoints(Machine& machine, const SearchJob& search, const Protocol& protocol,
                           const std::vector<Point>& points, const OnMeasured& on_measured) {
  store::SqliteStore* store = TRY(machine.store());
  search::Evaluator evaluator({search.task, search.workload, protocol}, machine.loop_compiler(),
                              CompileThreads(), machine.device(), *store);
  std::deque<Job> begun;
  size_t next = 0;
  bool going = true;
  while ((going && next < points.size()) || !begun.empty()) {
    while (going && next < points.size() && begun.size() < kWindow) {
      Candidate candidate = TRY(search.make(points[next++]));
      std::string key = evaluator.KeyOf(candidate);
      TRY(evaluator.Begin(key, candidate));
      begun.push_back({std::move(key), search.task, search.workload, std::move(candidate),
                       std::nullopt, protocol});
    }
    while (evaluator.on_device() < kMostOnDevice && (going || evaluator.on_device() == 0)) {
      if (!TRY(evaluator.SubmitNext())) break;
    }
    while (!begun.empty()) {
      const auto completed = evaluator.Take(begun.front().key);
      if (!completed) break;
      going = TRY(on_measured(begun.front(), *completed)) && going && !Interrupted();
      begun.pop_front();
    }
    if (!going && evaluator.on_device() == 0) break;
    if (!begun.empty()) TRY(evaluator.Wait());
  }
  return going && next == points.size();
}

}  // namespace warpsmith::cli
