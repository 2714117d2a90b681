#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "task/scaffold.h"
#include "task/task_file.h"

namespace warpsmith::cli {
namespace {

void PrintJson(const std::string& folder, const task::Scaffold& scaffold) {
  nlohmann::json files = nlohmann::json::array();
  for (const auto& [path, text] : scaffold.files) files.push_back(path);
  PrintDocument("task-init", {{"folder", folder}, {"files", files}, {"notes", scaffold.notes}});
}

void PrintText(const std::string& folder, const task::Scaffold& scaffold) {
  for (const auto& [path, text] : scaffold.files) {
    std::printf("wrote %s/%s\n", folder.c_str(), path.c_str());
  }
  for (const std::string& note : scaffold.notes) std::printf("note: %s\n", note.c_str());
  std::printf(
      "\nSay in %s/reference.py what is right and check the sizes in %s/task.toml, then:\n"
      "  warpsmith task check %s\n"
      "  warpsmith evaluate %s %s/current\n",
      folder.c_str(), folder.c_str(), folder.c_str(), folder.c_str(), folder.c_str());
}

}  // namespace

Result<int> RunTaskInit(const TaskInitOptions& options) {
  const task::ScaffoldInput input = TRY(task::ReadScaffoldInput(options.source, options.function));
  const task::Scaffold scaffold = TRY(task::MakeScaffold(input));
  const std::string folder = options.output.empty() ? input.name : options.output;
  TRY(task::WriteScaffold(scaffold, folder));
  const auto loaded = task::LoadTask(folder);
  if (!loaded.ok()) {
    return Error{ErrorCode::kBadInput, "what was guessed is no task yet: " + loaded.error().message,
                 "correct the files in " + folder};
  }
  if (options.common.json) {
    PrintJson(folder, scaffold);
  } else {
    PrintText(folder, scaffold);
  }
  return 0;
}

}  // namespace warpsmith::cli
