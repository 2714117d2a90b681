#include "agent/split/parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/json_reader.h"
#include "base/text.h"
#include "task/task_file.h"
#include "task/toml_text.h"

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
  return name.size() <= 64 && !name.starts_with('.') && IsMadeOf(name, "-_.");
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
  const json parsed = TRY(
      task::ReadTomlAsJson(path, "name a folder that 'warpsmith task split TASK --into DIR' made"));
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

Result<std::vector<Part>> LoadSplit(const fs::path& folder, const Task& whole) {
  Written written = TRY(ReadWritten(folder));
  const std::string source = (folder / kPartsFile).string();
  for (Part& part : written.parts) {
    part.task = TRY(task::LoadTask((folder / part.name).string())).task;
    TRY(NameValues(source, part));
  }
  return Joined(source, whole, std::move(written.parts));
}

namespace {

struct Complaint {
  const std::string& source;
  Error operator()(const std::string& what, const std::string& fix) const {
    return {ErrorCode::kBadInput, source + ": " + what, fix};
  }
};

std::string Quoted(const std::string& name) { return "'" + name + "'"; }

std::string StyleOf(const Task& task) {
  const auto style = task.reference.options.find("style");
  return style == task.reference.options.end() ? "" : style->second;
}

Status CheckReferences(const Complaint& complain, const Task& whole,
                       const std::vector<Part>& parts) {
  if (whole.reference.kind != "torch") {
    return complain("the whole's reference is of kind " + Quoted(whole.reference.kind),
                    "split tasks whose reference is PyTorch");
  }
  for (const Part& part : parts) {
    if (part.task.reference.kind == "torch" && StyleOf(part.task) == "function") continue;
    return complain("the reference of part " + Quoted(part.name) + " is no PyTorch function",
                    "write def reference(...) with kind = \"torch\" and style = \"function\"");
  }
  return {};
}

bool HasWorkload(const Task& task, const Workload& wanted) {
  return std::any_of(task.workloads.begin(), task.workloads.end(), [&](const Workload& one) {
    return one.name == wanted.name && one.sizes == wanted.sizes && one.hidden == wanted.hidden;
  });
}

Status CheckWorkloads(const Complaint& complain, const Task& whole,
                      const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    const bool same_count = part.task.workloads.size() == whole.workloads.size();
    const bool has_all =
        std::all_of(whole.workloads.begin(), whole.workloads.end(),
                    [&](const Workload& one) { return HasWorkload(part.task, one); });
    if (same_count && has_all) continue;
    return complain("the workloads of part " + Quoted(part.name) + " are not the whole's",
                    "copy the whole's [[workloads]], hidden ones too");
  }
  return {};
}

// By name: who makes a tensor (-1: it is an input of the whole).
using Makers = std::map<std::string, int>;

Result<Makers> MakersOf(const Complaint& complain, const Task& whole,
                        const std::vector<Part>& parts) {
  Makers makers;
  for (const TensorSpec& tensor : whole.tensors) {
    if (tensor.role == Role::kInput) makers[tensor.name] = -1;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const TensorSpec& tensor : parts[i].task.tensors) {
      if (tensor.role == Role::kInput) continue;
      const std::string& value = parts[i].values.at(tensor.name);
      const auto [known, is_new] = makers.emplace(value, static_cast<int>(i));
      if (is_new) continue;
      return complain("part " + Quoted(parts[i].name) + " makes " + Quoted(value) + ", which " +
                          (known->second < 0
                               ? "is an input of the whole"
                               : "part " + Quoted(parts[static_cast<size_t>(known->second)].name) +
                                     " makes, too"),
                      "give it a name of its own");
    }
  }
  return makers;
}

