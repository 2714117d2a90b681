#include "store/served_jobs.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json_reader.h"
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
  // A key has one row a device. Of a row that is there, only an inconclusive answer is taken back:
  // the first conclusive one is the answer for good, whatever is asked later.
  for (const Job& job : jobs) {
    const VerdictSubject subject =
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
    TRY(TakeFromTheDead(job.key));
  }
  return transaction.Commit();
}

Status ServedJobs::TakeFromTheDead(const std::string& key) {
  Connection& connection = store_.connection();
  std::string holder;
  {
    Statement find = connection.Prepare(
        "SELECT worker FROM served_job WHERE key = ? AND device = ? AND state <> 'done'");
    if (!TRY(find.Bind(key).Bind(device_.uuid).Next())) return {};
    holder = find.Text(0);
  }
  // KnownDead can say it of workers of this machine alone. What a server elsewhere holds stays its
  // own.
  if (holder == worker_ || !KnownDead(holder)) return {};
  Statement take = connection.Prepare(
      "UPDATE served_job SET state = 'queued', worker = ? WHERE key = ? AND device = ? AND "
      "worker = ? AND state <> 'done'");
  return take.Bind(worker_).Bind(key).Bind(device_.uuid).Bind(holder).Run();
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
    // The list was read outside of the transaction. So a row is taken only from the worker that the
    // list showed; another server may have been here in between.
    if (row.worker != worker_ && !KnownDead(row.worker)) continue;
    Statement take = connection.Prepare(
        "UPDATE served_job SET state = 'queued', worker = ? WHERE id = ? AND worker = ? "
        "RETURNING id");
    take.Bind(worker_).Bind(row.id).Bind(row.worker);
    if (TRY(take.RunForId()) != row.id) continue;  // another server was faster
    Job job;
    job.key = row.key;
    job.task = TRY(ReadTask(connection, row.task));
    job.workload = TRY(ReadWorkload(connection, row.workload));
    job.candidate = TRY(ReadCandidate(connection, row.candidate, sources));
    job.protocol = TRY(ReadProtocol(connection, row.protocol));
    jobs.push_back({std::move(job), row.run, row.attempts});
  }
  TRY(transaction.Commit());
  return jobs;
}

Result<int> ServedJobs::Begin(const std::string& key) {
  Connection& connection = store_.connection();
  // One statement is one transaction: owner, state and number change together or not at all. The
  // number is the fence that Finish looks at.
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
    const VerdictSubject subject =
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
            .Bind(JsonText(ToJson(completed.verdict)))
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
      "served_job.verdict), attempt FROM served_job WHERE key = ? AND device = ?");
  if (!TRY(find.Bind(key).Bind(device_.uuid).Next())) return Found{};
  const std::string_view state = find.TextView(0);
  const int attempts = static_cast<int>(find.Int(3));
  if (state == "queued") return Found{State::kQueued, std::nullopt, attempts};
  if (state == "running") return Found{State::kRunning, std::nullopt, attempts};
  Verdict verdict = TRY(ReadVerdict(connection, find.Int(1)));
  return Found{State::kDone, Completed{key, std::move(verdict), find.Real(2)}};
}

Result<std::optional<Candidate>> ServedJobs::CandidateOf(const std::string& key) {
  Connection& connection = store_.connection();
  Statement find = connection.Prepare(
      "SELECT candidate FROM served_job WHERE key = ? AND device = ? AND state = 'done'");
  if (!TRY(find.Bind(key).Bind(device_.uuid).Next())) return std::optional<Candidate>();
  SourceCache sources;
  return std::optional(TRY(ReadCandidate(connection, find.Text(0), sources)));
}

Status ServedJobs::KeepSamples(std::span<const ServedSample> samples) {
  Connection& connection = store_.connection();
  Transaction transaction = TRY(Transaction::Begin(connection));
  const std::string now = UtcTimestamp();
  for (const ServedSample& sample : samples) {
    std::string candidate;
    if (sample.candidate) candidate = TRY(AddCandidate(connection, *sample.candidate));
    Statement insert = connection.Prepare(
        "INSERT INTO sample (came, client_run, task, workload, level, group_name, sample_id, "
        "prompt_sha256, logprob_sum, key, outcome, ratio, lo, hi, reward, candidate) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
    const auto number = [&insert](const std::optional<double>& value) {
      value ? insert.Bind(*value) : insert.BindNull();
    };
    insert.Bind(now).Bind(sample.run).Bind(sample.task).Bind(sample.workload).Bind(sample.level);
    insert.Bind(sample.group).Bind(sample.sample_id).Bind(sample.prompt_sha256);
    number(sample.logprob_sum);
    insert.Bind(sample.key).Bind(sample.outcome);
    number(sample.ratio);
    number(sample.ratio ? std::optional(sample.interval.lo) : std::nullopt);
    number(sample.ratio ? std::optional(sample.interval.hi) : std::nullopt);
    number(sample.reward);
    candidate.empty() ? insert.BindNull() : insert.Bind(candidate);
    TRY(insert.Run());
  }
  return transaction.Commit();
}

Result<std::vector<PassedSample>> ServedJobs::PassedSamples(const std::string& task,
                                                            const std::string& workload,
                                                            Level level, int64_t most) {
  Statement list = store_.connection().Prepare(
      "SELECT key, MIN(candidate), MIN(ratio), MIN(lo), MIN(hi) FROM sample "
      "WHERE task = ? AND workload = ? AND level = ? AND outcome = 'passed' AND ratio > 0 "
      "GROUP BY key HAVING MIN(candidate) IS NOT NULL ORDER BY MAX(id) DESC LIMIT ?");
  list.Bind(task).Bind(workload).Bind(Name(level)).Bind(most);
  std::vector<PassedSample> found;
  while (TRY(list.Next())) {
    found.push_back({list.Text(0), list.Text(1), list.Real(2), {list.Real(3), list.Real(4)}});
  }
  return found;
}

Result<Candidate> ServedJobs::CandidateOfSample(const PassedSample& sample) {
  SourceCache sources;
  return ReadCandidate(store_.connection(), sample.candidate_id, sources);
}

Result<Difficulty> ServedJobs::DifficultyOf(const std::string& task, const std::string& workload) {
  Connection& connection = store_.connection();
  Difficulty difficulty;
  {
    Statement count = connection.Prepare(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN outcome = 'passed' THEN 1 ELSE 0 END), 0), "
        "COALESCE(SUM(CASE WHEN lo > 1 THEN 1 ELSE 0 END), 0) "
        "FROM sample WHERE task = ? AND workload = ?");
    if (TRY(count.Bind(task).Bind(workload).Next())) {
      difficulty.samples = count.Int(0);
      difficulty.passed = count.Int(1);
      difficulty.faster = count.Int(2);
    }
  }
  // A policy changes: what is long ago says nothing of it.
  Statement groups = connection.Prepare(
      "SELECT COUNT(*), COALESCE(SUM(mixed), 0) FROM ("
      "SELECT CASE WHEN MAX(reward) > MIN(reward) THEN 1 ELSE 0 END AS mixed FROM sample "
      "WHERE task = ? AND workload = ? AND group_name <> '' AND reward IS NOT NULL "
      "GROUP BY client_run, group_name HAVING COUNT(*) > 1 ORDER BY MAX(id) DESC LIMIT 64) AS g");
  if (TRY(groups.Bind(task).Bind(workload).Next())) {
    difficulty.groups = groups.Int(0);
    difficulty.mixed = groups.Int(1);
  }
  return difficulty;
}

}  // namespace warpsmith::store
