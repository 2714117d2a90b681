#include "task/source_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/foreign_file.h"
#include "base/utf8.h"

namespace warpsmith::task {
namespace {

namespace fs = std::filesystem;

// After links are followed.
bool LiesIn(const fs::path& folder, const fs::path& file) {
  std::error_code failed;
  const fs::path inside = fs::weakly_canonical(folder.empty() ? "." : folder, failed);
  if (failed) return false;
  const fs::path target = fs::weakly_canonical(file, failed);
  if (failed) return false;
  const auto [rest, unused] =
      std::mismatch(inside.begin(), inside.end(), target.begin(), target.end());
  return rest == inside.end();
}

}  // namespace

std::filesystem::path FileIn(const std::filesystem::path& path, std::string_view name) {
  std::error_code ignored;  // the read that follows says what is wrong
  return std::filesystem::is_directory(path, ignored) ? path / name : path;
}

Result<std::string> ReadSourceText(const fs::path& file) {
  std::error_code failed;
  const fs::file_status status = fs::status(file, failed);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return Error{ErrorCode::kBadInput, file.string() + ": not a regular file",
                 "name a source file"};
  }
  const uintmax_t bytes = fs::file_size(file, failed);
  if (!failed && bytes > kMaxSourceBytes) {
    return Error{ErrorCode::kBadInput,
                 file.string() + ": " + std::to_string(bytes) + " bytes, at most " +
                     std::to_string(kMaxSourceBytes) + " are taken",
                 "split it, or leave generated tables out of the source"};
  }
  std::string text = TRY(ReadRegularFile(file, kMaxSourceBytes));
  if (!IsUtf8(text)) {
    return Error{ErrorCode::kBadInput, file.string() + ": not UTF-8 text, as sources must be",
                 "convert it, as in: iconv -f latin1 -t utf-8"};
  }
  return text;
}

Result<fs::path> SourceFolder::Inside(const JsonReader& name) const {
  const fs::path relative(TRY(name.String()));
  if (!StaysInside(relative) || !LiesIn(path, path / relative)) {
    return name.Bad("a path inside " + std::string(owner) + " folder");
  }
  return path / relative;
}

Result<std::string> SourceFolder::Read(const JsonReader& name) const {
  return ReadSourceText(TRY(Inside(name)));
}

Result<nlohmann::json> SourceFolder::ReadAll(const JsonReader& list) const {
  nlohmann::json sources = nlohmann::json::object();
  const std::vector<JsonReader> items = TRY(list.Items());
  if (items.empty()) return list.Bad("at least one file");
  for (const JsonReader& item : items) sources[TRY(item.String())] = TRY(Read(item));
  return sources;
}

}  // namespace warpsmith::task
