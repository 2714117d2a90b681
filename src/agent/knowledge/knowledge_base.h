// The knowledge base in an SQLite file of its own, so that it can be shipped, swapped, merged and
// thrown away without touching what was measured, or on a PostgreSQL server. docs/agent.md.
//
// Outcomes and notes are appended, never changed. An outcome is identified by its evidence, so a
// run that was killed and does a step again counts it once; its statistics are kept in the same
// transaction. One object belongs to one thread; any number of processes may have the base open.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_KNOWLEDGE_BASE_H_
#define WARPSMITH_AGENT_KNOWLEDGE_KNOWLEDGE_BASE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/knowledge/facts.h"
#include "agent/knowledge/posterior.h"
#include "base/result.h"
#include "store/database.h"

namespace warpsmith::knowledge {

// "WSKB", SQLite's application_id of our files.
inline constexpr int64_t kKnowledgeApplicationId = 0x57534b42;
// schema/NNN_name.sql brings a base from version NNN-1 to NNN.
store::Schema KnowledgeSchema();

// What the base knows that bears on a situation.
struct Recollection {
  std::vector<Cell> cells;    // of the state and its coarser one, by key
  std::vector<Prior> priors;  // the same
  // What hung, crashed, was wrong or was rejected in this very state on this very task, and has not
  // worked there since.
  Blocked blocked;
};

// Those that a cell or a prior of it is about, by name.
std::vector<std::string> TechniquesIn(const Recollection& recollection);

// One belief for each of the techniques, in their order.
std::vector<Belief> BeliefsIn(const Situation& situation, const Recollection& recollection,
                              const std::vector<std::string>& techniques);

class KnowledgeBase {
 public:
  // Refused: a file that is no base of ours or damaged (kBadInput), a newer version (kVersion), a
  // missing one if so asked (kNoInput). An older one is brought up to date.
  static Result<std::unique_ptr<KnowledgeBase>> Open(const std::string& where,
                                                     store::Durability durability,
                                                     store::WhenMissing when_missing);

  // New, or in place of a description that is less preferred (contents.h).
  Status Add(const State& state);
  Status Add(const Technique& technique);

  // False: it is there already. Refused: a state or technique that is not there, and an outcome
  // that contradicts what the same evidence said (kBadInput).
  Result<bool> Record(const Outcome& outcome);
  Result<bool> Add(const Note& note);

  struct Taken {
    int64_t outcomes = 0, notes = 0;  // that were new
  };
  // Everything, or nothing where something is refused: an import or a merge.
  Result<Taken> Take(const Contents& contents);
  // All of it as of one moment, in canonical order (contents.h).
  Result<Contents> Read();

  Result<std::optional<State>> FindState(const std::string& name);
  // "primary/secondary" where the base knows that finer state, else `primary`, known or not.
  Result<std::string> FinestName(const std::string& primary, const std::string& secondary);
  // By name; cells by their keys.
  Result<std::vector<State>> States();
  Result<std::vector<Technique>> Techniques();
  Result<std::vector<Cell>> Cells();
  // Without a task nothing is blocked.
  Result<Recollection> Recall(const Situation& situation);

  // Recall, BeliefsIn, and Draw of posterior.h.
  Result<std::vector<Choice>> Draw(const Situation& situation,
                                   const std::vector<std::string>& candidates, size_t k,
                                   Random& random);

  // That the file, if it is one, is sound and every statistic is the sum of its outcomes; reads all of it.
  Status Verify();

  store::Connection& connection() { return *connection_; }

 private:
  explicit KnowledgeBase(std::unique_ptr<store::Connection> connection)
      : connection_(std::move(connection)) {}

  std::unique_ptr<store::Connection> connection_;
};

// --- Where the knowledge base lies, and the texts and files that count as one.

// The base named by --knowledge (a path, or a server's address), else the user's.
std::string KnowledgePath(const std::string& option);

// What --knowledge names; where it names nothing and --store is a server's address, the base there.
std::string KnowledgeBeside(const std::string& store, const std::string& option);

// Made where there is none. A base that knows no state yet takes in the shipped seed.
Result<std::unique_ptr<knowledge::KnowledgeBase>> OpenKnowledge(const std::string& option);

// The same, to look at: one that was named and is not there is refused (kNoInput).
Result<std::unique_ptr<knowledge::KnowledgeBase>> OpenKnowledgeToRead(const std::string& option);

// What a base's file (which is then brought to the newest version) or its text holds. Refused: a
// file that is neither.
Result<knowledge::Contents> ReadKnowledge(const std::string& path);

// Are both the same file, whatever their names, or the same address?
bool IsSameBase(const std::string& a, const std::string& b);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_KNOWLEDGE_BASE_H_
