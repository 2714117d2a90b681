#include "agent/split/parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "agent/split/join.h"
#include "base/json_reader.h"
#include "task/task_file.h"
#include "task/toml_json.h"

namespace warpsmith::split {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct Written {
  std::string whole;
  std::vector<Part> parts;  // without their tasks
};

// It is the name of a folder right here.
bool IsFolderName(const std::string& name) {
  const auto is_plain = [](char c) {
    return c == '-' || c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), is_plain);
}

Result<Part> PartFrom(const JsonReader& reader) {
  TRY(reader.OnlyFields({"name", "tensors"}));
  Part part;
  part.name = TRY(reader.At("name").String());
  if (!IsFolderName(part.name)) {
    return reader.At("name").Bad("the name of a folder here: letters, digits, '-', '_', '.'");
  }
  if (!reader.Has("tensors")) return part;
  for (const auto& [tensor, value] : TRY(reader.At("tensors").Fields())) {
    part.values[tensor] = TRY(value.String());
  }
  return part;
}

Result<Written> ReadWritten(const fs::path& folder) {
  const fs::path path = folder / kPartsFile;
  const json parsed = TRY(task::ReadTomlAsJson(path));
  const JsonReader root(path.string(), parsed);
  TRY(root.OnlyFields({"version", "whole", "parts"}));
  if (TRY(root.At("version").Int()) != 1) {
    return Error{ErrorCode::kVersion, path.string() + ": its version is not 1",
                 "use the program that wrote it, or split the task again"};
  }
  Written written;
  written.whole = TRY(root.At("whole").String());
  std::set<std::string> names;
  for (const JsonReader& item : TRY(root.At("parts").Items())) {
    written.parts.push_back(TRY(PartFrom(item)));
    if (!names.insert(written.parts.back().name).second) {
      return item.At("name").Bad("each part once");
    }
  }
  if (written.parts.size() < 2 || written.parts.size() > kMostParts) {
    return root.At("parts").Bad("2 to " + std::to_string(kMostParts) + " parts");
  }
  return written;
}

// Every tensor of the part has a name in the join; without another it keeps its own.
Status NameValues(const std::string& source, Part& part) {
  std::set<std::string> tensors;
  for (const TensorSpec& tensor : part.task.tensors) {
    tensors.insert(tensor.name);
    part.values.try_emplace(tensor.name, tensor.name);
  }
  for (const auto& [tensor, value] : part.values) {
    if (tensors.contains(tensor)) continue;
    return Error{ErrorCode::kBadInput,
                 source + ": part '" + part.name + "' has no tensor '" + tensor + "'",
                 "name tensors of " + part.name + "/task.toml"};
  }
  return {};
}

}  // namespace

bool IsSplit(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kPartsFile, ignored);
}

Result<std::string> WholeOf(const fs::path& folder) {
  const Written written = TRY(ReadWritten(folder));
  // Not by its text alone: behind a link, ".." is another folder than its name says.
  std::error_code failed;
  const fs::path whole = fs::weakly_canonical(folder / written.whole, failed);
  return (failed ? folder / written.whole : whole).string();
}

Result<Split> LoadSplit(const fs::path& folder, const Task& whole) {
  Written written = TRY(ReadWritten(folder));
  const std::string source = (folder / kPartsFile).string();
  for (Part& part : written.parts) {
    part.task = TRY(task::LoadTask((folder / part.name).string())).task;
    TRY(NameValues(source, part));
  }
  return Split{TRY(Joined(source, whole, std::move(written.parts)))};
}

}  // namespace warpsmith::split
