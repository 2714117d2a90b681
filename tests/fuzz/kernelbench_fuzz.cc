// What a Python process tells of an imported problem; the first line says which of the two kinds.
// The task that is made of it can be read.
#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "task/kernelbench/task_document.h"
#include "task/task_file.h"
#include "task/toml_text.h"

using namespace warpsmith;

namespace {

const kernelbench::TaskNames kNames{"kernelbench-1a2b3c4d/level1/1_A", "KernelBench level1 #1"};

void MustLoad(const Result<nlohmann::json>& document) {
  if (fuzz::ValueOf(document) == nullptr) return;
  fuzz::WriteInFolder("task.toml", task::TomlText(*document, {"version", "name"}));
  fuzz::WriteInFolder("module.py", "class Model: pass\n");
  fuzz::WriteInFolder("driver.cpp", "int main() {}\n");
  fuzz::WriteInFolder("launch.inc", "\n");
  fuzz::ValueOf(task::LoadTask((fuzz::Folder() / "task.toml").string()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [kind, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  if (kind == "module") {
    const auto inspection = kernelbench::ReadInspection(text);
    if (fuzz::ValueOf(inspection)) {
      MustLoad(kernelbench::ModuleTask(kNames, *inspection, "module.py"));
    }
  } else if (kind == "driver") {
    const auto description = kernelbench::ReadDescription(text);
    if (fuzz::ValueOf(description) == nullptr) return 0;
    kernelbench::LaunchDeclaration declaration;
    for (size_t i = 0; i < description->arguments.size(); ++i) {
      declaration.parameters.push_back({"void*", "argument" + std::to_string(i)});
    }
    MustLoad(kernelbench::DriverTask(kNames, *description, declaration));
  }
  return 0;
}
