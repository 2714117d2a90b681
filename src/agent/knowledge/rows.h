// Facts as rows of the base's tables, inside a transaction of the caller's. knowledge_base.h.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_ROWS_H_
#define WARPSMITH_AGENT_KNOWLEDGE_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "agent/knowledge/facts.h"
#include "store/connection.h"

namespace warpsmith::knowledge {

// Put: new, or in place of what is less preferred.
Status Put(store::Connection& connection, const State& state);
Status Put(store::Connection& connection, const Technique& technique);
Status Put(store::Connection& connection, const Prior& prior);
// Append: false where it was there already.
Result<bool> Append(store::Connection& connection, const Outcome& outcome);
Result<bool> Append(store::Connection& connection, const Note& note);

Result<std::optional<State>> FindState(store::Connection& connection, const std::string& name);
Result<std::vector<State>> ReadStates(store::Connection& connection);
Result<std::vector<Technique>> ReadTechniques(store::Connection& connection);
Result<std::vector<Prior>> ReadPriors(store::Connection& connection);
Result<std::vector<Outcome>> ReadOutcomes(store::Connection& connection);
Result<std::vector<Note>> ReadNotes(store::Connection& connection);
Result<std::vector<Cell>> ReadCells(store::Connection& connection);
// Over all contexts: the keys' contexts are empty.
Result<std::vector<Cell>> ReadTotals(store::Connection& connection);

// Of one state. Cells of a technique that differ from `here` in the same respects weigh the same,
// so they are added up into one, under the context of the first: a query reads thousands of them.
Status ReadCellsOf(store::Connection& connection, const std::string& state, const Context& here,
                   std::vector<Cell>* cells);
Status ReadPriorsOf(store::Connection& connection, const std::string& state,
                    std::vector<Prior>* priors);
// On exactly that state and technique, those with evidence first.
Status ReadNotesOn(store::Connection& connection, const std::string& state,
                   const std::string& technique, int64_t most, std::vector<Note>* notes);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_ROWS_H_
