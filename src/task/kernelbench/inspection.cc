#include "task/kernelbench/inspection.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/json_reader.h"
#include "base/subprocess.h"
#include "embedded/kernelbench_scripts.h"
#include "judge/torch/torch_process.h"

namespace warpsmith::kernelbench {
namespace {

using nlohmann::json;

constexpr std::string_view kSource = "the inspection of a problem";

Result<TensorRow> TensorFrom(const JsonReader& reader) {
  TensorRow row;
  row.name = TRY(reader.At("name").String());
  const std::optional<DType> dtype = DTypeFromName(TRY(reader.At("dtype").String()));
  if (!dtype) return reader.At("dtype").Bad("an element type");
  row.dtype = *dtype;
  for (const JsonReader& extent : TRY(reader.At("shape").Items())) {
    row.shape.push_back(TRY(extent.IntIn(1, int64_t{1} << 40)));
  }
  return row;
}

Result<InputRow> NumberFrom(const JsonReader& reader) {
  InputRow row;
  row.tensor.name = TRY(reader.At("name").String());
  const json& value = *reader.At("value").json();
  if (value.is_boolean()) {
    row.type = "bool";
  } else if (value.is_number_integer()) {
    row.type = "int64_t";
  } else if (value.is_number_float()) {
    row.type = "double";
  } else {
    return reader.At("value").Bad("a number (input " + row.tensor.name + ")");
  }
  row.literal = value.dump();
  return row;
}

Result<std::vector<TensorRow>> TensorsFrom(const JsonReader& list) {
  std::vector<TensorRow> rows;
  for (const JsonReader& item : TRY(list.Items())) rows.push_back(TRY(TensorFrom(item)));
  return rows;
}

Result<ModuleInspection> InspectionFrom(const JsonReader& reader) {
  if (!TRY(reader.At("ok").Bool())) {
    return Error{ErrorCode::kBadInput, TRY(reader.At("reason").String()), ""};
  }
  ModuleInspection inspection;
  for (const JsonReader& item : TRY(reader.At("inputs").Items())) {
    if (item.Has("value")) {
      inspection.inputs.push_back(TRY(NumberFrom(item)));
    } else {
      inspection.inputs.push_back({TRY(TensorFrom(item)), "", ""});
    }
  }
  inspection.parameters = TRY(TensorsFrom(reader.At("parameters")));
  inspection.outputs = TRY(TensorsFrom(reader.At("outputs")));
  inspection.bytes = TRY(reader.At("bytes").Int());
  return inspection;
}

Error ScriptFailed(const std::string& python, const std::string& output) {
  const size_t end = output.find_last_not_of('\n');
  const std::string text = end == output.npos ? "no message" : output.substr(0, end + 1);
  return {ErrorCode::kUnavailable,
          "inspecting the problems with " + python + ": " + text.substr(text.rfind('\n') + 1),
          "set WARPSMITH_PYTHON to a Python from 3.10 that has torch"};
}

ProcessLimits LimitsOf(size_t problems, const InspectionLimits& limits) {
  ProcessLimits process;
  const auto turns = static_cast<int64_t>(problems) / limits.jobs + 1;
  process.wall = std::chrono::seconds(120 + turns * limits.seconds);
  return process;
}

// Runs the script over a list of paths; its answer, a line a problem.
Result<std::string> RunScript(const std::vector<BenchmarkProblem>& problems,
                              const InspectionLimits& limits, std::optional<DType> dtype) {
  const std::string python = TRY(torch::FindPython());
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("warpsmith-inspect"));
  const std::filesystem::path list = folder.path() / "problems", result = folder.path() / "result";
  std::string paths;
  for (const BenchmarkProblem& problem : problems) {
    paths += std::filesystem::absolute(problem.path).string() + "\n";
  }
  TRY(WriteFileAtomic(list, paths));
  const std::string script(embedded::KernelbenchScripts().front().contents);
  std::vector<std::string> command = {python,      "-c",
                                      script,      result.string(),
                                      "--list",    list.string(),
                                      "--jobs",    std::to_string(limits.jobs),
                                      "--seconds", std::to_string(limits.seconds),
                                      "--bytes",   std::to_string(limits.bytes)};
  if (dtype) command.insert(command.end(), {"--dtype", std::string(Name(*dtype))});
  const ProcessOutcome ran = TRY(RunProcess(command, LimitsOf(problems.size(), limits)));
  if (ran.timed_out || ran.signal != 0 || ran.exit_status != 0) {
    return ScriptFailed(python, ran.timed_out ? "it took too long" : ran.output);
  }
  std::error_code ignored;
  if (!std::filesystem::exists(result, ignored)) {
    return ScriptFailed(python, "it ended without an answer");
  }
  return ReadFile(result);
}

}  // namespace

Result<ModuleInspection> ReadInspection(std::string_view line) {
  const json value = TRY(ParseJson(kSource, line));
  return InspectionFrom(JsonReader(std::string(kSource), value));
}

Result<ModuleInspections> Inspect(const std::vector<BenchmarkProblem>& problems,
                                  const InspectionLimits& limits, std::optional<DType> dtype) {
  std::istringstream answer(TRY(RunScript(problems, limits, dtype)));
  std::map<std::string, std::string> lines;  // by path
  for (std::string line; std::getline(answer, line);) {
    const json value = TRY(ParseJson(kSource, line));
    lines[TRY(JsonReader(std::string(kSource), value).At("path").String())] = line;
  }
  ModuleInspections inspections;
  for (const BenchmarkProblem& problem : problems) {
    const auto line = lines.find(std::filesystem::absolute(problem.path).string());
    inspections.emplace(Id(problem), line != lines.end()
                                         ? ReadInspection(line->second)
                                         : Error{ErrorCode::kInternal, "not inspected", ""});
  }
  return inspections;
}

}  // namespace warpsmith::kernelbench