Status CheckUses(const Complaint& complain, const Task& whole, const std::vector<Part>& parts,
                 const Makers& makers) {
  std::set<std::string> wanted;
  for (const TensorSpec& tensor : whole.tensors) {
    if (tensor.role != Role::kOutput) continue;
    wanted.insert(tensor.name);
    if (makers.contains(tensor.name)) continue;
    return complain("no part makes the whole's output " + Quoted(tensor.name),
                    "name the tensor of the part that makes it so");
  }
  for (const Part& part : parts) {
    for (const TensorSpec& tensor : part.task.tensors) {
      if (tensor.role != Role::kInput) continue;
      const std::string& value = part.values.at(tensor.name);
      wanted.insert(value);
      if (makers.contains(value)) continue;
      return complain("part " + Quoted(part.name) + " reads " + Quoted(value) +
                          ", which is no input of the whole and which no part makes",
                      "name an input of the whole, or an output of another part");
    }
  }
  for (const auto& [value, maker] : makers) {
    if (maker < 0 || wanted.contains(value)) continue;
    return complain("nobody reads " + Quoted(value) + ", which part " +
                        Quoted(parts[static_cast<size_t>(maker)].name) + " makes",
                    "take it away, or read it");
  }
  return {};
}

std::string Shape(const std::vector<int64_t>& extents) {
  std::string text;
  for (const int64_t extent : extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

Status CheckSame(const Complaint& complain, const Part& part, const TensorSpec& tensor,
                 const TensorSpec& made, const Workload& workload) {
  const std::string where = "part " + Quoted(part.name) + ": " + Quoted(tensor.name);
  if (tensor.dtype != made.dtype) {
    return complain(where + " is " + std::string(Name(tensor.dtype)) + ", and " +
                        std::string(Name(made.dtype)) + " where it comes from",
                    "give it one type");
  }
  const auto here = TRY(Extents(tensor, workload.sizes));
  const auto there = TRY(Extents(made, workload.sizes));
  if (here == there) return {};
  return complain(where + " is " + Shape(here) + " on workload " + Quoted(workload.name) +
                      ", and " + Shape(there) + " where it comes from",
                  "give it one shape");
}

Status CheckTensors(const Complaint& complain, const Task& whole, const std::vector<Part>& parts) {
  const std::map<std::string, TensorSpec> values = ValuesOf(whole, parts);
  for (const Workload& workload : whole.workloads) {
    for (const Part& part : parts) {
      for (const TensorSpec& tensor : part.task.tensors) {
        TRY(CheckSame(complain, part, tensor, values.at(part.values.at(tensor.name)), workload));
      }
    }
  }
  return {};
}

bool IsReady(const Part& part, const Makers& makers, const std::set<int>& done) {
  return std::all_of(part.task.tensors.begin(), part.task.tensors.end(),
                     [&](const TensorSpec& tensor) {
                       const int maker = makers.at(part.values.at(tensor.name));
                       return tensor.role == Role::kOutput || maker < 0 || done.contains(maker);
                     });
}

Result<std::vector<Part>> InOrder(const Complaint& complain, std::vector<Part> parts,
                                  const Makers& makers) {
  std::vector<Part> ordered;
  std::set<int> done;
  while (done.size() < parts.size()) {
    const size_t before = done.size();
    std::string waiting;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (done.contains(static_cast<int>(i))) continue;
      if (IsReady(parts[i], makers, done)) {
        done.insert(static_cast<int>(i));
        ordered.push_back(parts[i]);
      } else {
        waiting += (waiting.empty() ? "" : ", ") + Quoted(parts[i].name);
      }
    }
    if (done.size() > before) continue;
    return complain("the parts wait for each other in a circle: " + waiting,
                    "let no part read what comes of its own outputs");
  }
  return ordered;
}

}  // namespace

std::map<std::string, TensorSpec> ValuesOf(const Task& whole, const std::vector<Part>& parts) {
  std::map<std::string, TensorSpec> values;
  for (const TensorSpec& tensor : whole.tensors) values.emplace(tensor.name, tensor);
  for (const Part& part : parts) {
    for (const TensorSpec& tensor : part.task.tensors) {
      if (tensor.role == Role::kOutput) values.emplace(part.values.at(tensor.name), tensor);
    }
  }
  return values;
}

Result<std::vector<Part>> Joined(const std::string& source, const Task& whole,
                                 std::vector<Part> parts) {
  const Complaint complain{source};
  TRY(CheckReferences(complain, whole, parts));
  TRY(CheckWorkloads(complain, whole, parts));
  const Makers makers = TRY(MakersOf(complain, whole, parts));
  TRY(CheckUses(complain, whole, parts, makers));
  TRY(CheckTensors(complain, whole, parts));
  return InOrder(complain, std::move(parts), makers);
}

}  // namespace warpsmith::split
