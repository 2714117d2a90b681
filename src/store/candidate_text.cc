#include "store/candidate_text.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "core/serialize.h"

namespace warpsmith::store {

CandidateText TextOf(const Candidate& candidate) {
  Candidate bare;
  bare.form = candidate.form;
  bare.entry = candidate.entry;
  bare.toolchain = candidate.toolchain;
  bare.flags = candidate.flags;
  bare.plan = candidate.plan;
  CandidateText text;
  for (const auto& [path, source] : candidate.sources) text.sources[path] = Sha256Hex(source);
  bare.sources = text.sources;
  text.body = ToJson(bare).dump();
  return text;
}

Result<Candidate> CandidateOf(const JsonReader& body, const SourceFinder& find_source) {
  Candidate candidate = TRY(CandidateFrom(body));
  for (auto& [path, source] : candidate.sources) source = TRY(find_source(source));
  return candidate;
}

}  // namespace warpsmith::store
