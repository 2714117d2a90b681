#include "agent/knowledge/rows.h"

#include <array>

#include "agent/knowledge/fields.h"
#include "base/sha256.h"

namespace warpsmith::knowledge {
namespace {

using store::Connection;
using store::Statement;

// "SELECT name, origin, description FROM state ".
template <Tagged T>
std::string ColumnsOf() {
  std::string names;
  ForEachField<T>(
      [&](const auto& field) { names += (names.empty() ? "" : ", ") + std::string(field.name); });
  return "SELECT " + names + " FROM " + std::string(TagOf(static_cast<const T*>(nullptr))) + " ";
}

void TakeColumn(const Statement& row, int column, std::string& text) { text = row.Text(column); }
void TakeColumn(const Statement& row, int column, double& number) { number = row.Real(column); }
void TakeColumn(const Statement& row, int column, Origin& origin) {
  origin = row.TextView(column) == Name(Origin::kKnown) ? Origin::kKnown : Origin::kDiscovered;
}

// A row of ColumnsOf<T>().
template <Tagged T>
T FactIn(const Statement& row) {
  T fact;
  int column = 0;
  ForEachField<T>([&](const auto& field) { TakeColumn(row, column++, fact.*field.member); });
  return fact;
}

void BindField(Statement& insert, const std::string& text) { insert.Bind(text); }
void BindField(Statement& insert, double number) { insert.Bind(number); }
void BindField(Statement& insert, Origin origin) { insert.Bind(Name(origin)); }

// In place of the row with its key.
template <Tagged T>
Status Replace(Connection& connection, const T& fact) {
  constexpr std::string_view kKey = std::is_same_v<T, Prior> ? "state, technique" : "name";
  std::string places, changes;
  ForEachField<T>([&](const auto& field) {
    const std::string name(field.name);
    places += places.empty() ? "?" : ", ?";
    changes += (changes.empty() ? "" : ", ") + name + " = excluded." + name;
  });
  const std::string sql = "INSERT INTO " + std::string(TagOf(&fact)) + " VALUES (" + places +
                          ") ON CONFLICT (" + std::string(kKey) + ") DO UPDATE SET " + changes;
  Statement insert = connection.Prepare(sql.c_str());
  ForEachField<T>([&](const auto& field) { BindField(insert, fact.*field.member); });
  return insert.Run();
}

constexpr const char* kOutcomeColumns =
    "SELECT evidence, state, technique, architecture, dtype, toolchain, previous, task, gain_e5, "
    "failure, date FROM outcome ";

Outcome OutcomeIn(const Statement& row) {
  Outcome outcome;
  outcome.evidence = row.Text(0);
  outcome.state = row.Text(1);
  outcome.technique = row.Text(2);
  outcome.context = {row.Text(3), row.Text(4), row.Text(5), row.Text(6)};
  outcome.task = row.Text(7);
  if (!row.IsNull(8)) outcome.log_gain = LogGainOfE5(row.Int(8));
  if (!row.IsNull(9)) outcome.failure = FailureFromName(row.TextView(9));
  outcome.date = row.Text(10);
  return outcome;
}

constexpr const char* kCellColumns =
    "SELECT state, technique, architecture, dtype, toolchain, previous, measured, sum_e5, "
    "squares_e10, compile_failed, incorrect, hang, crash, rejected, no_gain FROM statistic ";

Tally TallyIn(const Statement& row) {
  Tally tally{row.Int(6), row.Int(7), row.Int(8), {}};
  for (size_t i = 0; i < kFailures; ++i) tally.failures[i] = row.Int(9 + static_cast<int>(i));
  return tally;
}

Cell CellIn(const Statement& row) {
  return {{row.Text(0), row.Text(1), {row.Text(2), row.Text(3), row.Text(4), row.Text(5)}},
          TallyIn(row)};
}

// One bit a respect in which the cell's context is not `here`.
size_t RespectsOf(const Statement& row, const Context& here) {
  return static_cast<size_t>(row.TextView(2) != here.architecture) |
         static_cast<size_t>(row.TextView(3) != here.dtype) << 1U |
         static_cast<size_t>(row.TextView(4) != here.toolchain) << 2U |
         static_cast<size_t>(row.TextView(5) != here.previous) << 3U;
}

template <typename T>
Status ReadAll(Statement statement, T (*from)(const Statement&), std::vector<T>* items) {
  while (TRY(statement.Next())) items->push_back(from(statement));
  return {};
}

template <typename T>
Result<std::vector<T>> ReadTable(Connection& connection, const std::string& sql,
                                 T (*from)(const Statement&)) {
  std::vector<T> items;
  TRY(ReadAll(connection.Prepare(sql.c_str()), from, &items));
  return items;
}

Result<std::optional<Outcome>> FindOutcome(Connection& connection, const OutcomeKey& key) {
  static const std::string sql =
      std::string(kOutcomeColumns) + "WHERE evidence = ? AND state = ? AND technique = ?";
  Statement find = connection.Prepare(sql.c_str());
  find.Bind(key.evidence).Bind(key.state).Bind(key.technique);
  if (!TRY(find.Next())) return std::optional<Outcome>();
  return std::optional(OutcomeIn(find));
}

// That both are in the base: an outcome of something unnamed could not be told to anyone.
Status CheckNamed(Connection& connection, const std::string& state, const std::string& technique) {
  const auto missing = [&](const std::string& what, const std::string& name) {
    return Error{ErrorCode::kBadInput,
                 "knowledge base " + connection.name() + " has no " + what + " \"" + name + "\"",
                 "add it with its description first"};
  };
  if (!TRY(connection.Prepare("SELECT 1 FROM state WHERE name = ?").Bind(state).Next())) {
    return missing("state", state);
  }
  if (!TRY(connection.Prepare("SELECT 1 FROM technique WHERE name = ?").Bind(technique).Next())) {
    return missing("technique", technique);
  }
  return {};
}

Status Insert(Connection& connection, const Outcome& outcome) {
  Statement insert =
      connection.Prepare("INSERT INTO outcome VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const auto& [architecture, dtype, toolchain, previous] = outcome.context;
  insert.Bind(outcome.evidence).Bind(outcome.state).Bind(outcome.technique);
  insert.Bind(architecture).Bind(dtype).Bind(toolchain).Bind(previous).Bind(outcome.task);
  if (outcome.log_gain) {
    insert.Bind(GainE5(*outcome.log_gain)).BindNull();
  } else {
    insert.BindNull().Bind(Name(*outcome.failure));
  }
  return insert.Bind(outcome.date).Run();
}

// Unambiguous: each field's length goes before it.
std::string IdOf(const Note& note) {
  std::string text;
  for (const std::string* field :
       {&note.state, &note.technique, &note.text, &note.role, &note.evidence}) {
    text += std::to_string(field->size()) + ":" + *field;
  }
  return Sha256Hex(text);
}

}  // namespace

Status Put(Connection& connection, const State& state) {
  TRY(Check(state));
  const auto old = TRY(FindState(connection, state.name));
  const State& kept = old ? Preferred(*old, state) : state;
  if (old && kept == *old) return {};
  return Replace(connection, kept);
}

Status Put(Connection& connection, const Technique& technique) {
  TRY(Check(technique));
  static const std::string sql = ColumnsOf<Technique>() + "WHERE name = ?";
  std::optional<Technique> old;
  {
    Statement find = connection.Prepare(sql.c_str());
    if (TRY(find.Bind(technique.name).Next())) old = FactIn<Technique>(find);
  }
  const Technique& kept = old ? Preferred(*old, technique) : technique;
  if (old && kept == *old) return {};
  return Replace(connection, kept);
}

Status Put(Connection& connection, const Prior& prior) {
  TRY(Check(prior));
  TRY(CheckNamed(connection, prior.state, prior.technique));
  static const std::string sql = ColumnsOf<Prior>() + "WHERE state = ? AND technique = ?";
  std::optional<Prior> old;
  {
    Statement find = connection.Prepare(sql.c_str());
    if (TRY(find.Bind(prior.state).Bind(prior.technique).Next())) old = FactIn<Prior>(find);
  }
  return Replace(connection, old ? Preferred(*old, prior) : prior);
}

Result<bool> Append(Connection& connection, const Outcome& outcome) {
  TRY(Check(outcome));
  const auto old = TRY(FindOutcome(connection, KeyOf(outcome)));
  if (old && SaysTheSame(*old, outcome)) return false;
  if (old) return Contradiction(*old, outcome);
  TRY(CheckNamed(connection, outcome.state, outcome.technique));
  TRY(Insert(connection, outcome));
  return true;
}

Result<bool> Append(Connection& connection, const Note& note) {
  TRY(Check(note));
  Statement insert = connection.Prepare(
      "INSERT INTO note VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1");
  insert.Bind(IdOf(note)).Bind(note.state).Bind(note.technique).Bind(note.text);
  return TRY(insert.Bind(note.role).Bind(note.evidence).RunForId()) == 1;
}

Result<std::optional<State>> FindState(Connection& connection, const std::string& name) {
  static const std::string sql = ColumnsOf<State>() + "WHERE name = ?";
  Statement find = connection.Prepare(sql.c_str());
  if (!TRY(find.Bind(name).Next())) return std::optional<State>();
  return std::optional(FactIn<State>(find));
}

Result<std::vector<State>> ReadStates(Connection& connection) {
  return ReadTable(connection, ColumnsOf<State>() + "ORDER BY name", FactIn<State>);
}

Result<std::vector<Technique>> ReadTechniques(Connection& connection) {
  return ReadTable(connection, ColumnsOf<Technique>() + "ORDER BY name", FactIn<Technique>);
}

Result<std::vector<Prior>> ReadPriors(Connection& connection) {
  return ReadTable(connection, ColumnsOf<Prior>() + "ORDER BY state, technique", FactIn<Prior>);
}

Result<std::vector<Outcome>> ReadOutcomes(Connection& connection) {
  return ReadTable(connection, std::string(kOutcomeColumns) + "ORDER BY evidence, state, technique",
                   OutcomeIn);
}

Result<std::vector<Note>> ReadNotes(Connection& connection) {
  return ReadTable(connection,
                   ColumnsOf<Note>() + "ORDER BY state, technique, text, role, evidence",
                   FactIn<Note>);
}

Result<std::vector<Cell>> ReadCells(Connection& connection) {
  return ReadTable(connection,
                   std::string(kCellColumns) +
                       "ORDER BY state, technique, architecture, dtype, toolchain, previous",
                   CellIn);
}

Result<std::vector<Cell>> ReadTotals(Connection& connection) {
  return ReadTable(connection,
                   "SELECT state, technique, '', '', '', '', measured, sum_e5, squares_e10, "
                   "compile_failed, incorrect, hang, crash, rejected, no_gain FROM total "
                   "ORDER BY state, technique",
                   CellIn);
}

Status ReadCellsOf(Connection& connection, const std::string& state, const Context& here,
                   std::vector<Cell>* cells) {
  static const std::string sql =
      std::string(kCellColumns) +
      "WHERE state = ? ORDER BY technique, architecture, dtype, toolchain, previous";
  Statement find = connection.Prepare(sql.c_str());
  find.Bind(state);
  std::array<size_t, 16> place = {};  // of each pattern of respects, 1 behind its cell; 0: none yet
  std::string technique;
  while (TRY(find.Next())) {
    if (find.TextView(1) != technique) {
      technique = find.Text(1);
      place = {};
    }
    size_t& at = place.at(RespectsOf(find, here));
    if (at == 0) {
      cells->push_back(CellIn(find));
      at = cells->size();
    } else {
      Tally& tally = (*cells)[at - 1].tally;
      tally = tally + TallyIn(find);
    }
  }
  return {};
}

Status ReadPriorsOf(Connection& connection, const std::string& state, std::vector<Prior>* priors) {
  static const std::string sql = ColumnsOf<Prior>() + "WHERE state = ? ORDER BY technique";
  Statement find = connection.Prepare(sql.c_str());
  find.Bind(state);
  return ReadAll(std::move(find), FactIn<Prior>, priors);
}

Status ReadNotesOn(Connection& connection, const std::string& state, const std::string& technique,
                   int64_t most, std::vector<Note>* notes) {
  static const std::string sql = ColumnsOf<Note>() +
                                 "WHERE state = ? AND technique = ? "
                                 "ORDER BY evidence = '', text, role, evidence LIMIT ?";
  Statement find = connection.Prepare(sql.c_str());
  find.Bind(state).Bind(technique).Bind(most);
  return ReadAll(std::move(find), FactIn<Note>, notes);
}

}  // namespace warpsmith::knowledge
