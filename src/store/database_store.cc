#include "store/database_store.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <chrono>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/json_reader.h"
#include "core/serialize.h"
#include "core/step.h"
#include "embedded/store_schema.h"
#include "embedded/store_server_schema.h"
#include "store/run_memos.h"
#include "store/worker.h"

namespace warpsmith::store {
namespace {

// A worker elsewhere that has been silent for so long has lost its job to whoever asks next.
// A lease is a row, and no lock of a process: it outlives the process that took it. How long it
// holds is only a matter of patience. That two workers do not both commit a step follows from the
// attempt's number (CheckFence), whatever the clocks of their machines say.
constexpr int64_t kLeaseSeconds = 15 * 60;

int64_t UnixSeconds() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch())
      .count();
}

Error NoSuchRun(const Connection& connection, const std::string& run_id) {
  return {ErrorCode::kBadInput, "store " + connection.name() + " holds no run \"" + run_id + "\"",
          "warpsmith report lists its runs"};
}

std::string StepName(const std::string& run_id, int64_t index) {
  return "step " + std::to_string(index) + " of run \"" + run_id + "\"";
}

struct JobRow {
  int64_t id = 0;
  std::string key, state, worker;
  int attempt = 0;
  int64_t lease_until = 0;
};

Result<std::optional<JobRow>> FindJob(Connection& connection, const std::string& run_id,
                                      int64_t index) {
  Statement find = connection.Prepare(
      "SELECT id, key, state, worker, attempt, lease_until FROM job "
      "WHERE run = ? AND step_index = ?");
  if (!TRY(find.Bind(run_id).Bind(index).Next())) return std::optional<JobRow>();
  return std::optional(JobRow{find.Int(0), find.Text(1), find.Text(2), find.Text(3),
                              static_cast<int>(find.Int(4)), find.Int(5)});
}

Result<JobLease> AddJob(Connection& connection, const std::string& run_id, int64_t index,
                        const std::string& key, const std::string& worker) {
  Statement insert = connection.Prepare(
      "INSERT INTO job (run, step_index, key, state, attempt, worker, lease_until) "
      "VALUES (?, ?, ?, 'leased', 1, ?, ?) RETURNING id");
  insert.Bind(run_id).Bind(index).Bind(key).Bind(worker).Bind(UnixSeconds() + kLeaseSeconds);
  return JobLease{TRY(insert.RunForId()), 1};
}

Result<JobLease> TakeJobOver(Connection& connection, const JobRow& job, const std::string& key,
                             const std::string& worker) {
  Statement update = connection.Prepare(
      "UPDATE job SET key = ?, attempt = ?, worker = ?, lease_until = ? WHERE id = ?");
  // From here on a result of the attempt before is refused, also where its worker was slow and not
  // dead.
  const int attempt = job.attempt + 1;
  update.Bind(key).Bind(int64_t{attempt}).Bind(worker).Bind(UnixSeconds() + kLeaseSeconds);
  TRY(update.Bind(job.id).Run());
  return JobLease{job.id, attempt};
}

// That the job may be taken from its holder.
Status CheckFree(const JobRow& job, const std::string& step_name, const std::string& worker) {
  if (job.state == "done") {
    return Error{ErrorCode::kBusy, step_name + " is already finished",
                 "another process works on this run; let it end, or resume after it"};
  }
  // A worker's own job is free for it: it is resumed in the process that began it. Of a worker on
  // this machine it is known whether it lives (KnownDead); of one elsewhere only the time tells.
  const bool free =
      job.worker == worker || job.lease_until <= UnixSeconds() || KnownDead(job.worker);
  if (free) return {};
  return Error{ErrorCode::kBusy, step_name + " is being worked on by " + job.worker,
               "let that process end, or end it; its lease runs out by itself"};
}

// That the lease is the job's newest, the job not done, and about this key.
Status CheckFence(Connection& connection, const JobLease& lease, const std::string& run_id,
                  const std::string& key, int64_t index) {
  const auto job = TRY(FindJob(connection, run_id, index));
  // The key, too: the job may have been taken over for another candidate than the one that this
  // result is about.
  const bool holds = job.has_value() && job->id == lease.job && job->attempt == lease.attempt &&
                     job->state == "leased" && job->key == key;
  if (holds) return {};
  return Error{ErrorCode::kBusy,
               "attempt " + std::to_string(lease.attempt) + " at " + StepName(run_id, index) +
                   " is no longer the current one; its result was not stored",
               "another process took this run over; let it end"};
}

