#include "task/kernelbench/driver_description.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace warpsmith::kernelbench {
namespace {

using nlohmann::json;

constexpr std::string_view kDescriptionSource = "what the driver told";

Result<DriverTensor> DriverTensorFrom(const JsonReader& reader) {
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

}  // namespace

Result<DriverDescription> ReadDescription(std::string_view text) {
  const json value = TRY(ParseJson(kDescriptionSource, text));
  const JsonReader reader(std::string(kDescriptionSource), value);
  if (reader.Has("error")) {
    const std::string error = TRY(reader.At("error").String());
    if (!error.empty()) return BadInput(error);
  }
  DriverDescription description;
  for (const JsonReader& item : TRY(reader.At("tensors").Items())) {
    description.tensors.push_back(TRY(DriverTensorFrom(item)));
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
  const Result<std::string> answer = RunDescribe({"precompile", folder.string()}, limits);
  if (!answer.ok()) {
    return Error{answer.error().code, "precompiling torch's headers: " + answer.error().message,
                 answer.error().fix};
  }
  const json value = TRY(ParseJson(kDescriptionSource, *answer));
  const JsonReader reader(std::string(kDescriptionSource), value);
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
