#include "agent/knowledge/knowledge_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "agent/knowledge/fields.h"
#include "base/compression.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "embedded/knowledge_seed.h"

namespace warpsmith::knowledge {
namespace {

using nlohmann::json;

constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr const char* kVersionField = "warpsmith_knowledge";
constexpr const char* kLinesField = "lines";
constexpr const char* kDigestField = "sha256";

template <Tagged T>
json ToJson(const T& fact) {
  json object = json_fields::Value(fact);
  object["kind"] = std::string(TagOf(&fact));
  return object;
}

json ToJson(const Outcome& outcome) {
  json object = {{"kind", "outcome"},
                 {"evidence", outcome.evidence},
                 {"state", outcome.state},
                 {"technique", outcome.technique},
                 {"architecture", outcome.context.architecture},
                 {"dtype", outcome.context.dtype},
                 {"toolchain", outcome.context.toolchain},
                 {"previous", outcome.context.previous},
                 {"task", outcome.task},
                 {"date", outcome.date}};
  if (outcome.log_gain) object["log_gain"] = Rounded(*outcome.log_gain);
  if (outcome.failure) object["failure"] = Name(*outcome.failure);
  return object;
}

template <typename T>
std::string Line(const T& item) {
  return JsonText(ToJson(item)) + "\n";
}

Status ReadResult(const JsonReader& line, Outcome* outcome) {
  if (line.Has("log_gain")) {
    const double gain = TRY(line.At("log_gain").Number());
    if (!(std::abs(gain) <= kMaxLogGain)) return line.At("log_gain").Bad("from -10 to 10");
    outcome->log_gain = Rounded(gain);
  }
  if (line.Has("failure")) {
    outcome->failure = FailureFromName(TRY(line.At("failure").String()));
    if (!outcome->failure) return line.At("failure").Bad("a reason such as \"incorrect\"");
  }
  return {};
}

Result<Outcome> OutcomeFrom(const JsonReader& line) {
  TRY(line.OnlyFields({"kind", "evidence", "state", "technique", "architecture", "dtype",
                       "toolchain", "previous", "task", "date", "log_gain", "failure"}));
  Outcome outcome;
  outcome.evidence = TRY(line.At("evidence").String());
  outcome.state = TRY(line.At("state").String());
  outcome.technique = TRY(line.At("technique").String());
  outcome.context.architecture = TRY(line.At("architecture").String());
  outcome.context.dtype = TRY(line.At("dtype").String());
  outcome.context.toolchain = TRY(line.At("toolchain").String());
  outcome.context.previous = TRY(line.At("previous").String());
  outcome.task = TRY(line.At("task").String());
  outcome.date = TRY(line.At("date").String());
  TRY(ReadResult(line, &outcome));
  return outcome;
}

template <typename T>
Status Keep(std::vector<T>& items, T item) {
  TRY(Check(item));
  items.push_back(std::move(item));
  return {};
}

template <Tagged T>
Status Take(const JsonReader& line, std::vector<T>& items) {
  T item;
  TRY(json_fields::ReadFields(line, item, {"kind"}));
  return Keep(items, std::move(item));
}

Status TakeLine(const JsonReader& line, Contents* contents) {
  const std::string kind = TRY(line.At("kind").String());
  if (kind == "state") return Take(line, contents->states);
  if (kind == "technique") return Take(line, contents->techniques);
  if (kind == "prior") return Take(line, contents->priors);
  if (kind == "outcome") return Keep(contents->outcomes, TRY(OutcomeFrom(line)));
  if (kind == "note") return Take(line, contents->notes);
  return line.At("kind").Bad("state, technique, prior, outcome or note");
}

Status CheckVersion(const JsonReader& line, std::string_view source) {
  if (!line.Has(kVersionField)) {
    return Error{ErrorCode::kBadInput, std::string(source) + " is no warpsmith knowledge base",
                 "its first line would be {\"warpsmith_knowledge\":1}"};
  }
  TRY(line.OnlyFields({kVersionField, kLinesField, kDigestField}));
  const int64_t version = TRY(line.At(kVersionField).Int());
  if (version == kKnowledgeTextVersion) return {};
  return Error{ErrorCode::kVersion,
               std::string(source) + " has version " + std::to_string(version) +
                   ", this program reads version " + std::to_string(kKnowledgeTextVersion),
               "export it again with this warpsmith's own base, or use the one that wrote it"};
}

// The error of a check names the thing; the line is where to look.
Status At(std::string_view place, Status status) {
  if (status.ok()) return status;
  Error error = std::move(status).error();
  if (!error.message.starts_with(place)) error.message = std::string(place) + ": " + error.message;
  return error;
}

// That the lines after the first are those that it tells of. A text that people wrote says nothing
// of its lines; one that says half of it was damaged.
Status CheckIsWhole(std::string_view source, const json& first, int64_t lines,
                    const std::string& rest) {
  const JsonReader reader(std::string(source) + ":1", first);
  if (!reader.Has(kLinesField) && !reader.Has(kDigestField)) return {};
  const int64_t expected = TRY(reader.At(kLinesField).Int());
  if (expected != lines) {
    return Error{ErrorCode::kBadInput,
                 std::string(source) + " has " + std::to_string(lines) + " lines of the " +
                     std::to_string(expected) + " that were written",
                 "export it again, or fetch it again"};
  }
  if (TRY(reader.At(kDigestField).String()) == Sha256Hex(rest)) return {};
  return Error{
      ErrorCode::kBadInput,
      std::string(source) + " is not what was written: its lines have another SHA-256",
      "if you changed them, take \"lines\" and \"sha256\" out of the first line; else fetch "
      "it again"};
}

Result<Contents> FromLines(std::string_view source, std::string_view text) {
  Contents contents;
  bool has_version = false;
  json first;
  int64_t lines = 0;
  std::string rest;  // the lines after the first, blank ones left out
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string place = std::string(source) + ":" + std::to_string(number);
    const json object = TRY(ParseJson(place, line));
    const JsonReader reader(place, object);
    if (!has_version) {
      TRY(CheckVersion(reader, source));
      has_version = true;
      first = object;
    } else {
      ++lines;
      rest += std::string(line.substr(0, line.find_last_not_of('\r') + 1)) + "\n";
      TRY(At(place, TakeLine(reader, &contents)));
    }
  }
  if (!has_version) TRY(CheckVersion(JsonReader(std::string(source), json::object()), source));
  TRY(CheckIsWhole(source, first, lines, rest));
  return InOrder(std::move(contents));
}

}  // namespace

std::string ToText(const Contents& contents) {
  std::string text;
  for (const State& state : contents.states) text += Line(state);
  for (const Technique& technique : contents.techniques) text += Line(technique);
  for (const Prior& prior : contents.priors) text += Line(prior);
  for (const Outcome& outcome : contents.outcomes) text += Line(outcome);
  for (const Note& note : contents.notes) text += Line(note);
  const json first{{kVersionField, kKnowledgeTextVersion},
                   {kLinesField, std::count(text.begin(), text.end(), '\n')},
                   {kDigestField, Sha256Hex(text)}};
  return JsonText(first) + "\n" + text;
}

Result<Contents> ContentsFromText(std::string_view source, std::string_view text) {
  if (!text.starts_with(kZstdMagic)) return FromLines(source, text);
  return FromLines(source, TRY(Decompress(source, text)));
}

std::string_view SeedText() { return embedded::KnowledgeSeed().front().contents; }

Contents Seed() {
  Result<Contents> seed = ContentsFromText("seed.jsonl", SeedText());
  CHECK(seed.ok());
  return std::move(seed).value();
}

}  // namespace warpsmith::knowledge
