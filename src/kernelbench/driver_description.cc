#include "kernelbench/driver_description.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "torch/torch_process.h"
#include "util/file.h"
#include "util/json_reader.h"
#include "util/subprocess.h"

namespace warpsmith::kernelbench {
namespace {

using nlohmann::json;

constexpr std::string_view kSource = "what the driver told";

Error Reason(const std::string& text) { return {ErrorCode::kBadInput, text, ""}; }

std::string LastLine(const std::string& output) {
  const size_t end = output.find_last_not_of(" \n");
  if (end == output.npos) return "";
  const std::string text = output.substr(0, end + 1);
  return text.substr(text.rfind('\n') + 1);
}

Result<DriverTensor> TensorFrom(const JsonReader& reader) {
  DriverTensor tensor;
  tensor.row.name = TRY(reader.At("name").String());
  const std::optional<DType> dtype = DTypeFromName(TRY(reader.At("dtype").String()));
  if (!dtype) return reader.At("dtype").Bad("an element type");
  tensor.row.dtype = *dtype;
  for (const JsonReader& extent : TRY(reader.At("shape").Items())) {
    tensor.row.shape.push_back(TRY(extent.IntIn(1, int64_t{1} << 40)));
  }
  tensor.is_output = TRY(reader.At("output").Bool());
  return tensor;
}

Result<DriverArgument> ArgumentFrom(const JsonReader& reader, size_t tensors) {
  DriverArgument argument;
  if (reader.Has("expression")) {
    argument.expression = TRY(reader.At("expression").String());
    if (argument.expression.empty()) return reader.At("expression").Bad("a C++ expression");
    return argument;
  }
  argument.is_array = TRY(reader.At("array").Bool());
  for (const JsonReader& index : TRY(reader.At("tensors").Items())) {
    const int64_t at = TRY(index.IntIn(0, static_cast<int64_t>(tensors) - 1));
    argument.tensors.push_back(static_cast<size_t>(at));
  }
  if (argument.tensors.empty()) return reader.At("tensors").Bad("at least one");
  return argument;
}

// Runs describe.py; its answer is a file, because a driver prints what it likes.
Result<std::string> RunDescribe(std::vector<std::string> arguments, const DescribeLimits& limits) {
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("warpsmith-driver"));
  const std::filesystem::path result = folder.path() / "result.json";
  arguments.insert(
      arguments.begin(),
      {TRY(torch::FindPython()), "-c",
       torch::PeerProgram("from warpsmith_driver.describe import main\nmain(sys.argv[1:])\n"),
       result.string()});
  ProcessLimits process;
  process.wall = limits.wall;
  const ProcessOutcome ran =
      TRY(RunProcess(arguments, process, {"TMPDIR=" + folder.path().string()}));
  if (ran.timed_out) {
    return Reason("compiling and running it did not end within " +
                  std::to_string(limits.wall.count()) + " s");
  }
  if (ran.signal != 0) return Reason(std::string("its main() ends with ") + strsignal(ran.signal));
  std::error_code ignored;
  if (!std::filesystem::exists(result, ignored)) {
    return Reason("its process ended without an answer (status " + std::to_string(ran.exit_status) +
                  "): " + LastLine(ran.output));
  }
  return ReadFile(result);
}

}  // namespace

Result<DriverDescription> ReadDescription(std::string_view text) {
  const json value = TRY(ParseJson(kSource, text));
  const JsonReader reader(std::string(kSource), value);
  if (reader.Has("error")) {
    const std::string error = TRY(reader.At("error").String());
    if (!error.empty()) return Reason(error);
  }
  DriverDescription description;
  for (const JsonReader& item : TRY(reader.At("tensors").Items())) {
    description.tensors.push_back(TRY(TensorFrom(item)));
  }
  for (const JsonReader& item : TRY(reader.At("arguments").Items())) {
    description.arguments.push_back(TRY(ArgumentFrom(item, description.tensors.size())));
  }
  for (const JsonReader& item : TRY(reader.At("comparisons").Items())) {
    description.absolute = std::max(description.absolute, TRY(item.At("absolute").Number()));
    description.relative = std::max(description.relative, TRY(item.At("relative").Number()));
  }
  return description;
}

Status PrecompileHeaders(const std::filesystem::path& folder, const DescribeLimits& limits) {
  const json value =
      TRY(ParseJson(kSource, TRY(RunDescribe({"precompile", folder.string()}, limits))));
  const JsonReader reader(std::string(kSource), value);
  if (reader.Has("error")) {
    return Error{ErrorCode::kUnavailable, TRY(reader.At("error").String()),
                 "drivers need g++, CUDA's headers and a torch with its C++ headers"};
  }
  return {};
}

Result<DriverDescription> Describe(const std::filesystem::path& folder,
                                   const std::filesystem::path& precompiled,
                                   const DescribeLimits& limits) {
  std::vector<std::string> arguments = {"describe", (folder / "driver.cpp").string(),
                                        (folder / "launch.inc").string()};
  if (!precompiled.empty()) arguments.push_back(precompiled.string());
  return ReadDescription(TRY(RunDescribe(std::move(arguments), limits)));
}

}  // namespace warpsmith::kernelbench
