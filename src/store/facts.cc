#include "store/facts.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/compression.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "core/serialize.h"
#include "store/verdict_parts.h"

namespace warpsmith::store {
namespace {

constexpr std::string_view kMissing = "is missing";
// The id of the row that `find` selects by one text; added by `insert` if there is none.
Result<int64_t> Intern(Connection& connection, const char* find, const char* insert,
                       std::string_view label, std::string_view body) {
  {
    Statement statement = connection.Prepare(find);
    if (TRY(statement.Bind(body).Next())) return statement.Int(0);
  }
  return connection.Prepare(insert).Bind(label).Bind(body).RunForId();
}

Result<int64_t> AddTask(Connection& connection, const Task& task) {
  const std::string body = JsonText(ToJson(task));
  {
    Statement find = connection.Prepare("SELECT id FROM task WHERE body = ?");
    if (TRY(find.Bind(body).Next())) return find.Int(0);
  }
  Statement insert =
      connection.Prepare("INSERT INTO task (content_id, name, body) VALUES (?, ?, ?) RETURNING id");
  return insert.Bind(TaskId(task)).Bind(task.name).Bind(body).RunForId();
}

Result<int64_t> AddToolchain(Connection& connection, const std::string& name) {
  TRY(connection.Prepare("INSERT INTO toolchain (name) VALUES (?) ON CONFLICT DO NOTHING")
          .Bind(name)
          .Run());
  Statement find = connection.Prepare("SELECT id FROM toolchain WHERE name = ?");
  TRY(find.Bind(name).Next());
  return find.Int(0);
}

// The artifact that a verdict's evidence names; nullopt when nothing was built.
Result<std::optional<int64_t>> AddArtifact(Connection& connection, const std::string& candidate,
                                           const Evidence& evidence) {
  if (evidence.artifact_sha256.empty()) return std::optional<int64_t>();
  const int64_t toolchain = TRY(AddToolchain(connection, evidence.toolchain));
  TRY(connection
          .Prepare("INSERT INTO artifact (candidate, toolchain, architecture, sha256, compile_ms) "
                   "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
          .Bind(candidate)
          .Bind(toolchain)
          .Bind(evidence.architecture)
          .Bind(evidence.artifact_sha256)
          .Bind(evidence.compile_ms)
          .Run());
  Statement find = connection.Prepare(
      "SELECT id FROM artifact WHERE candidate = ? AND toolchain = ? AND architecture = ? AND "
      "sha256 = ?");
  find.Bind(candidate).Bind(toolchain).Bind(evidence.architecture).Bind(evidence.artifact_sha256);
  TRY(find.Next());
  return std::optional(find.Int(0));
}

Status AddSource(Connection& connection, const std::string& sha256, const std::string& text) {
  Statement find = connection.Prepare("SELECT 1 FROM source WHERE sha256 = ?");
  if (TRY(find.Bind(sha256).Next())) return {};
  Statement insert = connection.Prepare("INSERT INTO source (sha256, text) VALUES (?, ?)");
  return insert.Bind(sha256).BindBlob(Compress(text)).Run();
}

// What a verdict's rows hold, ready to be bound.
struct VerdictTexts {
  std::string body;
  std::vector<Contender> contenders;
  std::vector<std::string> samples;  // packed, by contender
  std::string digest;
};

// Of what is stored, not of what it means: a verdict of an older program keeps its digest.
std::string DigestOf(const VerdictTexts& texts) {
  std::string everything = texts.body;
  for (size_t i = 0; i < texts.contenders.size(); ++i) {
    everything += texts.contenders[i].timing.name + '\0' + texts.samples[i];
  }
  return Sha256Hex(everything);
}

VerdictTexts TextsOf(const Verdict& verdict) {
  VerdictParts parts = TakeApart(verdict);
  VerdictTexts texts;
  texts.body = JsonText(ToJson(parts.body));
  texts.contenders = std::move(parts.contenders);
  for (const Contender& contender : texts.contenders) {
    texts.samples.push_back(PackSamples(contender.timing.samples));
  }
  texts.digest = DigestOf(texts);
  return texts;
}

Status AddMeasurements(Connection& connection, int64_t verdict, const VerdictTexts& texts) {
  for (size_t i = 0; i < texts.contenders.size(); ++i) {
    const Contender& contender = texts.contenders[i];
    Statement insert = connection.Prepare(
        "INSERT INTO measurement (verdict, workload_index, mode_index, contender_index, mode, "
        "contender, median_us, lo_us, hi_us, samples) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    TRY(insert.Bind(verdict)
            .Bind(int64_t{contender.workload})
            .Bind(int64_t{contender.mode})
            .Bind(int64_t{contender.index})
            .Bind(contender.mode_name)
            .Bind(contender.timing.name)
            .Bind(contender.timing.median_us)
            .Bind(contender.timing.interval_us.lo)
            .Bind(contender.timing.interval_us.hi)
            .BindBlob(texts.samples[i])
            .Run());
  }
  return {};
}

Result<std::optional<int64_t>> FindSame(Connection& connection, const VerdictRow& row,
                                        const std::string& digest) {
  Statement find = connection.Prepare("SELECT id FROM verdict WHERE key = ? AND digest = ?");
  if (!TRY(find.Bind(row.key).Bind(digest).Next())) return std::optional<int64_t>();
  return std::optional(find.Int(0));
}

Result<int64_t> InsertVerdict(Connection& connection, const VerdictRow& row, const Verdict& verdict,
                              double gpu_seconds, const VerdictTexts& texts) {
  const auto artifact = TRY(AddArtifact(connection, row.candidate, verdict.evidence));
  Statement insert = connection.Prepare(
      "INSERT INTO verdict (key, candidate, task, workload, protocol, device, outcome, conclusive, "
      "gpu_seconds, body, digest, origin, artifact) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
  insert.Bind(row.key)
      .Bind(row.candidate)
      .Bind(row.subject.task)
      .Bind(row.subject.workload)
      .Bind(row.subject.protocol)
      .Bind(row.subject.device)
      .Bind(OutcomeName(verdict.outcome))
      .Bind(int64_t{IsConclusive(verdict.outcome)})
      .Bind(gpu_seconds)
      .Bind(texts.body)
      .Bind(texts.digest)
      .Bind(row.origin);
  if (artifact.has_value()) {
    insert.Bind(*artifact);
  } else {
    insert.BindNull();
  }
  return insert.RunForId();
}

// The JSON text that `sql` selects by id, and whether its row is what was written, as `from` reads
// it.
template <typename T>
Result<T> ReadBody(Connection& connection, const char* sql, int64_t id, std::string_view what,
                   Result<T> (*from)(const JsonReader&)) {
  Statement statement = connection.Prepare(sql);
  const std::string name = std::string(what) + " " + std::to_string(id);
  if (!TRY(statement.Bind(id).Next())) return Damaged(connection, name, kMissing);
  if (statement.Int(1) != 1) return Damaged(connection, name, kChanged);
  const std::string place = connection.name() + ": " + name;
  const nlohmann::json json = TRY(ParseJson(place, statement.TextView(0)));
  return from(JsonReader(place, json));
}

// Adds the verdict's contenders and their packed samples to `texts`.
Status ReadContenders(Connection& connection, int64_t verdict, VerdictTexts& texts) {
  Statement statement = connection.Prepare(
      "SELECT workload_index, mode_index, contender_index, mode, contender, median_us, lo_us, "
      "hi_us, samples, row_digest = expected FROM checked_measurement WHERE verdict = ? "
      "ORDER BY workload_index, mode_index, contender_index");
  statement.Bind(verdict);
  const std::string name = "measurement of verdict " + std::to_string(verdict);
  while (TRY(statement.Next())) {
    Contender contender{static_cast<int>(statement.Int(0)),
                        static_cast<int>(statement.Int(1)),
                        static_cast<int>(statement.Int(2)),
                        statement.Text(3),
                        {}};
    contender.timing.name = statement.Text(4);
    contender.timing.median_us = statement.Real(5);
    contender.timing.interval_us = {statement.Real(6), statement.Real(7)};
    if (statement.Int(9) != 1) return Damaged(connection, name, kChanged);
    texts.samples.push_back(statement.Text(8));
    contender.timing.samples =
        TRY(UnpackSamples(connection.name() + ": " + name, texts.samples.back()));
    texts.contenders.push_back(std::move(contender));
  }
  return {};
}

Result<std::string> ReadSource(Connection& connection, const std::string& sha256,
                               SourceCache& sources) {
  const auto found = sources.find(sha256);
  if (found != sources.end()) return found->second;
  Statement statement = connection.Prepare("SELECT text FROM source WHERE sha256 = ?");
  const std::string name = "source " + sha256;
  if (!TRY(statement.Bind(sha256).Next())) return Damaged(connection, name, kMissing);
  std::string text = TRY(Decompress(connection.name() + ": " + name, statement.TextView(0)));
  if (Sha256Hex(text) != sha256) return Damaged(connection, name, kChanged);
  sources.emplace(sha256, text);
  return text;
}

}  // namespace

Error Damaged(const Connection& connection, std::string_view what, std::string_view how) {
  return {
      ErrorCode::kBadInput,
      "store " + connection.name() + " is damaged: " + std::string(what) + " " + std::string(how),
      "restore it from a copy, or 'warpsmith store repair' keeps what is sound"};
}

Status CheckTable(Connection& connection, const std::string& table) {
  if (!connection.is_file()) return {};
  Statement check = connection.Prepare(("PRAGMA quick_check(" + table + ")").c_str());
  if (!TRY(check.Next()) || check.TextView(0) == "ok") return {};
  return Damaged(connection, "table " + table + ":", check.TextView(0));
}

Result<VerdictSubject> AddSubject(Connection& connection, const Task& task,
                                  const Workload& workload, const Protocol& protocol,
                                  const DeviceInfo& device) {
  VerdictSubject subject;
  subject.task = TRY(AddTask(connection, task));
  subject.workload = TRY(Intern(connection, "SELECT id FROM workload WHERE body = ?",
                                "INSERT INTO workload (name, body) VALUES (?, ?) RETURNING id",
                                workload.name, JsonText(ToJson(workload))));
  subject.protocol = TRY(Intern(connection, "SELECT id FROM protocol WHERE body = ?",
                                "INSERT INTO protocol (level, body) VALUES (?, ?) RETURNING id",
                                Name(protocol.level), JsonText(ToJson(protocol))));
  subject.device = TRY(Intern(connection, "SELECT id FROM device WHERE info = ?",
                              "INSERT INTO device (uuid, info) VALUES (?, ?) RETURNING id",
                              device.uuid, JsonText(ToJson(device))));
  return subject;
}

Result<std::string> AddCandidate(Connection& connection, const Candidate& candidate) {
  std::string id = CandidateId(candidate);
  {
    Statement find = connection.Prepare("SELECT 1 FROM candidate WHERE id = ?");
    if (TRY(find.Bind(id).Next())) return id;
  }
  const CandidateText text = TextOf(candidate);
  Statement insert =
      connection.Prepare("INSERT INTO candidate (id, code_bytes, body) VALUES (?, ?, ?)");
  TRY(insert.Bind(id).Bind(CodeLength(candidate)).Bind(text.body).Run());
  for (const auto& [path, sha256] : text.sources) {
    TRY(AddSource(connection, sha256, candidate.sources.at(path)));
    Statement link = connection.Prepare(
        "INSERT INTO candidate_source (candidate, path, source) VALUES (?, ?, ?)");
    TRY(link.Bind(id).Bind(path).Bind(sha256).Run());
  }
  return id;
}

Result<AddedVerdict> AddVerdict(Connection& connection, const VerdictRow& row,
                                const Verdict& verdict, double gpu_seconds) {
  // Equal texts under one key are one measurement: a bundle may be taken twice, a session import
  // what its run commits. Another measurement under the same key is another verdict.
  const VerdictTexts texts = TextsOf(verdict);
  if (const auto same = TRY(FindSame(connection, row, texts.digest))) {
    return AddedVerdict{*same, false};
  }
  const int64_t id = TRY(InsertVerdict(connection, row, verdict, gpu_seconds, texts));
  TRY(AddMeasurements(connection, id, texts));
  return AddedVerdict{id, true};
}

Result<DeviceInfo> ReadDevice(Connection& connection, int64_t id) {
  return ReadBody<DeviceInfo>(connection,
                              "SELECT info, row_digest = expected FROM checked_device WHERE id = ?",
                              id, "device", DeviceInfoFrom);
}

Result<Task> ReadTask(Connection& connection, int64_t id) {
  return ReadBody<Task>(connection,
                        "SELECT body, row_digest = expected FROM checked_task WHERE id = ?", id,
                        "task", TaskFrom);
}

Result<Workload> ReadWorkload(Connection& connection, int64_t id) {
  return ReadBody<Workload>(connection,
                            "SELECT body, row_digest = expected FROM checked_workload WHERE id = ?",
                            id, "workload", WorkloadFrom);
}

Result<Protocol> ReadProtocol(Connection& connection, int64_t id) {
  return ReadBody<Protocol>(connection,
                            "SELECT body, row_digest = expected FROM checked_protocol WHERE id = ?",
                            id, "protocol", ProtocolFrom);
}

Result<Verdict> ReadVerdict(Connection& connection, int64_t id) {
  const std::string name = "verdict " + std::to_string(id);
  const std::string place = connection.name() + ": " + name;
  Statement find = connection.Prepare(
      "SELECT body, digest, row_digest = expected FROM checked_verdict WHERE id = ?");
  if (!TRY(find.Bind(id).Next())) return Damaged(connection, name, kMissing);
  VerdictTexts texts;
  texts.body = find.Text(0);
  TRY(ReadContenders(connection, id, texts));
  if (find.Int(2) != 1 || DigestOf(texts) != find.TextView(1)) {
    return Damaged(connection, name, kChanged);
  }
  VerdictParts parts;
  const nlohmann::json json = TRY(ParseJson(place, texts.body));
  parts.body = TRY(VerdictFrom(JsonReader(place, json)));
  parts.contenders = std::move(texts.contenders);
  return PutTogether(place, std::move(parts));
}

Result<Candidate> ReadCandidate(Connection& connection, const std::string& id,
                                SourceCache& sources) {
  const std::string name = "candidate " + id;
  const std::string place = connection.name() + ": " + name;
  Statement statement = connection.Prepare("SELECT body FROM candidate WHERE id = ?");
  if (!TRY(statement.Bind(id).Next())) return Damaged(connection, name, kMissing);
  // CandidateId is the hash of this very text.
  if (Sha256Hex(statement.TextView(0)) != id) return Damaged(connection, name, kChanged);
  const nlohmann::json json = TRY(ParseJson(place, statement.TextView(0)));
  return CandidateOf(JsonReader(place, json), [&](const std::string& sha256) {
    return ReadSource(connection, sha256, sources);
  });
}

}  // namespace warpsmith::store