Status AddStep(Connection& connection, const std::string& run_id, const JobLease& lease,
               const std::string& candidate, int64_t verdict, const Step& step) {
  Statement insert = connection.Prepare(
      "INSERT INTO step (run, step_index, job, candidate, verdict, provenance, terms, reward, "
      "evaluations, gpu_seconds, wall_seconds, tokens, money, committed) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  return insert.Bind(run_id)
      .Bind(step.index)
      .Bind(lease.job)
      .Bind(candidate)
      .Bind(verdict)
      .Bind(JsonText(ToJson(step.candidate.provenance)))
      .Bind(JsonText(ToJson(step.terms)))
      .Bind(step.reward)
      .Bind(step.cost.evaluations)
      .Bind(step.cost.gpu_seconds)
      .Bind(step.cost.wall_seconds)
      .Bind(step.cost.tokens)
      .Bind(step.cost.money)
      .Bind(UtcTimestamp())
      .Run();
}

template <typename T>
Result<T> Parse(const std::string& place, std::string_view text,
                Result<T> (*from)(const JsonReader&)) {
  const nlohmann::json json = TRY(ParseJson(place, text));
  return from(JsonReader(place, json));
}

// The current row of Steps()' query, and the row of its verdict.
struct StepRow {
  Step step;
  std::string candidate;
  int64_t verdict = 0;
};

Result<StepRow> ReadStepRow(const Connection& connection, const Statement& row,
                            const std::string& name) {
  if (row.Int(11) != 1) return Damaged(connection, name, kChanged);
  const std::string place = connection.name() + ": " + name;
  StepRow result;
  Step& step = result.step;
  step.index = row.Int(0);
  result.candidate = row.Text(1);
  result.verdict = row.Int(2);
  step.candidate.provenance = TRY(Parse<Provenance>(place, row.TextView(3), ProvenanceFrom));
  step.terms = TRY(Parse<RewardTerms>(place, row.TextView(4), RewardTermsFrom));
  step.reward = row.Real(5);
  step.cost = {row.Int(6), row.Real(7), row.Real(8), row.Int(9), row.Real(10)};
  return result;
}

constexpr const char* kRunColumns =
    "SELECT id, command, task, workload, protocol, device, proposer, seed, batch, space, "
    "row_digest = expected FROM checked_run ";

// `row` holds kRunColumns.
Result<RunRecord> ReadRun(Connection& connection, const Statement& row) {
  RunRecord run;
  run.id = row.Text(0);
  if (row.Int(10) != 1) return Damaged(connection, "run \"" + run.id + "\"", kChanged);
  run.command = row.Text(1);
  run.task = TRY(ReadTask(connection, row.Int(2)));
  run.workload = TRY(ReadWorkload(connection, row.Int(3)));
  run.protocol = TRY(ReadProtocol(connection, row.Int(4)));
  run.device = TRY(ReadDevice(connection, row.Int(5)));
  run.proposer = row.Text(6);
  const std::string_view seed = row.TextView(7);
  std::from_chars(seed.data(), seed.data() + seed.size(), run.seed);
  run.batch = static_cast<int>(row.Int(8));
  run.space = row.Text(9);
  return run;
}

}  // namespace

Schema StoreSchema() {
  return {"store", kStoreApplicationId, embedded::StoreSchema(), embedded::StoreServerSchema(),
          "name an existing store, or start a run, which makes one"};
}

Result<std::optional<Step>> BestStep(store::DatabaseStore& store,
                                     const std::vector<RunRecord>& runs) {
  std::optional<Step> best;
  std::pair<bool, double> best_rank{false, 0};
  for (const RunRecord& run : runs) {
    // What a run overruled stands with the run itself, not with the certification of its best.
    store::RunMemos memos(store, std::string(CertifiedRun(run.id)));
    for (Step& step : TRY(store.Steps(run.id))) {
      const auto ratio = RatioToPrimary(step.verdict, run.protocol.modes.front());
      if (!ratio) continue;
      const std::string overruled = store::OverruledKey(CandidateId(step.candidate));
      if (TRY(memos.Find(overruled)).has_value()) continue;
      const std::pair rank{run.protocol.level == Level::kCertified, *ratio};
      if (best && rank <= best_rank) continue;
      best_rank = rank;
      best = std::move(step);
    }
  }
  return best;
}

