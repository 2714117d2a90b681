// Rows of the append-only tables that runs share: candidates, verdicts, and what they refer to.
// Writers are called inside a transaction and store a thing once: adding it again finds it.
#ifndef WARPSMITH_STORE_FACTS_H_
#define WARPSMITH_STORE_FACTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/candidate.h"
#include "core/device.h"
#include "core/protocol.h"
#include "core/task.h"
#include "store/connection.h"

namespace warpsmith::store {

// Row ids of what a verdict is about.
struct VerdictSubject {
  int64_t task = 0, workload = 0, protocol = 0, device = 0;
};

// Adds those of the four that are not there yet.
Result<VerdictSubject> AddSubject(Connection& connection, const Task& task,
                                  const Workload& workload, const Protocol& protocol,
                                  const DeviceInfo& device);

// Gives the candidate's id.
Result<std::string> AddCandidate(Connection& connection, const Candidate& candidate);

struct VerdictRow {
  std::string key;
  std::string candidate;  // id
  VerdictSubject subject;
  std::string_view origin;  // "run", "import"
};
struct AddedVerdict {
  int64_t id = 0;
  bool is_new = false;
};
// A verdict that is there already, measured alike, is not added again: is_new is false.
Result<AddedVerdict> AddVerdict(Connection& connection, const VerdictRow& row,
                                const Verdict& verdict, double gpu_seconds);

// Readers hold every row to its digest (schema/004_row_digests.sql), a verdict to its own, a
// candidate and its sources to their ids: what was changed since it was written is kBadInput.
Result<DeviceInfo> ReadDevice(Connection& connection, int64_t id);
Result<Task> ReadTask(Connection& connection, int64_t id);
Result<Workload> ReadWorkload(Connection& connection, int64_t id);
Result<Protocol> ReadProtocol(Connection& connection, int64_t id);
Result<Verdict> ReadVerdict(Connection& connection, int64_t id);

inline constexpr std::string_view kChanged = "is not what was written";

// That no page of the table is damaged in a way that would hide rows.
Status CheckTable(Connection& connection, const std::string& table);

// The error for a row that is not what was written: `what` names it, `how` says what is wrong.
Error Damaged(const Connection& connection, std::string_view what, std::string_view how);

// Texts that were read before are kept: thousands of candidates share a few sources.
using SourceCache = std::map<std::string, std::string>;
Result<Candidate> ReadCandidate(Connection& connection, const std::string& id,
                                SourceCache& sources);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_FACTS_H_
