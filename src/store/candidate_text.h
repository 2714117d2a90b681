// A candidate as JSON whose source texts are replaced by their hashes, since many candidates share
// them: how the store and recordings keep candidates.
#ifndef WARPSMITH_STORE_CANDIDATE_TEXT_H_
#define WARPSMITH_STORE_CANDIDATE_TEXT_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/candidate.h"

namespace warpsmith::store {

struct CandidateText {
  std::string body;                            // JSON; without provenance
  std::map<std::string, std::string> sources;  // path -> sha256
};

CandidateText TextOf(const Candidate& candidate);

using SourceFinder = std::function<Result<std::string>(const std::string& sha256)>;

// Provenance is left blank.
Result<Candidate> CandidateOf(const JsonReader& body, const SourceFinder& find_source);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_CANDIDATE_TEXT_H_
