#include "agent/knowledge/knowledge_base.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/rows.h"
#include "base/file.h"
#include "embedded/knowledge_schema.h"
#include "embedded/knowledge_server_schema.h"
#include "store/connection.h"

namespace warpsmith::knowledge {
namespace {

using store::Connection;
using store::Statement;
using store::Transaction;

// One fact, in a transaction of its own.
template <typename T>
Status PutOne(Connection& connection, const T& item) {
  Transaction transaction = TRY(Transaction::Begin(connection));
  TRY(Put(connection, item));
  return transaction.Commit();
}

template <typename T>
Result<bool> AppendOne(Connection& connection, const T& item) {
  Transaction transaction = TRY(Transaction::Begin(connection));
  const bool added = TRY(Append(connection, item));
  TRY(transaction.Commit());
  return added;
}

template <typename T>
Status PutAll(Connection& connection, const std::vector<T>& items) {
  for (const T& item : items) TRY(Put(connection, item));
  return {};
}

template <typename T>
Result<int64_t> AppendAll(Connection& connection, const std::vector<T>& items) {
  int64_t added = 0;
  for (const T& item : items) added += static_cast<int64_t>(TRY(Append(connection, item)));
  return added;
}

Result<Blocked> ReadBlocked(Connection& connection, const std::string& state,
                            const std::string& task) {
  Statement find = connection.Prepare(
      "SELECT technique, failure, evidence FROM outcome AS failed "
      "WHERE state = ?1 AND task = ?2 AND failure IN ('hang', 'crash', 'incorrect', 'rejected') "
      "AND NOT EXISTS (SELECT 1 FROM outcome AS worked WHERE worked.state = ?1 AND "
      "worked.task = ?2 AND worked.technique = failed.technique AND worked.gain_e5 IS NOT NULL) "
      "ORDER BY technique, evidence");
  find.Bind(state).Bind(task);
  Blocked blocked;
  while (TRY(find.Next())) {
    std::string& reasons = blocked[find.Text(0)];
    reasons += (reasons.empty() ? "" : "; ") + find.Text(1) + " (" + find.Text(2) + ")";
  }
  return blocked;
}

Error Damaged(const Connection& connection, const std::string& found) {
  return {ErrorCode::kBadInput, "knowledge base " + connection.name() + " is damaged: " + found,
          "export what can still be read and import it into a new one"};
}

Status CheckFileIsSound(Connection& connection) {
  if (!connection.is_file()) return {};
  Statement check = connection.Prepare("PRAGMA integrity_check(1)");
  if (!TRY(check.Next())) return Damaged(connection, "it cannot be checked");
  if (check.TextView(0) != "ok") return Damaged(connection, check.Text(0));
  return {};
}

bool Same(const std::vector<Cell>& kept, const Statistics& recomputed) {
  return kept.size() == recomputed.size() &&
         std::all_of(kept.begin(), kept.end(), [&](const Cell& cell) {
           const auto found = recomputed.find(cell.key);
           return found != recomputed.end() && found->second == cell.tally;
         });
}

}  // namespace

store::Schema KnowledgeSchema() {
  return {"knowledge base", kKnowledgeApplicationId, embedded::KnowledgeSchema(),
          embedded::KnowledgeServerSchema(), "name an existing knowledge base, or import one"};
}

std::vector<std::string> TechniquesIn(const Recollection& recollection) {
  std::set<std::string> names;
  for (const Cell& cell : recollection.cells) names.insert(cell.key.technique);
  for (const Prior& prior : recollection.priors) names.insert(prior.technique);
  return {names.begin(), names.end()};
}

std::vector<Belief> BeliefsIn(const Situation& situation, const Recollection& recollection,
                              const std::vector<std::string>& techniques) {
  std::map<std::string_view, std::pair<std::vector<Cell>, std::vector<Prior>>> known;
  for (const Cell& cell : recollection.cells) known[cell.key.technique].first.push_back(cell);
  for (const Prior& prior : recollection.priors) known[prior.technique].second.push_back(prior);
  std::vector<Belief> beliefs;
  for (const std::string& technique : techniques) {
    const auto& [cells, priors] = known[technique];
    beliefs.push_back({technique, PosteriorOf(situation, cells, priors)});
  }
  return beliefs;
}

Result<std::unique_ptr<KnowledgeBase>> KnowledgeBase::Open(const std::string& where,
                                                           store::Durability durability,
                                                           store::WhenMissing when_missing) {
  auto connection = TRY(store::OpenDatabase(where, KnowledgeSchema(), durability, when_missing));
  return std::unique_ptr<KnowledgeBase>(new KnowledgeBase(std::move(connection)));
}

Status KnowledgeBase::Add(const State& state) { return PutOne(*connection_, state); }

Status KnowledgeBase::Add(const Technique& technique) { return PutOne(*connection_, technique); }

Result<bool> KnowledgeBase::Record(const Outcome& outcome) {
  return AppendOne(*connection_, outcome);
}

Result<bool> KnowledgeBase::Add(const Note& note) { return AppendOne(*connection_, note); }

Result<KnowledgeBase::Taken> KnowledgeBase::Take(const Contents& contents) {
  Transaction transaction = TRY(Transaction::Begin(*connection_));
  TRY(PutAll(*connection_, contents.states));
  TRY(PutAll(*connection_, contents.techniques));
  TRY(PutAll(*connection_, contents.priors));
  Taken taken;
  taken.outcomes = TRY(AppendAll(*connection_, contents.outcomes));
  taken.notes = TRY(AppendAll(*connection_, contents.notes));
  TRY(transaction.Commit());
  return taken;
}

Result<Contents> KnowledgeBase::Read() {
  const Transaction reading = TRY(Transaction::BeginReading(*connection_));
  Contents contents;
  contents.states = TRY(ReadStates(*connection_));
  contents.techniques = TRY(ReadTechniques(*connection_));
  contents.priors = TRY(ReadPriors(*connection_));
  contents.outcomes = TRY(ReadOutcomes(*connection_));
  contents.notes = TRY(ReadNotes(*connection_));
  return contents;
}

Result<std::optional<State>> KnowledgeBase::FindState(const std::string& name) {
  return knowledge::FindState(*connection_, name);
}

Result<std::string> KnowledgeBase::FinestName(const std::string& primary,
                                              const std::string& secondary) {
  if (secondary.empty()) return primary;
  const std::string finer = primary + "/" + secondary;
  return TRY(FindState(finer)).has_value() ? finer : primary;
}

Result<std::vector<State>> KnowledgeBase::States() { return ReadStates(*connection_); }

Result<std::vector<Technique>> KnowledgeBase::Techniques() { return ReadTechniques(*connection_); }

Result<std::vector<Cell>> KnowledgeBase::Cells() { return ReadCells(*connection_); }

Result<Recollection> KnowledgeBase::Recall(const Situation& situation) {
  Recollection recollection;
  const std::string coarser = CoarserState(situation.state);
  if (!coarser.empty()) {
    TRY(ReadCellsOf(*connection_, coarser, situation.context, &recollection.cells));
    TRY(ReadPriorsOf(*connection_, coarser, &recollection.priors));
  }
  TRY(ReadCellsOf(*connection_, situation.state, situation.context, &recollection.cells));
  TRY(ReadPriorsOf(*connection_, situation.state, &recollection.priors));
  if (!situation.task.empty()) {
    recollection.blocked = TRY(ReadBlocked(*connection_, situation.state, situation.task));
  }
  return recollection;
}

Result<std::vector<Choice>> KnowledgeBase::Draw(const Situation& situation,
                                                const std::vector<std::string>& candidates,
                                                size_t k, Random& random) {
  const Recollection recollection = TRY(Recall(situation));
  return knowledge::Draw(BeliefsIn(situation, recollection, candidates), recollection.blocked, k,
                         random);
}

Status KnowledgeBase::Verify() {
  TRY(CheckFileIsSound(*connection_));
  const Transaction reading = TRY(Transaction::BeginReading(*connection_));
  const std::vector<Outcome> outcomes = TRY(ReadOutcomes(*connection_));
  Statistics totals;
  for (const Outcome& outcome : outcomes) {
    Tally& total = totals[{outcome.state, outcome.technique, {}}];
    total = total + TallyOf(outcome);
  }
  const bool same = Same(TRY(ReadCells(*connection_)), StatisticsOf(outcomes)) &&
                    Same(TRY(ReadTotals(*connection_)), totals);
  if (!same) return Damaged(*connection_, "its statistics are not the sums of its outcomes");
  return {};
}

namespace {

using knowledge::KnowledgeBase;

bool IsDatabase(const std::filesystem::path& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;  // a pipe is read only once
  std::ifstream file(path, std::ios::binary);
  std::string begin(kMagic.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == kMagic;
}

}  // namespace

std::string KnowledgePath(const std::string& option) {
  return option.empty() ? (DataHome() / "knowledge.db").string() : option;
}

std::string KnowledgeBeside(const std::string& store, const std::string& option) {
  return option.empty() && store::IsServerAddress(store) ? store : option;
}

Result<std::unique_ptr<KnowledgeBase>> OpenKnowledge(const std::string& option) {
  auto base = TRY(KnowledgeBase::Open(KnowledgePath(option), store::Durability::kPowerLoss,
                                      store::WhenMissing::kCreate));
  if (TRY(base->States()).empty()) TRY(base->Take(knowledge::Seed()));
  return base;
}

Result<std::unique_ptr<KnowledgeBase>> OpenKnowledgeToRead(const std::string& option) {
  if (option.empty()) return OpenKnowledge(option);
  return KnowledgeBase::Open(option, store::Durability::kProcessDeath, store::WhenMissing::kRefuse);
}

Result<knowledge::Contents> ReadKnowledge(const std::string& path) {
  if (!store::IsServerAddress(path) && !IsDatabase(path)) {
    return knowledge::ContentsFromText(path, TRY(ReadFile(path)));
  }
  auto base =
      TRY(KnowledgeBase::Open(path, store::Durability::kProcessDeath, store::WhenMissing::kRefuse));
  TRY(base->Verify());
  return base->Read();
}

bool IsSameBase(const std::string& a, const std::string& b) {
  std::error_code none;
  return a == b || std::filesystem::equivalent(a, b, none);
}

}  // namespace warpsmith::knowledge
