#include "judge/baseline/torch_gemm.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "embedded/torch_script.h"
#include "judge/baseline/gemm_baseline.h"

namespace warpsmith::baseline {
namespace {

using nlohmann::json;

constexpr int kCommandNotFound = 127;  // what a shell, env and our own spawning end with

std::string PythonOf(const TorchOptions& options) {
  if (!options.python.empty()) return options.python;
  const char* named = std::getenv("WARPSMITH_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

Result<TorchTimes> TimesFrom(const JsonReader& row) {
  const std::string layout = TRY(row.At("layout").String());
  const std::string dtype = TRY(row.At("dtype").String());
  return TorchTimes{
      .shape = {.m = TRY(row.At("m").Int()),
                .n = TRY(row.At("n").Int()),
                .k = TRY(row.At("k").Int()),
                .layout = layout == "NN" ? cuda::GemmLayout::kNN : cuda::GemmLayout::kTN,
                .type = dtype == "bf16" ? cuda::HalfType::kBF16 : cuda::HalfType::kF16},
      .device_us = TRY(row.At("device_us").Number()),
      .offline_us = TRY(row.At("offline_us").Number()),
      .server_us = TRY(row.At("server_us").Number())};
}

Error ScriptFailed(const std::string& python, const std::string& what, const std::string& output) {
  return {ErrorCode::kUnavailable,
          "timing torch.matmul with " + python + " " + what + ": " + std::string(LastLine(output)),
          "leave the torch baseline out, or set WARPSMITH_PYTHON to another Python"};
}

}  // namespace

Result<TorchOutcome> ReadTorchAnswer(std::string_view output) {
  const std::string_view line = LastLine(output);
  const json value = TRY(ParseJson("torch_gemm.py's answer", line));
  const JsonReader reader("torch_gemm.py's answer", value);
  if (reader.Has("absent")) return TorchOutcome(TorchAbsent{TRY(reader.At("absent").String())});
  TorchMeasured measured;
  measured.version = TRY(reader.At("torch").String());
  measured.device = TRY(reader.At("device").String());
  const std::vector<JsonReader> rows = TRY(reader.At("rows").Items());
  for (const JsonReader& row : rows) measured.times.push_back(TRY(TimesFrom(row)));
  return TorchOutcome(std::move(measured));
}

Result<TorchOutcome> MeasureTorch(const std::vector<cuda::GemmShape>& shapes,
                                  const TorchOptions& options) {
  json rows = json::array();
  for (const cuda::GemmShape& shape : shapes) {
    rows.push_back({shape.m, shape.n, shape.k, Text(shape.layout), Text(shape.type)});
  }
  const std::string python = PythonOf(options);
  const std::string script(embedded::TorchScript().front().contents);
  ProcessLimits limits;
  limits.wall = options.limit;
  std::vector<std::string> environment;
  if (!options.device_uuid.empty()) {
    environment.push_back("CUDA_VISIBLE_DEVICES=" + options.device_uuid);
  }
  const Result<ProcessOutcome> ran =
      RunProcess({python, "-c", script, JsonText(rows)}, limits, environment);
  if (!ran.ok() || ran->exit_status == kCommandNotFound) {
    return TorchOutcome(TorchAbsent{"no Python to run: " + python});
  }
  if (ran->timed_out) return ScriptFailed(python, "did not end in time", ran->output);
  if (ran->signal != 0 || ran->exit_status != 0) return ScriptFailed(python, "failed", ran->output);
  return ReadTorchAnswer(ran->output);
}

}  // namespace warpsmith::baseline
