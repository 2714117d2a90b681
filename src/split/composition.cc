#include "split/composition.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "core/serialize.h"
#include "embedded/split_scripts.h"
#include "judge/correctness.h"
#include "split/join.h"
#include "torch/torch_process.h"
#include "util/display_text.h"
#include "util/file.h"
#include "util/json_reader.h"
#include "util/subprocess.h"

namespace warpsmith::split {
namespace {

using nlohmann::json;

constexpr const char* kNoRun = "set WARPSMITH_PYTHON to a Python from 3.10 that has torch";

Result<json> TensorJson(const TensorSpec& tensor, const Sizes& sizes) {
  return json{{"dtype", Name(tensor.dtype)},
              {"extents", TRY(Extents(tensor, sizes))},
              {"generator", json_fields::Value(tensor.generator)},
              {"low", TRY(tensor.low.Evaluate(sizes))},
              {"high", TRY(tensor.high.Evaluate(sizes))}};
}

Result<json> WorkloadJson(const Task& whole, const Split& split, const Workload& workload) {
  json tensors = json::object(), bounds = json::array();
  for (const auto& [name, tensor] : ValuesOf(whole, split.parts)) {
    tensors[name] = TRY(TensorJson(tensor, workload.sizes));
  }
  for (const TensorSpec& tensor : whole.tensors) {
    if (tensor.role != Role::kOutput) continue;
    const judge::BoundCoefficients bound = TRY(judge::CoefficientsOf(
        whole.tolerance, tensor.dtype, workload.sizes, judge::MagnitudeKind::kLargestValue));
    bounds.push_back({{"output", tensor.name},
                      {"relative", bound.relative},
                      {"absolute", bound.absolute},
                      {"largest", bound.magnitude}});
  }
  return json{
      {"name", workload.name}, {"sizes", workload.sizes}, {"tensors", tensors}, {"bounds", bounds}};
}

Result<json> RequestOf(const Task& whole, const Split& split, Author author) {
  json parts = json::array(), workloads = json::array();
  for (const Part& part : split.parts) {
    parts.push_back({{"name", part.name}, {"task", ToJson(part.task)}, {"values", part.values}});
  }
  for (const Workload& workload : whole.workloads) {
    workloads.push_back(TRY(WorkloadJson(whole, split, workload)));
  }
  return json{{"strict", author == Author::kModel},
              {"seeds", {1, 2}},
              {"whole", ToJson(whole)},
              {"parts", parts},
              {"workloads", workloads}};
}

std::string LastLine(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return ForTerminal(text.substr(text.rfind('\n') + 1), 300);
}

Result<Proof> ReadAnswer(const std::string& text) {
  const std::string source = "the composition's answer";
  const json value = TRY(ParseJson(source, text));
  const JsonReader reader(source, value);
  if (reader.Has("problem")) {
    return Error{ErrorCode::kBadInput, ForTerminal(TRY(reader.At("problem").String()), 600),
                 ForTerminal(TRY(reader.At("fix").String()), 300)};
  }
  Proof proof;
  proof.worst = TRY(reader.At("worst").Number());
  proof.output = TRY(reader.At("output").String());
  proof.workload = TRY(reader.At("workload").String());
  proof.comparisons = TRY(reader.At("comparisons").Int());
  return proof;
}

Status WriteScripts(const std::filesystem::path& folder) {
  for (const EmbeddedFile& file : embedded::SplitScripts()) {
    const std::string path(file.path);
    TRY(WriteFileAtomic(folder / path.substr(path.rfind('/') + 1), file.contents));
  }
  return {};
}

}  // namespace

Result<Proof> Prove(const Task& whole, const Split& split, Author author,
                    std::chrono::seconds limit) {
  const std::string python = TRY(torch::FindPython());
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("warpsmith-split"));
  const auto request = folder.path() / "request.json", result = folder.path() / "result.json";
  TRY(WriteScripts(folder.path()));
  TRY(WriteFileAtomic(request, TRY(RequestOf(whole, split, author)).dump()));
  ProcessLimits limits;
  limits.wall = limit;
  const ProcessOutcome ran = TRY(RunProcess(
      {python, "-c",
       torch::PeerProgram("import runpy\nsys.path.insert(0, sys.argv[1])\nscript = sys.argv[1] + "
                          "'/compose.py'\nsys.argv = sys.argv[1:]\nrunpy.run_path(script)\n"),
       folder.path().string(), request.string(), result.string()},
      limits, {"CUDA_VISIBLE_DEVICES=", "PYTHONDONTWRITEBYTECODE=1"}));
  if (ran.timed_out) {
    return Error{ErrorCode::kUnavailable,
                 "comparing the parts with the whole did not end within " +
                     std::to_string(limit.count()) + " s",
                 "give it longer: --limit SECONDS"};
  }
  std::error_code ignored;
  if (ran.signal == 0 && ran.exit_status == 0 && std::filesystem::exists(result, ignored)) {
    return ReadAnswer(TRY(ReadFile(result)));
  }
  return Error{ErrorCode::kUnavailable,
               "comparing the parts with the whole with " + python + ": " +
                   (ran.signal != 0 ? std::string(strsignal(ran.signal)) : LastLine(ran.output)),
               kNoRun};
}

}  // namespace warpsmith::split
