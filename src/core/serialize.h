// JSON of the core values: the wire, recording, store and --json format alike. Every From...
// refuses unknown fields and says source, field and what was expected. Fields that hold their
// default are left out; what is equal gives equal text. Bytes that are not UTF-8 are written as
// U+FFFD.
//
// Limits on reading: names 1,024 bytes, texts 64 MiB, lists and maps 65,536 items, samples of one
// contender 1,048,576. Counts and sizes are never negative.
#ifndef WARPSMITH_CORE_SERIALIZE_H_
#define WARPSMITH_CORE_SERIALIZE_H_

#include <nlohmann/json_fwd.hpp>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/artifact.h"
#include "core/candidate.h"
#include "core/chat_model.h"
#include "core/device.h"
#include "core/launch_plan.h"
#include "core/protocol.h"
#include "core/space.h"
#include "core/step.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith {

nlohmann::json ToJson(const LaunchPlan& plan);
nlohmann::json ToJson(const Task& task);
nlohmann::json ToJson(const Workload& workload);
nlohmann::json ToJson(const Candidate& candidate);
nlohmann::json ToJson(const Provenance& provenance);
nlohmann::json ToJson(const Artifact& artifact);  // without the image's bytes
nlohmann::json ToJson(const Protocol& protocol);
nlohmann::json ToJson(const Verdict& verdict);
nlohmann::json ToJson(const DeviceInfo& info);
nlohmann::json ToJson(const Point& point);
nlohmann::json ToJson(const Cost& cost);
nlohmann::json ToJson(const RewardTerms& terms);
nlohmann::json ToJson(const ChatRequest& request);
nlohmann::json ToJson(const ChatReply& reply);

Result<LaunchPlan> LaunchPlanFrom(const JsonReader& json);
Result<Task> TaskFrom(const JsonReader& json);
Result<Workload> WorkloadFrom(const JsonReader& json);
Result<Candidate> CandidateFrom(const JsonReader& json);
Result<Provenance> ProvenanceFrom(const JsonReader& json);
Result<Artifact> ArtifactFrom(const JsonReader& json);
Result<Protocol> ProtocolFrom(const JsonReader& json);
Result<Verdict> VerdictFrom(const JsonReader& json);
Result<DeviceInfo> DeviceInfoFrom(const JsonReader& json);
Result<RewardTerms> RewardTermsFrom(const JsonReader& json);
Result<ChatRequest> ChatRequestFrom(const JsonReader& json);
Result<ChatReply> ChatReplyFrom(const JsonReader& json);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_SERIALIZE_H_
