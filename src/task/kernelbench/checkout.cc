#include "task/kernelbench/checkout.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include "base/foreign_file.h"
#include "task/source_files.h"

namespace warpsmith::kernelbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLevel = "level";

// The number that a text begins with; `rest` becomes what follows.
std::optional<int> TakeNumber(std::string_view& rest) {
  int number = 0;
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (failed != std::errc() || number < 0) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return number;
}

std::optional<int> LevelOf(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::string_view rest = name;
  if (!rest.starts_with(kLevel)) return std::nullopt;
  rest.remove_prefix(kLevel.size());
  const std::optional<int> level = TakeNumber(rest);
  return rest.empty() ? level : std::nullopt;
}

bool Contains(const fs::path& file, std::string_view word) {
  const Result<std::string> text = ReadRegularFile(file, task::kMaxSourceBytes);
  return text.ok() && text->find(word) != std::string::npos;
}

Kind KindOf(const fs::path& entry) {
  return entry.extension() == ".py" ? Kind::kModules : Kind::kDrivers;
}

// What only a set of this kind holds.
bool IsTypical(const fs::path& entry) {
  std::error_code ignored;
  return KindOf(entry) == Kind::kModules ? Contains(entry, "get_inputs")
                                         : fs::exists(entry / "driver.cpp", ignored);
}

std::optional<BenchmarkProblem> ProblemOf(int level, const fs::path& entry) {
  const std::string stem =
      entry.extension() == ".py" ? entry.stem().string() : entry.filename().string();
  std::string_view rest = stem;
  const std::optional<int> number = TakeNumber(rest);
  if (!number || !rest.starts_with('_')) return std::nullopt;
  const size_t last = stem.find_last_not_of('_');
  return BenchmarkProblem{level, *number, stem.substr(0, last + 1), entry};
}

std::vector<fs::path> Entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

struct Entry {
  BenchmarkProblem problem;
  Kind kind;
};

// Whatever is named like a problem and is a folder or a Python file.
std::vector<Entry> Named(const fs::path& root) {
  std::vector<Entry> named;
  for (const fs::path& folder : Entries(root)) {
    const std::optional<int> level = LevelOf(folder);
    if (!level) continue;
    for (const fs::path& path : Entries(folder)) {
      std::error_code ignored;
      if (path.extension() != ".py" && !fs::is_directory(path, ignored)) continue;
      if (const auto problem = ProblemOf(*level, path)) named.push_back({*problem, KindOf(path)});
    }
  }
  return named;
}

// Problems of one kind; the first that is typical of one says which. The others of that kind are
// problems too, so that one that lacks its driver, say, is refused in words and not passed over.
Checkout Read(const fs::path& root) {
  Checkout checkout{Kind::kModules, root, {}};
  const std::vector<Entry> named = Named(root);
  const auto first = std::find_if(named.begin(), named.end(),
                                  [](const Entry& entry) { return IsTypical(entry.problem.path); });
  if (first == named.end()) return checkout;
  checkout.kind = first->kind;
  for (const Entry& entry : named) {
    if (entry.kind == checkout.kind) checkout.problems.push_back(entry.problem);
  }
  std::sort(checkout.problems.begin(), checkout.problems.end(),
            [](const BenchmarkProblem& a, const BenchmarkProblem& b) {
              return std::tie(a.level, a.number, a.name) < std::tie(b.level, b.number, b.name);
            });
  return checkout;
}

}  // namespace

std::string Id(const BenchmarkProblem& problem) {
  return std::string(kLevel) + std::to_string(problem.level) + "/" + problem.name;
}

Result<Checkout> OpenCheckout(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    return Error{ErrorCode::kNoInput, path.string() + ": no such folder",
                 "give the folder of a KernelBench or KernelBench-CUDA checkout"};
  }
  for (const char* inside : {"", "KernelBench", "data/kernelbench-cuda", "kernelbench-cuda"}) {
    Checkout checkout = Read(path / inside);
    if (!checkout.problems.empty()) return checkout;
  }
  return Error{ErrorCode::kBadInput,
               path.string() +
                   ": no task set that is known: no level1/19_ReLU.py with get_inputs() "
                   "(KernelBench), no level1/019_ReLU/driver.cpp (KernelBench-CUDA)",
               "give the folder that holds level1, level2, ..."};
}

bool IsPickedBy(const BenchmarkProblem& problem, std::string_view pattern) {
  const std::string level = std::string(kLevel) + std::to_string(problem.level);
  if (pattern == level || pattern == Id(problem)) return true;
  if (!pattern.starts_with(level + "/")) return false;
  pattern.remove_prefix(level.size() + 1);
  if (TakeNumber(pattern) != problem.number) return false;
  std::string_view rest = problem.name;
  TakeNumber(rest);
  return pattern.empty() || pattern == rest;
}

}  // namespace warpsmith::kernelbench
