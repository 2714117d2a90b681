// A verdict taken apart for storage: what was timed (the bulk, and what people query) apart from
// the rest, and put together again exactly.
#ifndef WARPSMITH_STORE_VERDICT_PARTS_H_
#define WARPSMITH_STORE_VERDICT_PARTS_H_

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/candidate.h"
#include "core/verdict.h"

namespace warpsmith::store {

// A candidate as JSON whose source texts are replaced by their hashes, since many candidates share
// them: how the store and recordings keep candidates.
struct CandidateText {
  std::string body;                            // JSON; without provenance
  std::map<std::string, std::string> sources;  // path -> sha256
};

CandidateText TextOf(const Candidate& candidate);

using SourceFinder = std::function<Result<std::string>(const std::string& sha256)>;

// Provenance is left blank.
Result<Candidate> CandidateOf(const JsonReader& body, const SourceFinder& find_source);

// One contender of Passed::timings[workload].modes[mode].
struct Contender {
  int workload = 0, mode = 0;
  int index = 0;  // 0: the candidate; i > 0: baselines[i - 1]
  std::string mode_name;
  ContenderTiming timing;
};

struct VerdictParts {
  Verdict body;  // of timings only what `contenders` has no column for; else no baselines
  std::vector<Contender> contenders;  // by workload, mode, index
};

VerdictParts TakeApart(const Verdict& verdict);

// kBadInput, naming `source`, when the parts don't belong together.
Result<Verdict> PutTogether(std::string_view source, VerdictParts parts);

// Samples as zstd of: u32 count; then count values of each column, in this order: i32 process,
// i32 round, f32 us, f32 sm_mhz, f32 temperature_c, f32 power_w. Little endian.
std::string PackSamples(const std::vector<Sample>& samples);
// kBadInput, naming `source`, for any other bytes.
Result<std::vector<Sample>> UnpackSamples(std::string_view source, std::string_view packed);

// False: the verdict says nothing about the candidate (harness trouble, a compiler that ran out of
// time), so it may be judged again.
bool IsConclusive(const Outcome& outcome);

// Contenders' times as JSON, samples in columns: compact, and quick to read back.

// Recordings write derived numbers with 9 significant digits: more than the samples they are made
// of have (those are written exactly), and half the bytes.
double Rounded(double value);
void RoundNumbers(nlohmann::json& value);  // every non-integer number inside

nlohmann::json ContendersJson(const std::vector<Contender>& contenders);
Result<std::vector<Contender>> ContendersFrom(const JsonReader& json);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_VERDICT_PARTS_H_
