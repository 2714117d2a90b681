#include "store/worker.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>

namespace warpsmith::store {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown-host";
  return name.data();
}

// Field 22 of /proc/<pid>/stat: clock ticks after boot at which the process started. A reused
// process id has another one. Empty: no such process.
std::string StartTime(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  const std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  size_t at = stat.rfind(')');  // the command name before it may hold spaces and parentheses
  if (at == std::string::npos) return "";
  const bool zombie = stat.compare(at, 3, ") Z") == 0;  // killed, its parent has not looked yet
  constexpr int kFieldsFromNameToStart = 20;
  for (int field = 0; field < kFieldsFromNameToStart && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  if (at == std::string::npos || zombie) return "";
  return stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

}  // namespace

std::string ThisWorker() {
  const std::string pid = std::to_string(getpid());
  return HostName() + ":" + pid + ":" + StartTime(pid);
}

bool KnownDead(std::string_view worker) {
  const std::string prefix = HostName() + ":";
  if (!worker.starts_with(prefix)) return false;
  worker.remove_prefix(prefix.size());
  const size_t colon = worker.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string pid(worker.substr(0, colon));
  if (pid.empty() || pid.find_first_not_of("0123456789") != std::string::npos) return false;
  return StartTime(pid) != worker.substr(colon + 1);
}

}  // namespace warpsmith::store
