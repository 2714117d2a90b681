#include "core/device.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

#include "base/build_info.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"

namespace warpsmith {
namespace {

constexpr size_t kShortUuid = std::string_view("GPU-1a2b3c4d").size();

// "/home/me/lib.so" -> "lib.so"; "--csv=/tmp/a.csv" -> "--csv=a.csv"; a server's address, which may
// hold a password, -> "postgresql:".
std::string WithoutFolders(const std::string& argument) {
  const size_t begin = argument.starts_with("--") ? argument.find('=') + 1 : 0;
  const size_t scheme =
      argument.compare(begin, 8, "postgres") == 0 ? argument.find("://") : std::string::npos;
  if (scheme != std::string::npos) return argument.substr(0, scheme + 1);
  if (begin >= argument.size() || argument[begin] != '/') return argument;
  const size_t slash = argument.find_last_of('/');
  return argument.substr(0, begin) + argument.substr(slash + 1);
}

}  // namespace

int ArchitectureNumber(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return 0;
  int number = 0;
  const char* end = architecture.data() + architecture.size();
  const auto parsed = std::from_chars(architecture.data() + 3, end, number);
  const std::string_view rest(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  const bool known = parsed.ec == std::errc() && (rest.empty() || rest == "a" || rest == "f");
  return known ? number : 0;
}

std::string ShortUuid(std::string_view uuid) {
  return uuid.empty() ? "none" : std::string(uuid.substr(0, kShortUuid));
}

std::string CommandText(const std::vector<std::string>& arguments) {
  std::string text = Joined(arguments, " ", WithoutFolders);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string CommitText() {
  const std::string_view commit = build_info::Commit();
  return commit.empty() ? "unknown" : std::string(commit);
}

std::string ProvenanceText(const DeviceInfo& device, std::string_view command) {
  return device.name + ", " + ShortUuid(device.uuid) + ", driver " + device.driver + ", " +
         UtcTimestamp() + ", commit " + CommitText() + ", " + std::string(command);
}

std::string MeasurementKey(const Candidate& candidate, const Task& task, const Workload& workload,
                           const Protocol& protocol) {
  const nlohmann::json identity{{"candidate", CandidateId(candidate)},
                                {"task", TaskId(task)},
                                {"sizes", workload.sizes},
                                {"protocol", ProtocolId(protocol)}};
  return Sha256Hex(identity.dump());
}

}  // namespace warpsmith
