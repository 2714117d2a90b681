#include "core/candidate.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/utf8.h"
#include "core/serialize.h"

namespace warpsmith {

Candidate WithoutSources(const Candidate& candidate) {
  Candidate rest;
  rest.form = candidate.form;
  rest.entry = candidate.entry;
  rest.toolchain = candidate.toolchain;
  rest.flags = candidate.flags;
  rest.plan = candidate.plan;
  return rest;
}

// Each source goes in as its own hash: nothing then has to escape or copy the texts.
std::string CandidateId(const Candidate& candidate) {
  nlohmann::json sources = nlohmann::json::object();
  for (const auto& [path, text] : candidate.sources) sources[ValidUtf8(path)] = Sha256Hex(text);
  nlohmann::json json = ToJson(WithoutSources(candidate));
  json["sources"] = std::move(sources);
  return Sha256Hex(json.dump());
}

int64_t CodeLength(const Candidate& candidate) {
  int64_t bytes = 0;
  for (const auto& [path, text] : candidate.sources) bytes += static_cast<int64_t>(text.size());
  return bytes;
}

}  // namespace warpsmith
