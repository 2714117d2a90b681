#include "report/reproduce/folder.h"

#include "base/file.h"
#include "base/text.h"
#include "embedded/reproduce_script.h"
#include "report/reproduce/parts.h"

namespace warpsmith::reproduce {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBaseline = "baseline.py", kReadme = "README.txt";
constexpr size_t kLongestName = 120;

void AddSupport(bool with_torch, Files& files) {
  for (const EmbeddedFile& file : embedded::ReproduceScript()) {
    if (file.path == kReadme) continue;
    if (file.path != kBaseline) {
      files["support/" + std::string(file.path)] = file.contents;
    } else if (with_torch) {
      files[std::string(kBaseline)] = file.contents;
    }
  }
}

// Python only: a driver's C++ belongs to the judge.
Result<Files> ReferenceFiles(const Task& task) {
  Files python;
  for (const auto& [path, text] : task.reference.sources) {
    if (path.ends_with(".py")) python[path] = text;
  }
  return FilesIn("reference", python);
}

Status MakeExecutable(const fs::path& path) {
  std::error_code failed;
  fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add, failed);
  if (!failed) return {};
  return Error{ErrorCode::kIo, path.string() + ": " + failed.message(), ""};
}

}  // namespace

Result<Files> MakeFolder(const Subject& subject, const Occupancy& occupancy) {
  if (!std::holds_alternative<Passed>(subject.verdict.outcome)) {
    return Error{ErrorCode::kNothingMeasured,
                 Plain(subject.name + ": " + Describe(subject.verdict.outcome)),
                 "only a candidate that passed has a time to reproduce"};
  }
  const Contenders contenders = TRY(ContendersOf(subject, occupancy));
  Files files;
  for (const Contender& contender : contenders.timed) {
    files.insert(contender.sources.begin(), contender.sources.end());
  }
  const bool with_torch = !contenders.callees.empty();
  AddSupport(with_torch, files);
  files["reproduce.cu"] = TRY(SourceText(subject, contenders));
  files["reproduce.sh"] = ScriptText(subject, contenders);
  files["README.txt"] = ReadmeText(subject, contenders);
  if (with_torch) {
    files["baseline.json"] = TRY(BaselineText(subject, contenders));
    files.merge(TRY(ReferenceFiles(subject.task)));
  }
  return files;
}

Status WriteFolder(const fs::path& dir, const Files& files) {
  TRY(CreateDirectories(dir));
  for (const auto& [path, text] : files) {
    TRY(CreateDirectories((dir / path).parent_path()));
    TRY(WriteFileAtomic(dir / path, text));
  }
  return MakeExecutable(dir / "reproduce.sh");
}

std::string FolderName(const std::string& text) {
  const std::string name = PlainText(text.substr(0, kLongestName), "._-", '_');
  const bool only_dots = name.find_first_not_of('.') == std::string::npos;
  return only_dots ? "_" + name : name;
}

}  // namespace warpsmith::reproduce