Result<std::unique_ptr<DatabaseStore>> DatabaseStore::Open(const std::string& where,
                                                           Durability durability,
                                                           WhenMissing when_missing) {
  std::unique_ptr<Connection> connection =
      TRY(OpenDatabase(where, StoreSchema(), durability, when_missing));
  return std::unique_ptr<DatabaseStore>(new DatabaseStore(std::move(connection)));
}

Status DatabaseStore::BeginRun(const RunRecord& run) {
  Transaction transaction = TRY(Transaction::Begin(*connection_));
  if (TRY(connection_->Prepare("SELECT 1 FROM run WHERE id = ?").Bind(run.id).Next())) {
    return Error{ErrorCode::kConfig,
                 "store " + connection_->name() + " already holds a run \"" + run.id + "\"",
                 "resume it, or give the new run another id"};
  }
  const VerdictSubject subject =
      TRY(AddSubject(*connection_, run.task, run.workload, run.protocol, run.device));
  Statement insert = connection_->Prepare(
      "INSERT INTO run (id, command, task, workload, protocol, device, proposer, seed, batch, "
      "space, begun) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.Bind(run.id).Bind(run.command).Bind(subject.task).Bind(subject.workload);
  insert.Bind(subject.protocol).Bind(subject.device).Bind(run.proposer);
  insert.Bind(std::to_string(run.seed)).Bind(int64_t{run.batch}).Bind(run.space);
  TRY(insert.Bind(UtcTimestamp()).Run());
  return transaction.Commit();
}

Result<std::optional<RunRecord>> DatabaseStore::FindRun(const std::string& run_id) {
  static const std::string sql = std::string(kRunColumns) + "WHERE id = ?";
  Statement find = connection_->Prepare(sql.c_str());
  if (!TRY(find.Bind(run_id).Next())) return std::optional<RunRecord>();
  return std::optional(TRY(ReadRun(*connection_, find)));
}

Result<std::vector<RunRecord>> DatabaseStore::Runs() {
  static const std::string sql = std::string(kRunColumns) + "ORDER BY begun_order";
  TRY(CheckTable(*connection_, "run"));
  Statement list = connection_->Prepare(sql.c_str());
  std::vector<RunRecord> runs;
  while (TRY(list.Next())) runs.push_back(TRY(ReadRun(*connection_, list)));
  return runs;
}

Result<JobLease> DatabaseStore::LeaseJob(const std::string& run_id, int64_t index,
                                         const std::string& key, const std::string& worker) {
  Transaction transaction = TRY(Transaction::Begin(*connection_));
  TRY(SubjectOf(run_id));
  const auto job = TRY(FindJob(*connection_, run_id, index));
  JobLease lease;
  if (job.has_value()) {
    TRY(CheckFree(*job, StepName(run_id, index), worker));
    lease = TRY(TakeJobOver(*connection_, *job, key, worker));
  } else {
    lease = TRY(AddJob(*connection_, run_id, index, key, worker));
  }
  TRY(transaction.Commit());
  return lease;
}

Status DatabaseStore::FinishStep(const std::string& run_id, const JobLease& lease,
                                 const std::string& key, const Step& step) {
  Transaction transaction = TRY(Transaction::Begin(*connection_));
  // The check is part of the transaction that writes. No other process writes then, so no other
  // worker can take the job over between the check and the commit.
  TRY(CheckFence(*connection_, lease, run_id, key, step.index));
  const VerdictSubject subject = TRY(SubjectOf(run_id));
  const std::string candidate = TRY(AddCandidate(*connection_, step.candidate));
  const AddedVerdict verdict = TRY(AddVerdict(*connection_, {key, candidate, subject, "run"},
                                              step.verdict, step.cost.gpu_seconds));
  TRY(AddStep(*connection_, run_id, lease, candidate, verdict.id, step));
  // In the same commit as the step: there are as many finished jobs as steps, and Steps() finds by
  // that count what damage hides.
  TRY(connection_->Prepare("UPDATE job SET state = 'done' WHERE id = ?").Bind(lease.job).Run());
  return transaction.Commit();
}

Result<std::vector<Step>> DatabaseStore::Steps(const std::string& run_id) {
  TRY(SubjectOf(run_id));
  // Another process may finish a step of this run meanwhile: count and rows must be of one state.
  const Transaction reading = TRY(Transaction::BeginReading(*connection_));
  // A row that a damaged page no longer shows would be missed by nothing but this count.
  Statement done =
      connection_->Prepare("SELECT count(*) FROM job WHERE run = ? AND state = 'done'");
  TRY(done.Bind(run_id).Next());
  Statement list = connection_->Prepare(
      "SELECT step_index, candidate, verdict, provenance, terms, reward, evaluations, gpu_seconds, "
      "wall_seconds, tokens, money, row_digest = expected FROM checked_step WHERE run = ? "
      "ORDER BY step_index");
  list.Bind(run_id);
  SourceCache sources;
  std::vector<Step> steps;
  while (TRY(list.Next())) {
    StepRow row = TRY(ReadStepRow(*connection_, list, StepName(run_id, list.Int(0))));
    Provenance provenance = std::move(row.step.candidate.provenance);
    row.step.candidate = TRY(ReadCandidate(*connection_, row.candidate, sources));
    row.step.candidate.provenance = std::move(provenance);
    row.step.verdict = TRY(ReadVerdict(*connection_, row.verdict));
    steps.push_back(std::move(row.step));
  }
  if (static_cast<int64_t>(steps.size()) != done.Int(0)) {
    return Damaged(*connection_, "run \"" + run_id + "\"",
                   "has " + std::to_string(steps.size()) + " steps of " + done.Text(0));
  }
  return steps;
}

Result<std::optional<Completed>> DatabaseStore::FindVerdict(const std::string& key,
                                                            const std::string& device_uuid) {
  // What was inconclusive is no answer: the harness's trouble may be over. Of several answers the
  // latest counts.
  Statement find = connection_->Prepare(
      "SELECT verdict.id, gpu_seconds FROM verdict JOIN device ON device.id = verdict.device "
      "WHERE key = ?1 AND conclusive = 1 AND (?2 = '' OR uuid = ?2) "
      "ORDER BY verdict.id DESC LIMIT 1");
  if (!TRY(find.Bind(key).Bind(device_uuid).Next())) return std::optional<Completed>();
  Completed completed{key, {}, find.Real(1)};
  completed.verdict = TRY(ReadVerdict(*connection_, find.Int(0)));
  return std::optional(std::move(completed));
}

Result<bool> DatabaseStore::ImportVerdict(const Job& job, const Completed& completed) {
  const Evidence& from = completed.verdict.evidence;
  const DeviceInfo device{.name = from.device,
                          .uuid = from.device_uuid,
                          .driver = from.driver,
                          .architecture = from.architecture,
                          .origin = {}};
  Transaction transaction = TRY(Transaction::Begin(*connection_));
  const VerdictSubject subject =
      TRY(AddSubject(*connection_, job.task, job.workload, job.protocol, device));
  const std::string candidate = TRY(AddCandidate(*connection_, job.candidate));
  const AddedVerdict verdict =
      TRY(AddVerdict(*connection_, {completed.key, candidate, subject, "import"}, completed.verdict,
                     completed.gpu_seconds));
  TRY(transaction.Commit());
  return verdict.is_new;
}

Result<VerdictSubject> DatabaseStore::SubjectOf(const std::string& run_id) {
  // A run's row is never changed, so what was read once holds as long as this object lives.
  const auto found = subjects_.find(run_id);
  if (found != subjects_.end()) return found->second;
  Statement find =
      connection_->Prepare("SELECT task, workload, protocol, device FROM run WHERE id = ?");
  if (!TRY(find.Bind(run_id).Next())) return NoSuchRun(*connection_, run_id);
  const VerdictSubject subject{find.Int(0), find.Int(1), find.Int(2), find.Int(3)};
  subjects_.emplace(run_id, subject);
  return subject;
}

}  // namespace warpsmith::store
