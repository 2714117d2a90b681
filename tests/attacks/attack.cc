#include "attack.h"

#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "task/toml_text.h"

namespace warpsmith::attacks {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTargets[] = {"kernel",  "program",    "build", "task",
                                         "profile", "statistics", "screen"};
constexpr std::string_view kOrders[] = {"before", "freed", "after"};
constexpr std::string_view kLevels[] = {"screened", "certified"};

// The value's place among its names; the default where the field is missing.
template <typename Enum, size_t n>
Status TakeEnum(const JsonReader& root, std::string_view field, const std::string_view (&names)[n],
                Enum& value) {
  if (!root.Has(field)) return {};
  const std::string text = TRY(root.At(field).String());
  const auto* found = std::find(std::begin(names), std::end(names), text);
  if (found == std::end(names)) return root.At(field).Bad("one of the words of README.md");
  value = static_cast<Enum>(found - std::begin(names));
  return {};
}

// Paths are relative to the attack's folder; what they name must be there.
Status TakePath(const JsonReader& root, std::string_view field, const fs::path& folder,
                fs::path& path) {
  if (!root.Has(field)) return {};
  path = (folder / TRY(root.At(field).String())).lexically_normal();
  if (!fs::exists(path)) return root.At(field).Bad("a file that is there");
  return {};
}

Status TakePaths(const JsonReader& root, const fs::path& folder, Attack& attack) {
  TRY(TakePath(root, "task", folder, attack.task));
  TRY(TakePath(root, "attack", folder, attack.attack));
  TRY(TakePath(root, "twin", folder, attack.twin));
  attack.twin_task = attack.task;
  return TakePath(root, "twin_task", folder, attack.twin_task);
}

Status TakeNaive(const JsonReader& root, Attack& attack) {
  if (root.Has("naive")) attack.naive = TRY(root.At("naive").String());
  if (root.Has("naive_tolerance"))
    attack.naive_tolerance = TRY(root.At("naive_tolerance").Number());
  return TakeEnum(root, "reference", kOrders, attack.reference);
}

Result<Attack> LoadAttack(const fs::path& folder) {
  const fs::path file = folder / "attack.toml";
  const nlohmann::json json = TRY(task::ReadTomlAsJson(file, "name an attack's folder"));
  const JsonReader root(file.string(), json);
  TRY(root.OnlyFields({"number", "form", "task", "twin_task", "attack", "twin", "expected", "naive",
                       "naive_tolerance", "reference", "level", "needs", "note"}));
  Attack attack;
  attack.name = folder.filename();
  attack.number = static_cast<int>(TRY(root.At("number").IntIn(0, 10'000)));
  TRY(root.At("form").String());
  TRY(TakeEnum(root, "form", kTargets, attack.form));
  TRY(TakeEnum(root, "level", kLevels, attack.level));
  TRY(TakePaths(root, folder, attack));
  TRY(TakeNaive(root, attack));
  for (const JsonReader& item : TRY(root.At("expected").Items())) {
    attack.expected.push_back(TRY(item.String()));
  }
  attack.needs_gpu = TRY(root.At("needs").String()) == "gpu";
  attack.note = TRY(root.At("note").String());
  return attack;
}

}  // namespace

std::string_view Name(Target form) { return kTargets[static_cast<size_t>(form)]; }

Result<std::vector<Attack>> LoadAttacks(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() == "attack.toml") folders.push_back(entry.path().parent_path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<Attack> attacks;
  for (const fs::path& folder : folders) attacks.push_back(TRY(LoadAttack(folder)));
  return attacks;
}

bool IsExpected(const std::string& verdict, const std::vector<std::string>& expected) {
  return std::any_of(expected.begin(), expected.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), verdict.c_str(), FNM_NOESCAPE) == 0;
  });
}

Result<Candidate> LoadCandidate(const fs::path& path) {
  const task::CandidateFile file = TRY(task::CandidateFile::Load(path));
  return file.Make(file.space().points().front());
}

}  // namespace warpsmith::attacks
