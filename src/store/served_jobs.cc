#include "store/served_jobs.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "core/serialize.h"
#include "store/worker.h"

namespace warpsmith::store {
namespace {

struct ServedRow {
  int64_t id = 0, task = 0, workload = 0, protocol = 0;
  int attempts = 0;
  std::string key, run, candidate, worker;
};

}  // namespace

Status ServedJobs::Accept(const std::string& run, std::span<const Job> jobs) {
  Connection& connection = store_.connection();
  Transaction transaction = TRY(Transaction::Begin(connection));
  for (const Job& job : jobs) {
    const Subject subject =
        TRY(AddSubject(connection, job.task, job.workload, job.protocol, device_));
    const std::string candidate = TRY(AddCandidate(connection, job.candidate));
    Statement insert = connection.Prepare(
        "INSERT INTO served_job (key, device, client_run, candidate, task, workload, protocol, "
        "state, attempt, worker) VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', 0, ?) "
        "ON CONFLICT (key, device) DO UPDATE SET state = 'queued', attempt = 0, verdict = NULL, "
        "worker = excluded.worker WHERE served_job.state = 'done' AND "
        "(SELECT conclusive FROM verdict WHERE verdict.id = served_job.verdict) = 0");
    insert.Bind(job.key).Bind(device_.uuid).Bind(run).Bind(candidate).Bind(subject.task);
    TRY(insert.Bind(subject.workload).Bind(subject.protocol).Bind(worker_).Run());
  }
  return transaction.Commit();
}

Result<std::vector<ServedJob>> ServedJobs::TakeUnfinished() {
  Connection& connection = store_.connection();
  std::vector<ServedRow> rows;
  {
    Statement list = connection.Prepare(
        "SELECT id, key, client_run, candidate, task, workload, protocol, attempt, worker "
        "FROM served_job WHERE device = ? AND state <> 'done' ORDER BY id");
    list.Bind(device_.uuid);
    while (TRY(list.Next())) {
      rows.push_back({list.Int(0), list.Int(4), list.Int(5), list.Int(6),
                      static_cast<int>(list.Int(7)), list.Text(1), list.Text(2), list.Text(3),
                      list.Text(8)});
    }
  }
  std::vector<ServedJob> jobs;
  SourceCache sources;
  Transaction transaction = TRY(Transaction::Begin(connection));
  for (const ServedRow& row : rows) {
    if (row.worker != worker_ && !KnownDead(row.worker)) continue;
    Statement take = connection.Prepare(
        "UPDATE served_job SET state = 'queued', worker = ? WHERE id = ? AND worker = ? "
        "RETURNING id");
    take.Bind(worker_).Bind(row.id).Bind(row.worker);
    if (TRY(take.RunForId()) != row.id) continue;  // another server was faster
    Job job{row.key,
            TRY(ReadTask(connection, row.task)),
            TRY(ReadWorkload(connection, row.workload)),
            TRY(ReadCandidate(connection, row.candidate, sources)),
            std::nullopt,
            TRY(ReadProtocol(connection, row.protocol))};
    jobs.push_back({std::move(job), row.run, row.attempts});
  }
  TRY(transaction.Commit());
  return jobs;
}

Result<int> ServedJobs::Begin(const std::string& key) {
  Connection& connection = store_.connection();
  Statement begin = connection.Prepare(
      "UPDATE served_job SET state = 'running', attempt = attempt + 1 "
      "WHERE key = ? AND device = ? AND worker = ? AND state = 'queued' RETURNING attempt");
  begin.Bind(key).Bind(device_.uuid).Bind(worker_);
  if (!TRY(begin.Next())) {
    return Error{ErrorCode::kBusy, "job " + key + " is not this server's any more",
                 "let one server work on a device's jobs"};
  }
  const int attempt = static_cast<int>(begin.Int(0));
  while (TRY(begin.Next())) continue;  // to its end, which commits it
  return attempt;
}

Status ServedJobs::PutBack(const std::string& key) {
  return store_.connection()
      .Prepare(
          "UPDATE served_job SET state = 'queued', attempt = attempt - 1 "
          "WHERE key = ? AND device = ? AND worker = ? AND state = 'running'")
      .Bind(key)
      .Bind(device_.uuid)
      .Bind(worker_)
      .Run();
}

Result<bool> ServedJobs::Finish(const Job& job, int attempt, const Completed& completed) {
  Connection& connection = store_.connection();
  Transaction transaction = TRY(Transaction::Begin(connection));
  Statement current = connection.Prepare(
      "SELECT 1 FROM served_job WHERE key = ? AND device = ? AND state = 'running' AND attempt = "
      "?");
  const bool is_current =
      TRY(current.Bind(job.key).Bind(device_.uuid).Bind(int64_t{attempt}).Next());
  if (is_current) {
    const Subject subject =
        TRY(AddSubject(connection, job.task, job.workload, job.protocol, device_));
    const std::string candidate = TRY(AddCandidate(connection, job.candidate));
    const AddedVerdict verdict = TRY(AddVerdict(connection, {job.key, candidate, subject, "import"},
                                                completed.verdict, completed.gpu_seconds));
    TRY(connection
            .Prepare(
                "UPDATE served_job SET state = 'done', verdict = ? WHERE key = ? AND device = ?")
            .Bind(verdict.id)
            .Bind(job.key)
            .Bind(device_.uuid)
            .Run());
  } else {
    TRY(connection
            .Prepare("INSERT INTO late_verdict (key, device, attempt, body, came) "
                     "VALUES (?, ?, ?, ?, ?)")
            .Bind(job.key)
            .Bind(device_.uuid)
            .Bind(int64_t{attempt})
            .Bind(ToJson(completed.verdict).dump())
            .Bind(UtcTimestamp())
            .Run());
  }
  TRY(transaction.Commit());
  return is_current;
}

Result<ServedJobs::Found> ServedJobs::Find(const std::string& key) {
  Connection& connection = store_.connection();
  Statement find = connection.Prepare(
      "SELECT state, verdict, (SELECT gpu_seconds FROM verdict WHERE verdict.id = "
      "served_job.verdict) FROM served_job WHERE key = ? AND device = ?");
  if (!TRY(find.Bind(key).Bind(device_.uuid).Next())) return Found{};
  const std::string_view state = find.TextView(0);
  if (state == "queued") return Found{State::kQueued, std::nullopt};
  if (state == "running") return Found{State::kRunning, std::nullopt};
  return Found{State::kDone,
               Completed{key, TRY(ReadVerdict(connection, find.Int(1))), find.Real(2)}};
}

Result<std::optional<Candidate>> ServedJobs::CandidateOf(const std::string& key) {
  Connection& connection = store_.connection();
  Statement find = connection.Prepare(
      "SELECT candidate FROM served_job WHERE key = ? AND device = ? AND state = 'done'");
  if (!TRY(find.Bind(key).Bind(device_.uuid).Next())) return std::optional<Candidate>();
  SourceCache sources;
  return std::optional(TRY(ReadCandidate(connection, find.Text(0), sources)));
}

}  // namespace warpsmith::store
