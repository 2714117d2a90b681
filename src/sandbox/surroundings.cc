#include "sandbox/surroundings.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "sandbox/failure.h"

namespace warpsmith::sandbox {
namespace {

constexpr std::string_view kKeptVariables[] = {"PATH",
                                               "LANG",
                                               "LC_ALL",
                                               "TZ",
                                               "TMPDIR",
                                               "CUDA_HOME",
                                               "CUDA_PATH",
                                               "CUDA_VISIBLE_DEVICES",
                                               "LD_LIBRARY_PATH",
                                               "ASAN_OPTIONS",
                                               "UBSAN_OPTIONS"};
constexpr std::string_view kOwnPrefix = "WARPSMITH_";
constexpr std::string_view kSecretWords[] = {"KEY", "TOKEN", "SECRET", "PASSWORD"};

bool Contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

bool IsKept(std::string_view name, const std::vector<std::string>& kept) {
  if (std::find(kept.begin(), kept.end(), name) != kept.end()) return true;
  if (std::find(std::begin(kKeptVariables), std::end(kKeptVariables), name) !=
      std::end(kKeptVariables)) {
    return true;
  }
  return name.starts_with(kOwnPrefix) &&
         std::none_of(std::begin(kSecretWords), std::end(kSecretWords),
                      [&](std::string_view word) { return Contains(name, word); });
}

}  // namespace

void CleanEnvironment(const std::vector<std::string>& kept) {
  std::vector<std::string> remaining;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name != "HOME" && IsKept(name, kept)) remaining.emplace_back(text);
    explicit_bzero(*entry, text.size());
  }
  clearenv();
  setenv("HOME", "/nonexistent", 1);
  for (const std::string& entry : remaining) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
}

Status CleanDescriptors(const std::vector<int>& kept) {
  const int devnull = open("/dev/null", O_RDONLY);
  if (devnull < 0 || dup2(devnull, STDIN_FILENO) < 0) return Failed("stdin from /dev/null");
  std::vector<int> open_ones = {STDERR_FILENO};
  for (const int descriptor : kept) {
    if (descriptor > STDERR_FILENO) open_ones.push_back(descriptor);
  }
  std::sort(open_ones.begin(), open_ones.end());
  for (size_t i = 0; i < open_ones.size(); ++i) {
    const auto first = static_cast<unsigned>(open_ones[i]) + 1;
    const bool is_last = i + 1 == open_ones.size();
    const unsigned last = is_last ? ~0U : static_cast<unsigned>(open_ones[i + 1]) - 1;
    if (first <= last && close_range(first, last, 0) != 0) return Failed("closing descriptors");
  }
  umask(077);
  return {};
}

Status OnlyThread() {
  std::error_code failed;
  const std::filesystem::directory_iterator threads("/proc/self/task", failed);
  if (!failed && std::distance(begin(threads), end(threads)) == 1) return {};
  return Error{ErrorCode::kInternal,
               "the sandbox is to be entered by a process with one thread and /proc", ""};
}

}  // namespace warpsmith::sandbox
