#include "agent/split/reply.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "agent/prompts/model_answer.h"
#include "agent/prompts/reply_text.h"
#include "agent/split/parts.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "core/serialize.h"
#include "task/task_rules.h"
#include "task/toml_text.h"

namespace warpsmith::split {
namespace {

using nlohmann::json;
using prompts::BadReply;

constexpr size_t kMostTensors = 64, kMostExpressionBytes = 400, kMostReferenceBytes = 64 << 10;
constexpr const char* kSource = "the reply";

struct Blocks {
  std::string parts;                    // the JSON
  std::vector<std::string> references;  // in the parts' order
};

Result<Blocks> BlocksIn(std::string_view reply) {
  const std::string clean = TRY(prompts::CleanReply(reply));
  Blocks found;
  for (const prompts::Block& block : prompts::CutBlocks(clean)) {
    if (!block.fenced) continue;
    if (!block.closed) return BadReply("the reply ends inside a block");
    const bool is_json =
        block.text.find("\"parts\"") != std::string::npos && Trimmed(block.text).starts_with('{');
    if (is_json) {
      if (!found.parts.empty()) return BadReply("the reply names its parts twice");
      found.parts = block.text;
    } else if (block.text.find("def reference") != std::string::npos) {
      found.references.push_back(block.text);
    }
  }
  if (found.parts.empty()) return BadReply("the reply has no JSON object with \"parts\"");
  return found;
}

// What is known of tensors by name: the whole's, and outputs of parts so far.
using Known = std::map<std::string, json>;

Known WholeTensors(const Task& whole) {
  Known known;
  const json written = ToJson(whole);
  for (const json& tensor : written.at("tensors")) known[tensor.at("name")] = tensor;
  return known;
}

Result<std::string> ExpressionText(const JsonReader& reader) {
  const json& value = *reader.json();
  const std::string text = value.is_number_integer() ? JsonText(value) : TRY(reader.String());
  const bool is_good = text.size() <= kMostExpressionBytes && Expression::Parse(text).ok();
  if (!is_good) return reader.Bad("an expression over the task's sizes");
  return text;
}

Result<std::string> TensorName(const JsonReader& reader, const Known& known) {
  std::string name = TRY(reader.At("name").String());
  if (known.contains(name) || (name.size() <= 64 && IsIdentifier(name))) return name;
  return reader.At("name").Bad("a name of letters, digits and '_'");
}

Result<json> NewTensor(const JsonReader& reader, const std::string& name) {
  const auto dtype = DTypeFromName(TRY(reader.At("dtype").String()));
  if (!dtype.has_value()) return reader.At("dtype").Bad("a type: f16, bf16, f32, f64, i8, ...");
  json shape = json::array();
  for (const JsonReader& extent : TRY(reader.At("shape").Items())) {
    shape.push_back(TRY(ExpressionText(extent)));
  }
  return json{{"name", name}, {"dtype", Name(*dtype)}, {"shape", shape}};
}

Status TakeGenerator(const JsonReader& reader, json& tensor) {
  if (!reader.Has("generator")) return {};
  static const std::set<std::string> kKnown = {"normal", "uniform", "unit", "integers"};
  const std::string generator = TRY(reader.At("generator").String());
  if (!kKnown.contains(generator)) {
    return reader.At("generator").Bad("normal, uniform, unit or integers");
  }
  tensor["generator"] = generator;
  for (const char* field : {"low", "high"}) {
    if (reader.Has(field)) tensor[field] = TRY(ExpressionText(reader.At(field)));
  }
  return {};
}

// `known` holds tensors of the whole, and of parts that come before.
Result<json> InputFrom(const JsonReader& reader, const Known& known) {
  TRY(reader.OnlyFields({"name", "dtype", "shape", "generator", "low", "high"}));
  const std::string name = TRY(TensorName(reader, known));
  const auto found = known.find(name);
  if (found == known.end()) {
    return reader.At("name").Bad("a tensor of the whole, or an output of an earlier part");
  }
  json tensor = found->second;
  const bool is_drawn_elsewhere = tensor.value("generator", "") == "reference";
  if (tensor.value("role", "") != "input" || is_drawn_elsewhere) {
    tensor.erase("generator");
    TRY(TakeGenerator(reader, tensor));
  }
  tensor["role"] = "input";
  return tensor;
}

Result<json> OutputFrom(const JsonReader& reader, Known& known) {
  TRY(reader.OnlyFields({"name", "dtype", "shape"}));
  const std::string name = TRY(TensorName(reader, known));
  const auto found = known.find(name);
  json tensor = found != known.end() ? found->second : TRY(NewTensor(reader, name));
  tensor["role"] = "output";
  known[name] = tensor;
  return tensor;
}

Result<json> TensorsFrom(const JsonReader& part, Known& known) {
  json tensors = json::array();
  std::set<std::string> names;
  const auto add = [&](const JsonReader& item, json tensor) -> Status {
    if (!names.insert(tensor.at("name").get<std::string>()).second) {
      return item.At("name").Bad("each tensor of a part once");
    }
    tensors.push_back(std::move(tensor));
    return {};
  };
  for (const JsonReader& item : TRY(part.At("inputs").Items())) {
    TRY(add(item, TRY(InputFrom(item, known))));
  }
  for (const JsonReader& item : TRY(part.At("outputs").Items())) {
    TRY(add(item, TRY(OutputFrom(item, known))));
  }
  if (tensors.size() > kMostTensors) return part.Bad("fewer tensors");
  return tensors;
}

json BaselinesOf(const Task& whole) {
  json baselines = json::array();
  for (const std::string& name : whole.baselines) {
    if (name.starts_with("torch") && task::IsBuiltInBaseline(name)) baselines.push_back(name);
  }
  if (baselines.empty()) baselines.push_back("torch-best");
  return baselines;
}

Result<json> TaskDocument(const JsonReader& part, const std::string& title, const Task& whole,
                          const json& tensors) {
  const json written = ToJson(whole);
  json reference = {{"kind", "torch"}, {"source", "reference.py"}, {"style", "function"}};
  for (const char* name : {"precision", "outputs"}) {
    const auto option = whole.reference.options.find(name);
    if (option != whole.reference.options.end()) reference["options"][name] = option->second;
  }
  json document = {{"version", 1},
                   {"name", title},
                   {"origin", "a part of " + whole.name},
                   {"baselines", BaselinesOf(whole)},
                   {"tensors", tensors},
                   {"reference", reference},
                   {"tolerance", written.at("tolerance")},
                   {"workloads", written.at("workloads")}};
  if (!whole.precision.empty()) document["precision"] = whole.precision;
  if (part.Has("flops")) document["flops"] = TRY(ExpressionText(part.At("flops")));
  if (!part.Has("reduction_length")) return document;
  // Not inside of the braces: what is built of them is lost where TRY returns.
  const std::string length = TRY(ExpressionText(part.At("reduction_length")));
  document["tolerance"] = {{"reduction_length", length}};
  return document;
}

Result<std::string> TitleOf(const JsonReader& part, const Task& whole) {
  const std::string name = TRY(part.At("name").String());
  if (!prompts::IsStateName(name)) {
    return part.At("name").Bad("a part's name: lower-case letters, digits, hyphens, at most 40");
  }
  return whole.name + "-" + name;
}

json LineOf(const std::string& folder, const json& tensors) {
  json names = json::object();
  for (const json& tensor : tensors) names[tensor.at("name")] = tensor.at("name");
  return {{"name", folder}, {"tensors", names}};
}

Result<std::map<std::string, std::string>> FilesOf(const JsonReader& root, const Blocks& blocks,
                                                   const Task& whole,
                                                   const std::string& whole_path) {
  std::map<std::string, std::string> files;
  Known known = WholeTensors(whole);
  json lines = json::array();
  std::set<std::string> titles;
  for (const JsonReader& part : TRY(root.At("parts").Items())) {
    TRY(part.OnlyFields({"name", "inputs", "outputs", "reduction_length", "flops"}));
    const std::string title = TRY(TitleOf(part, whole));
    if (!titles.insert(title).second) return part.At("name").Bad("each part once");
    const json tensors = TRY(TensorsFrom(part, known));
    const std::string folder = "part-" + std::to_string(lines.size() + 1);
    const json document = TRY(TaskDocument(part, title, whole, tensors));
    files[folder + "/task.toml"] =
        task::TomlText(document, {"version", "name", "origin", "tensors", "baselines"});
    files[folder + "/reference.py"] = blocks.references.at(lines.size());
    lines.push_back(LineOf(folder, tensors));
  }
  const json document = {{"version", 1}, {"whole", whole_path}, {"parts", lines}};
  files[kPartsFile] = task::TomlText(document, {"version", "whole", "parts"});
  return files;
}

}  // namespace

Result<std::map<std::string, std::string>> FilesFrom(std::string_view reply, const Task& whole,
                                                     const std::string& whole_path) {
  const Blocks blocks = TRY(BlocksIn(reply));
  const auto parsed = ParseJson(kSource, blocks.parts);
  if (!parsed.ok()) return BadReply(parsed.error().message);
  const JsonReader root(kSource, *parsed);
  const auto parts = root.At("parts").Items();
  if (!parts.ok()) return BadReply(parts.error().message);
  if (parts->size() < 2 || parts->size() > kMostParts) {
    return BadReply("the reply has " + std::to_string(parts->size()) + " parts; it must be 2 to " +
                    std::to_string(kMostParts));
  }
  if (blocks.references.size() != parts->size()) {
    return BadReply("the reply has " + std::to_string(parts->size()) + " parts and " +
                    std::to_string(blocks.references.size()) +
                    " Python blocks with a def reference");
  }
  for (const std::string& text : blocks.references) {
    if (text.size() > kMostReferenceBytes) return BadReply("a reference is too long");
  }
  auto files = FilesOf(root, blocks, whole, whole_path);
  if (!files.ok()) return BadReply(files.error().message);
  return files;
}

}  // namespace warpsmith::split
