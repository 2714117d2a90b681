#include "sandbox/path_rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <string>
#include <system_error>

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHarmlessNodes[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
// Started by the kernel with every program.
constexpr const char* kLoaders[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};

void Append(const std::vector<fs::path>& paths, Access access, std::vector<PathRule>* rules) {
  for (const fs::path& path : paths) {
    std::error_code absent;
    if (path.is_absolute() && fs::exists(path, absent)) {
      rules->push_back({path.lexically_normal(), access});
    }
  }
}

bool Matches(const fs::path& file, const std::string& pattern) {
  const bool whole = pattern.find('/') != std::string::npos;
  return fnmatch(pattern.c_str(), (whole ? file : file.filename()).c_str(), 0) == 0;
}

bool MatchesAny(const fs::path& file, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return Matches(file, pattern); });
}

fs::path Resolved(const fs::path& path) {
  std::error_code failed;
  fs::path resolved = fs::canonical(path, failed);
  return failed ? path : resolved;
}

void FindMatching(const fs::path& root, const std::vector<std::string>& patterns,
                  std::set<fs::path>* found) {
  std::error_code failed;
  if (!fs::is_directory(root, failed)) {
    if (MatchesAny(root, patterns)) found->insert(root);
    return;
  }
  fs::recursive_directory_iterator entries(root, fs::directory_options::skip_permission_denied,
                                           failed);
  for (; !failed && entries != fs::recursive_directory_iterator(); entries.increment(failed)) {
    std::error_code ignored;
    // A link grants nothing itself; what it points to is found where it lies.
    if (entries->is_symlink(ignored) || entries->is_directory(ignored)) continue;
    if (MatchesAny(entries->path(), patterns)) found->insert(entries->path());
  }
}

// What the rules name, without links; devices hold no files.
std::vector<fs::path> RootsOf(const std::vector<PathRule>& rules) {
  std::vector<fs::path> roots;
  for (const PathRule& rule : rules) {
    if (rule.access != Access::kDevice) roots.push_back(Resolved(rule.path));
  }
  return roots;
}

bool LiesUnder(const fs::path& root, const fs::path& file) {
  return std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first == root.end();
}

class Splitter {
 public:
  explicit Splitter(const std::vector<fs::path>& hidden_files)
      : hidden_(hidden_files.begin(), hidden_files.end()) {
    for (const fs::path& file : hidden_files) {
      for (fs::path folder = file.parent_path(); folders_.insert(folder).second;) {
        folder = folder.parent_path();
      }
    }
  }

  void Add(const PathRule& rule) {
    if (hidden_.contains(rule.path)) return;
    if (!folders_.contains(rule.path)) {
      rules.push_back(rule);
      return;
    }
    rules.push_back({rule.path, Access::kList});
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(rule.path, failed)) {
      std::error_code ignored;
      if (!entry.is_symlink(ignored)) Add({entry.path(), rule.access});
    }
  }

  std::vector<PathRule> rules;

 private:
  std::set<fs::path> hidden_, folders_;
};

}  // namespace

std::vector<PathRule> NamedPaths(const Policy& policy) {
  std::vector<PathRule> rules;
  Append(policy.readable, Access::kRead, &rules);
  Append(policy.executable, Access::kExecute, &rules);
  if (policy.allow_processes) {
    Append({std::begin(kLoaders), std::end(kLoaders)}, Access::kExecute, &rules);
  }
  Append(policy.writable, Access::kWrite, &rules);
  Append(policy.devices, Access::kDevice, &rules);
  Append({std::begin(kHarmlessNodes), std::end(kHarmlessNodes)}, Access::kDevice, &rules);
  std::stable_sort(rules.begin(), rules.end(),
                   [](const PathRule& a, const PathRule& b) { return a.path < b.path; });
  return rules;
}

std::vector<fs::path> FilesMatching(const std::vector<PathRule>& rules,
                                    const std::vector<std::string>& patterns) {
  std::set<fs::path> found;
  if (patterns.empty()) return {};
  for (const fs::path& root : RootsOf(rules)) FindMatching(root, patterns, &found);
  return {found.begin(), found.end()};
}

std::vector<fs::path> FilesUnder(const std::vector<PathRule>& rules,
                                 const std::vector<fs::path>& files) {
  const std::vector<fs::path> roots = RootsOf(rules);
  std::set<fs::path> found;
  for (const fs::path& file : files) {
    std::error_code absent;
    const bool is_file = fs::canonical(file, absent) == file && !fs::is_directory(file, absent);
    const auto holds = [&](const fs::path& root) { return LiesUnder(root, file); };
    if (is_file && !absent && std::any_of(roots.begin(), roots.end(), holds)) found.insert(file);
  }
  return {found.begin(), found.end()};
}

std::vector<fs::path> FilesMatching(const Policy& policy,
                                    const std::vector<std::string>& patterns) {
  return FilesMatching(NamedPaths(policy), patterns);
}

std::vector<PathRule> WithoutHidden(const std::vector<PathRule>& rules,
                                    const std::vector<fs::path>& hidden_files) {
  Splitter splitter(hidden_files);
  for (const PathRule& rule : rules) splitter.Add({Resolved(rule.path), rule.access});
  return std::move(splitter.rules);
}

}  // namespace warpsmith::sandbox
