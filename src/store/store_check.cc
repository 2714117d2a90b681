#include "store/store_check.h"

#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "base/compression.h"
#include "base/sha256.h"
#include "store/connection.h"
#include "store/database_store.h"
#include "store/facts.h"

namespace warpsmith::store {
namespace {

constexpr size_t kMostLines = 200;

// Every table, what is referred to before what refers to it.
struct CheckedTable {
  std::string_view name;
  bool has_digest;  // it has a column row_digest, and a view checked_...
  std::array<std::string_view, 4> key;
};
constexpr CheckedTable kTables[] = {
    {"device", true, {"id"}},
    {"toolchain", false, {"id"}},
    {"task", true, {"id"}},
    {"workload", true, {"id"}},
    {"protocol", true, {"id"}},
    {"source", false, {"sha256"}},
    {"candidate", false, {"id"}},
    {"candidate_source", false, {"candidate", "path"}},
    {"artifact", false, {"id"}},
    {"verdict", true, {"id"}},
    {"measurement", true, {"verdict", "workload_index", "mode_index", "contender_index"}},
    {"run", true, {"rowid"}},
    {"job", false, {"id"}},
    {"step", true, {"run", "step_index"}},
    {"memo", true, {"run", "key"}},
    {"served_job", false, {"id"}},
    {"late_verdict", false, {"id"}},
    {"sample", false, {"id"}},
};

// "c.run = step.run AND c.step_index = step.step_index": a row of the table's view.
std::string MatchOf(const CheckedTable& table) {
  std::string match;
  for (const std::string_view key : table.key) {
    if (key.empty()) continue;
    const std::string column(key == "rowid" ? "id" : key);
    match += (match.empty() ? "c." : " AND c.") + column + " = " + std::string(table.name) + "." +
             column;
  }
  return match;
}

// What is found goes into lines, until there are enough of them.
class Findings {
 public:
  void Add(std::string line) {
    if (lines_.size() < kMostLines) lines_.push_back(std::move(line));
  }
  // A check that could not be made is a finding.
  void Add(const Status& status) {
    if (!status.ok()) Add(status.error().message);
  }
  // One line a row that `sql` gives, `words` before its columns.
  Status AddRows(Connection& connection, const std::string& sql, std::string_view words) {
    Statement rows = connection.Prepare(sql.c_str());
    while (TRY(rows.Next())) {
      std::string line(words);
      for (int i = 0; i < rows.Columns(); ++i) line += (line.empty() ? "" : " ") + rows.Text(i);
      if (line != "ok") Add(std::move(line));
    }
    return {};
  }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

// The schema is compared with that of a store that was just made.
Status CheckSchemaText(Connection& connection, Findings& findings) {
  constexpr const char* kTexts =
      "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema ORDER BY 1";
  const auto fresh = TRY(OpenSqlite(":memory:", 0));
  TRY(Migrate(*fresh, StoreSchema(), StoreSchema().Latest()));
  std::map<std::string, std::string> expected;
  Statement ours = fresh->Prepare(kTexts);
  while (TRY(ours.Next())) expected.emplace(ours.Text(0), ours.Text(1));
  Statement texts = connection.Prepare(kTexts);
  while (TRY(texts.Next())) {
    const std::string name = texts.Text(0);
    const auto found = expected.find(name);
    const bool same = found != expected.end() && found->second == texts.TextView(1);
    if (!same) findings.Add("schema: " + name + " is not this program's");
    if (found != expected.end()) expected.erase(found);
  }
  for (const auto& [name, sql] : expected) findings.Add("schema: " + name + " is missing");
  return {};
}

void CheckFile(Connection& connection, Findings& findings) {
  findings.Add(findings.AddRows(connection, "PRAGMA integrity_check", ""));
  findings.Add(CheckSchemaText(connection, findings));
  findings.Add(findings.AddRows(connection,
                                "SELECT \"table\", rowid, 'refers to no', parent FROM "
                                "pragma_foreign_key_check",
                                ""));
}

Status CheckSources(Connection& connection, Findings& findings) {
  Statement sources = connection.Prepare("SELECT sha256, text FROM source");
  while (TRY(sources.Next())) {
    const auto text = Decompress("source", sources.TextView(1));
    if (!text.ok() || Sha256Hex(*text) != sources.TextView(0)) {
      findings.Add("source " + sources.Text(0) + " " + std::string(kChanged));
    }
  }
  return {};
}

Status CheckCandidates(Connection& connection, Findings& findings) {
  Statement ids = connection.Prepare("SELECT id FROM candidate");
  SourceCache sources;
  while (TRY(ids.Next())) {
    const auto candidate = ReadCandidate(connection, ids.Text(0), sources);
    if (!candidate.ok()) findings.Add(candidate.error().message);
  }
  return {};
}

Status CheckVerdicts(Connection& connection, Findings& findings) {
  Statement ids = connection.Prepare("SELECT id FROM verdict");
  while (TRY(ids.Next())) {
    const auto verdict = ReadVerdict(connection, ids.Int(0));
    if (!verdict.ok()) findings.Add(verdict.error().message);
  }
  return {};
}

// A source or a candidate is sound where its id is its hash; other tables' rows have a digest.
bool HasItsId(std::string_view table, const Statement& row) {
  if (table == "candidate") return Sha256Hex(row.TextView(2)) == row.TextView(0);
  if (table != "source") return true;
  const auto text = Decompress("source", row.TextView(1));
  return text.ok() && Sha256Hex(*text) == row.TextView(0);
}

// Adds a row of one store to another as it is. False where the other refuses it: it has it already,
// or lacks what the row refers to.
bool AddRow(const Statement& row, Connection& fresh, std::string_view table) {
  std::string sql = "INSERT INTO " + std::string(table) + " VALUES (?";
  const int columns = row.Columns() - 1;  // the last says whether the row is sound
  for (int i = 1; i < columns; ++i) sql += ", ?";
  Statement insert = fresh.Prepare((sql + ")").c_str());
  for (int i = 0; i < columns; ++i) insert.BindColumn(row, i);
  return insert.Run().ok();
}

// Copies the table's sound rows: all of them where its pages can be read, else those before the
// damage, and those after it by reading from the end. Gives how many rows were seen.
Result<int64_t> CopyTable(Connection& damaged, Connection& fresh, const CheckedTable& table) {
  const std::string name(table.name);
  int64_t found = 0;
  for (const char* order : {"", " DESC"}) {
    std::string by;  // "id DESC, path DESC"
    for (const std::string_view column : table.key) {
      if (!column.empty()) by += (by.empty() ? "" : ", ") + std::string(column) + order;
    }
    const std::string sound = table.has_digest ? "row_digest = (SELECT expected FROM checked_" +
                                                     name + " c WHERE " + MatchOf(table) + ")"
                                               : "1";
    Statement rows =
        damaged.Prepare(("SELECT *, " + sound + " FROM " + name + " ORDER BY " + by).c_str());
    Result<bool> next = rows.Next();
    for (; next.ok() && *next; next = rows.Next()) {
      ++found;
      const bool sound_row = rows.Int(rows.Columns() - 1) == 1 && HasItsId(table.name, rows);
      if (sound_row) (void)AddRow(rows, fresh, table.name);
    }
    if (next.ok()) break;
  }
  return found;
}

Result<std::vector<std::string>> ListOf(Connection& connection, const char* sql) {
  Statement rows = connection.Prepare(sql);
  std::vector<std::string> values;
  while (TRY(rows.Next())) values.push_back(rows.Text(0));
  return values;
}

Status DropCandidates(Connection& fresh) {
  SourceCache sources;
  for (const std::string& id : TRY(ListOf(fresh, "SELECT id FROM candidate"))) {
    if (ReadCandidate(fresh, id, sources).ok()) continue;
    TRY(fresh.Prepare("DELETE FROM candidate_source WHERE candidate = ?").Bind(id).Run());
    TRY(fresh.Prepare("DELETE FROM candidate WHERE id = ?").Bind(id).Run());
  }
  return {};
}

Status DropVerdicts(Connection& fresh) {
  for (const std::string& text : TRY(ListOf(fresh, "SELECT id FROM verdict"))) {
    const int64_t id = std::stoll(text);
    if (ReadVerdict(fresh, id).ok()) continue;
    TRY(fresh.Prepare("DELETE FROM measurement WHERE verdict = ?").Bind(id).Run());
    TRY(fresh.Prepare("DELETE FROM verdict WHERE id = ?").Bind(id).Run());
  }
  return {};
}

// A run ends before its first step that is not there; work in flight is nobody's.
Status CutRuns(Connection& fresh) {
  std::map<std::string, int64_t> whole;  // run -> its steps before the first gap
  {
    Statement steps = fresh.Prepare("SELECT run, step_index FROM step ORDER BY run, step_index");
    while (TRY(steps.Next())) {
      int64_t& next = whole[steps.Text(0)];
      if (steps.Int(1) == next) ++next;
    }
  }
  for (const auto& [run, steps] : whole) {
    TRY(fresh.Prepare("DELETE FROM step WHERE run = ? AND step_index >= ?")
            .Bind(run)
            .Bind(steps)
            .Run());
  }
  return fresh.Execute("DELETE FROM job WHERE id NOT IN (SELECT job FROM step)");
}

}  // namespace

Result<std::vector<std::string>> FindDamage(const std::string& where) {
  const auto connection =
      TRY(OpenDatabase(where, StoreSchema(), Durability::kProcessDeath, WhenMissing::kRefuse));
  Findings findings;
  if (connection->is_file()) CheckFile(*connection, findings);
  for (const CheckedTable& table : kTables) {
    if (!table.has_digest) continue;
    const std::string name(table.name);
    std::string key;
    for (const std::string_view column : table.key) {
      if (!column.empty()) key += std::string(column == "rowid" ? "id" : column) + ", ";
    }
    findings.Add(findings.AddRows(*connection,
                                  "SELECT " + key + "'is not what was written' FROM checked_" +
                                      name + " WHERE row_digest <> expected",
                                  name));
  }
  findings.Add(CheckSources(*connection, findings));
  findings.Add(CheckCandidates(*connection, findings));
  findings.Add(CheckVerdicts(*connection, findings));
  findings.Add(findings.AddRows(
      *connection,
      "SELECT run, 'has a step ' || step_index || ' that was done and is not there' FROM job "
      "WHERE state = 'done' AND id NOT IN (SELECT job FROM step)",
      "run"));
  return findings.Take();
}

Result<std::vector<KeptRows>> Repair(const std::string& damaged, const std::string& fresh) {
  if (IsServerAddress(damaged) || IsServerAddress(fresh)) {
    return Error{ErrorCode::kUsage, "a store on a server is not repaired by 'store repair'",
                 "restore the server's backup (pg_restore), or begin a new database"};
  }
  std::error_code ignored;
  if (std::filesystem::exists(fresh, ignored)) {
    return Error{ErrorCode::kUsage, fresh + " is there already", "name a new file"};
  }
  const auto from =
      TRY(OpenDatabase(damaged, StoreSchema(), Durability::kProcessDeath, WhenMissing::kRefuse));
  const auto to =
      TRY(OpenDatabase(fresh, StoreSchema(), Durability::kPowerLoss, WhenMissing::kCreate));
  Transaction transaction = TRY(Transaction::Begin(*to));
  std::vector<KeptRows> tables;
  for (const CheckedTable& table : kTables) {
    const int64_t copied = TRY(CopyTable(*from, *to, table));
    tables.push_back({std::string(table.name), copied, 0});
    if (table.name == "candidate_source") TRY(DropCandidates(*to));
    if (table.name == "measurement") TRY(DropVerdicts(*to));
  }
  TRY(CutRuns(*to));
  for (KeptRows& table : tables) {
    Statement count = to->Prepare(("SELECT count(*) FROM " + table.table).c_str());
    TRY(count.Next());
    table.kept = count.Int(0);
  }
  TRY(transaction.Commit());
  return tables;
}

}  // namespace warpsmith::store
