#include "serve/http/run_server.h"

#include <memory>
#include <optional>

#include "hgemm/family.h"
#include "judge/gpu_turns.h"
#include "search/machine/profiling.h"
#include "serve/http/http_server.h"
#include "serve/http/judge_queue.h"
#include "serve/http/service.h"
#include "serve/http/task_table.h"
#include "store/worker.h"
#include "task/hgemm_task.h"

namespace warpsmith::serve {
namespace {

// What is asked of the device to see that it works: a small product, by the first kernel of its
// space; of a recording, the first that it holds.
Result<Job> KnownGood(const DeviceInfo& device, const store::RecordedDevice* recorded) {
  if (recorded != nullptr) {
    for (const store::ReplaySpace& space : recorded->Spaces()) {
      const Candidate candidate = TRY(space.make(space.space.points().front()));
      for (const Protocol& protocol : space.protocols) {
        Job job = search::Question{space.task, space.workload, protocol}.JobOf(candidate);
        if (recorded->Has(job.key)) return job;
      }
    }
    return Error{ErrorCode::kNoInput, device.origin + " holds no verdict",
                 "name another recording"};
  }
  const hgemm::Problem problem{256, 256, 256, hgemm::Layout::kTN, DType::kF16};
  const Space space = hgemm::SpaceFor(problem, hgemm::TargetOf(device));
  if (space.size() == 0) {
    return Error{ErrorCode::kUnavailable, "no kernel of ours runs on " + device.name, ""};
  }
  return search::Question{task::HgemmTask("TN"), task::HgemmWorkload({256, 256, 256}),
                          Protocol::Screened()}
      .JobOf(TRY(hgemm::MakeCandidate(problem, space.points().front())));
}

// Measured now, whatever the store knows.
Status RunKnownGood(search::Seams seams, const Job& job, bool replays) {
  seams.store = nullptr;
  search::Session session({job.task, job.workload, job.protocol}, seams);
  const search::Judged judged = TRY(session.Evaluate(job.candidate));
  const Outcome& outcome = judged.step.verdict.outcome;
  if (replays || std::holds_alternative<Passed>(outcome)) return {};
  return Error{ErrorCode::kUnavailable, "a known good kernel: " + Describe(outcome),
               "look at the GPU with 'warpsmith doctor'"};
}

}  // namespace

Status RunServer(const RunServerOptions& options,
                 const std::function<void(int port, const std::string& notice)>& listening) {
  if (options.device.names_server()) {
    return Error{ErrorCode::kConfig, "--device " + options.device.device + " is a server itself",
                 "name a GPU or a recording"};
  }
  // Opened again after trouble. A recording stays: others read it meanwhile.
  std::unique_ptr<search::Machine> machine;
  const auto opened = [&](bool anew) -> Result<search::Machine*> {
    if (machine == nullptr || (anew && machine->recorded() == nullptr)) {
      machine.reset();  // it holds the GPU
      machine = std::make_unique<search::Machine>(TRY(search::Machine::Open(options.device)));
    }
    return machine.get();
  };
  const DeviceInfo device = TRY(opened(false))->info();
  const store::RecordedDevice* const recorded = machine->recorded();
  const auto durability =
      recorded == nullptr ? store::Durability::kPowerLoss : store::Durability::kProcessDeath;
  const auto store = TRY(search::OpenStore(options.device.store, durability));
  store::ServedJobs jobs(*store, device, store::ThisWorker());
  const auto table = TRY(TaskTable::Open(options.tasks, recorded, device, options.takes_tasks,
                                         static_cast<int64_t>(1000 * options.step_limit_s)));
  const Job known_good = TRY(KnownGood(device, recorded));

  JudgeQueueOptions queueing;
  queueing.capacity = options.queue;
  queueing.probe = [&](const search::Seams& seams) {
    return RunKnownGood(seams, known_good, recorded != nullptr);
  };
  queueing.quarantine = [] { return judge::CheckNoSurvivors(); };
  if (recorded != nullptr) {
    queueing.known = [recorded](const Job& job) -> std::optional<Outcome> {
      if (recorded->Has(job.key)) return std::nullopt;
      return recorded->Unmeasured(job);
    };
  }
  const auto seams = [&](bool anew) -> Result<search::Seams> { return TRY(opened(anew))->seams(); };
  JudgeQueue queue(seams, jobs, queueing);

  HttpServerOptions serving;
  serving.listen = options.listen;
  const auto server = TRY(HttpServer::Open(serving));
  ServiceOptions answering;
  answering.token = options.token;
  answering.hosts = options.hosts;
  answering.hosts.push_back(options.listen.host);
  answering.reward = options.reward;
  answering.device = device;
  answering.recorded = recorded;
  answering.defer = [&](std::function<void()> work) { server->Defer(std::move(work)); };
  answering.profile = [&](const Job& job) -> Result<Profile> {
    return search::ProfileOf(*TRY(opened(false)), job.task, job.workload, job.candidate,
                             options.ncu);
  };
  Service service(*table, queue, answering);
  TRY(queue.Start());
  listening(server->port(), machine->notice());
  server->Run([&](HttpRequest request,
                  Respond respond) { service.Handle(std::move(request), std::move(respond)); },
              [&](size_t active) { return queue.has_ended() && active == 0; });
  queue.Join();
  return {};
}

}  // namespace warpsmith::serve
