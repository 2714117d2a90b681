// The loop on a recorded device with every step stored (at least 2,000 steps/s is wanted).
#include <benchmark/benchmark.h>

#include <string>

#include "base/file.h"
#include "search/loop.h"
#include "store/database_store.h"
#include "store/recorded_device.h"
#include "store/tests/facts.h"
#include "store/worker.h"

namespace warpsmith {
namespace {

// All points of a space, in order.
class InOrder : public Proposer {
 public:
  explicit InOrder(const store::ReplaySpace& space) : space_(space) {}
  std::string_view Name() const override { return "in-order"; }
  Result<std::vector<Proposal>> Propose(int n) override {
    std::vector<Proposal> proposals;
    for (; n > 0 && next_ < space_.space.size(); --n) {
      Candidate candidate = TRY(space_.make(space_.space.points()[next_++]));
      proposals.push_back({std::move(candidate), {}, {}});
    }
    return proposals;
  }
  void Observe(const Step& /*step*/) override {}

 private:
  const store::ReplaySpace& space_;
  size_t next_ = 0;
};

struct Fixture {
  TemporaryDirectory folder = TemporaryDirectory::Create("bench").value();
  std::unique_ptr<store::RecordedDevice> device;

  Fixture() {
    const auto path = folder.path() / "h200.wsrec";
    store::WriteTestRecording(path, 40).value();
    device = store::RecordedDevice::Open(path).value();
  }
};

void BM_LoopStepsStored(benchmark::State& state) {
  static Fixture fixture;
  const store::ReplaySpace& space = fixture.device->Spaces().front();
  int64_t steps = 0, number = 0;
  for (auto _ : state) {
    const auto path = fixture.folder.path() / ("store-" + std::to_string(number++));
    auto store = store::DatabaseStore::Open(path, static_cast<store::Durability>(state.range(0)));
    InOrder proposer(space);
    search::LoopRequest request;
    request.run = {"run",      "", space.task, space.workload,         Protocol::Screened(),
                   "in-order", 1,  16,         fixture.device->Info(), space.space.name()};
    request.worker = store::ThisWorker();
    const auto result = search::RunLoop(request, proposer, nullptr, *fixture.device, **store);
    if (!result.ok()) state.SkipWithError(result.error().Line().c_str());
    if (result.ok()) steps += result->steps;
  }
  state.counters["steps/s"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_LoopStepsStored)
    ->Arg(static_cast<int>(store::Durability::kProcessDeath))
    ->Arg(static_cast<int>(store::Durability::kPowerLoss))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace warpsmith
