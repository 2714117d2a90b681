#include "core/json_fields.h"
#include "core/serialize.h"
#include "core/serialize_timing.h"

namespace warpsmith {
namespace {

using nlohmann::json;
using namespace json_fields;  // NOLINT(google-build-using-namespace): made for these files

// --- Outcomes. The verdict's "outcome" says the kind; the kind's fields stand beside it.

json ToJson(const CompileFailed& failed) {
  json object{{"reason", Value(failed.reason)}};
  Put(object, "log", failed.log, {});
  Put(object, "timed_out", failed.timed_out, false);
  return object;
}

Result<Outcome> CompileFailedFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"outcome", "evidence", "reason", "log", "timed_out"}));
  CompileFailed failed;
  TRY(Need(json, "reason", failed.reason));
  TRY(Take(json, "log", failed.log));
  TRY(Take(json, "timed_out", failed.timed_out));
  return Outcome(std::move(failed));
}

json ToJson(const Rejected& rejected) {
  return {{"rule", Value(rejected.rule)}, {"detail", Value(rejected.detail)}};
}

Result<Outcome> RejectedFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"outcome", "evidence", "rule", "detail"}));
  Rejected rejected;
  TRY(Need(json, "rule", rejected.rule));
  TRY(Need(json, "detail", rejected.detail));
  return Outcome(std::move(rejected));
}

json ToJson(const RunFailed& failed) {
  return {
      {"call", Value(failed.call)}, {"code", Value(failed.code)}, {"detail", Value(failed.detail)}};
}

Result<Outcome> RunFailedFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"outcome", "evidence", "call", "code", "detail"}));
  RunFailed failed;
  TRY(Need(json, "call", failed.call));
  TRY(Need(json, "code", failed.code));
  TRY(Need(json, "detail", failed.detail));
  return Outcome(std::move(failed));
}

json ToJson(const TimedOut& timed_out) {
  return {{"step", Value(timed_out.step)}, {"limit_ms", timed_out.limit_ms}};
}

Result<Outcome> TimedOutFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"outcome", "evidence", "step", "limit_ms"}));
  TimedOut timed_out;
  TRY(Need(json, "step", timed_out.step));
  TRY(Need(json, "limit_ms", timed_out.limit_ms));
  return Outcome(std::move(timed_out));
}

json ToJson(const Incorrect& incorrect) {
  json object{{"detector", Value(incorrect.detector)}, {"detail", Value(incorrect.detail)}};
  Put(object, "error", incorrect.error, 0.0);
  Put(object, "bound", incorrect.bound, 0.0);
  Put(object, "element", incorrect.element, int64_t{-1});
  return object;
}

Result<Outcome> IncorrectFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"outcome", "evidence", "detector", "detail", "error", "bound", "element"}));
  Incorrect incorrect;
  TRY(Need(json, "detector", incorrect.detector));
  TRY(Need(json, "detail", incorrect.detail));
  TRY(Take(json, "error", incorrect.error));
  TRY(Take(json, "bound", incorrect.bound));
  TRY(Take(json, "element", incorrect.element));
  return Outcome(std::move(incorrect));
}

json ToJson(const Inconclusive& inconclusive) { return {{"reason", Value(inconclusive.reason)}}; }

Result<Outcome> InconclusiveFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"outcome", "evidence", "reason"}));
  Inconclusive inconclusive;
  TRY(Need(json, "reason", inconclusive.reason));
  return Outcome(std::move(inconclusive));
}

json ToJson(const SignedMean& mean) {
  return {{"mean", Value(mean.mean)}, {"interval", Value(mean.interval)}};
}

Status ReadMean(const JsonReader& json, SignedMean& mean) {
  TRY(json.OnlyFields({"mean", "interval"}));
  TRY(Need(json, "mean", mean.mean));
  return Need(json, "interval", mean.interval);
}

json ToJson(const Bias& bias) {
  json object{{"elements", bias.elements},
              {"magnitude", ToJson(bias.magnitude)},
              {"value", ToJson(bias.value)}};
  Put(object, "allowed", bias.allowed, 0.0);
  return object;
}

Result<Bias> BiasFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"elements", "magnitude", "value", "allowed"}));
  Bias bias;
  TRY(Need(json, "elements", bias.elements));
  TRY(ReadMean(json.At("magnitude"), bias.magnitude));
  TRY(ReadMean(json.At("value"), bias.value));
  TRY(Take(json, "allowed", bias.allowed));
  return bias;
}

json ToJson(const RareError& error) {
  return {{"once_in", error.once_in}, {"caught", Value(error.caught)}};
}

Result<RareError> RareErrorFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"once_in", "caught"}));
  RareError error;
  TRY(Need(json, "once_in", error.once_in));
  TRY(Need(json, "caught", error.caught));
  return error;
}

json ToJson(const Correctness& correctness) {
  json object{{"max_deviation", Value(correctness.max_deviation)},
              {"worst_bound_fraction", Value(correctness.worst_bound_fraction)},
              {"outputs_verified", correctness.outputs_verified}};
  Put(object, "deterministic", correctness.deterministic, true);
  Put(object, "detectors", correctness.detectors);
  Put(object, "absent", correctness.absent);
  Put(object, "degenerate", correctness.degenerate, {});
  if (correctness.bias) object["bias"] = ToJson(*correctness.bias);
  for (const RareError& error : correctness.rare_errors) {
    object["rare_errors"].push_back(ToJson(error));
  }
  return object;
}

Result<Correctness> CorrectnessFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"max_deviation", "worst_bound_fraction", "outputs_verified", "deterministic",
                       "detectors", "absent", "degenerate", "bias", "rare_errors"}));
  Correctness correctness;
  TRY(Need(json, "max_deviation", correctness.max_deviation));
  TRY(Need(json, "worst_bound_fraction", correctness.worst_bound_fraction));
  TRY(Need(json, "outputs_verified", correctness.outputs_verified));
  TRY(Take(json, "deterministic", correctness.deterministic));
  TRY(Take(json, "detectors", correctness.detectors));
  TRY(Take(json, "absent", correctness.absent));
  TRY(Take(json, "degenerate", correctness.degenerate));
  if (json.Has("bias")) correctness.bias = TRY(BiasFrom(json.At("bias")));
  if (json.Has("rare_errors")) {
    TRY(ReadList<RareError>(json.At("rare_errors"), correctness.rare_errors, RareErrorFrom));
  }
  return correctness;
}

// Metrics keep their order, so they are pairs and not an object.
json ToJson(const KernelProfile& kernel) {
  json metrics = json::array();
  for (const auto& [name, value] : kernel.metrics) {
    metrics.push_back(json::array({Value(name), Value(value)}));
  }
  return {{"kernel", Value(kernel.kernel)}, {"metrics", std::move(metrics)}};
}

Result<KernelProfile> KernelProfileFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"kernel", "metrics"}));
  KernelProfile kernel;
  TRY(Need(json, "kernel", kernel.kernel));
  for (const JsonReader& item : TRY(ItemsUpTo(json.At("metrics")))) {
    const std::vector<JsonReader> pair = TRY(item.Items());
    if (pair.size() != 2) return item.Bad("a name and a number");
    kernel.metrics.emplace_back(TRY(pair[0].String()), TRY(pair[1].Number()));
  }
  return kernel;
}

json ToJson(const Profile& profile) {
  json object{{"source", Value(profile.source)}, {"kernels", json::array()}};
  for (const KernelProfile& kernel : profile.kernels) object["kernels"].push_back(ToJson(kernel));
  return object;
}

Result<Profile> ProfileFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"source", "kernels"}));
  Profile profile;
  TRY(Need(json, "source", profile.source));
  TRY(ReadList<KernelProfile>(json.At("kernels"), profile.kernels, KernelProfileFrom));
  return profile;
}

json ToJson(const AuditReport& audit) {
  json object{{"tool", Value(audit.tool)}, {"status", Value(audit.status)}};
  Put(object, "detail", audit.detail, {});
  return object;
}

Result<AuditReport> AuditReportFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"tool", "status", "detail"}));
  AuditReport audit;
  TRY(Need(json, "tool", audit.tool));
  TRY(Need(json, "status", audit.status));
  TRY(Take(json, "detail", audit.detail));
  return audit;
}

json ToJson(const Passed& passed) {
  json object{{"level", Value(passed.level)},
              {"correctness", ToJson(passed.correctness)},
              {"timings", json::array()}};
  for (const Timing& timing : passed.timings) object["timings"].push_back(ToJson(timing));
  if (passed.profile) object["profile"] = ToJson(*passed.profile);
  for (const AuditReport& audit : passed.audits) object["audits"].push_back(ToJson(audit));
  return object;
}

Result<Outcome> PassedFrom(const JsonReader& json) {
  TRY(json.OnlyFields(
      {"outcome", "evidence", "level", "correctness", "timings", "profile", "audits"}));
  Passed passed;
  TRY(Need(json, "level", passed.level));
  passed.correctness = TRY(CorrectnessFrom(json.At("correctness")));
  TRY(ReadList<Timing>(json.At("timings"), passed.timings, TimingFrom));
  if (json.Has("profile")) passed.profile = TRY(ProfileFrom(json.At("profile")));
  if (json.Has("audits")) {
    TRY(ReadList<AuditReport>(json.At("audits"), passed.audits, AuditReportFrom));
  }
  return Outcome(std::move(passed));
}

Result<Outcome> OutcomeFrom(const JsonReader& json) {
  const std::string kind = TRY(json.At("outcome").String());
  if (kind == "compile-failed") return CompileFailedFrom(json);
  if (kind == "rejected") return RejectedFrom(json);
  if (kind == "run-failed") return RunFailedFrom(json);
  if (kind == "timed-out") return TimedOutFrom(json);
  if (kind == "incorrect") return IncorrectFrom(json);
  if (kind == "inconclusive") return InconclusiveFrom(json);
  if (kind == "passed") return PassedFrom(json);
  return json.At("outcome").Bad(
      "compile-failed, rejected, run-failed, timed-out, incorrect, inconclusive or passed");
}

json ToJson(const Evidence& evidence) {
  json object = json::object();
  Put(object, "device", evidence.device, {});
  Put(object, "device_uuid", evidence.device_uuid, {});
  Put(object, "driver", evidence.driver, {});
  Put(object, "toolchain", evidence.toolchain, {});
  Put(object, "architecture", evidence.architecture, {});
  Put(object, "artifact_sha256", evidence.artifact_sha256, {});
  Put(object, "baseline_library", evidence.baseline_library, {});
  Put(object, "reference", evidence.reference, {});
  Put(object, "baseline_choice", evidence.baseline_choice, {});
  Put(object, "protocol", evidence.protocol, {});
  Put(object, "sandbox", evidence.sandbox, {});
  Put(object, "date", evidence.date, {});
  if (!evidence.kernels.empty()) object["kernels"] = KernelsToJson(evidence.kernels);
  Put(object, "compile_ms", evidence.compile_ms, 0.0);
  Put(object, "judge_ms", evidence.judge_ms, 0.0);
  return object;
}

Result<Evidence> EvidenceFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"device", "device_uuid", "driver", "toolchain", "architecture",
                       "artifact_sha256", "baseline_library", "reference", "baseline_choice",
                       "protocol", "sandbox", "date", "kernels", "compile_ms", "judge_ms"}));
  Evidence evidence;
  TRY(Take(json, "device", evidence.device));
  TRY(Take(json, "device_uuid", evidence.device_uuid));
  TRY(Take(json, "driver", evidence.driver));
  TRY(Take(json, "toolchain", evidence.toolchain));
  TRY(Take(json, "architecture", evidence.architecture));
  TRY(Take(json, "artifact_sha256", evidence.artifact_sha256));
  TRY(Take(json, "baseline_library", evidence.baseline_library));
  TRY(Take(json, "reference", evidence.reference));
  TRY(Take(json, "baseline_choice", evidence.baseline_choice));
  TRY(Take(json, "protocol", evidence.protocol));
  TRY(Take(json, "sandbox", evidence.sandbox));
  TRY(Take(json, "date", evidence.date));
  if (json.Has("kernels")) {
    TRY(ReadList<KernelResources>(json.At("kernels"), evidence.kernels, KernelResourcesFrom));
  }
  TRY(Take(json, "compile_ms", evidence.compile_ms));
  TRY(Take(json, "judge_ms", evidence.judge_ms));
  return evidence;
}

}  // namespace

json ToJson(const Verdict& verdict) {
  json object = std::visit([](const auto& kind) { return ToJson(kind); }, verdict.outcome);
  object["outcome"] = std::string(OutcomeName(verdict.outcome));
  json evidence = ToJson(verdict.evidence);
  if (!evidence.empty()) object["evidence"] = std::move(evidence);
  return object;
}

Result<Verdict> VerdictFrom(const JsonReader& json) {
  Verdict verdict;
  verdict.outcome = TRY(OutcomeFrom(json));
  if (json.Has("evidence")) verdict.evidence = TRY(EvidenceFrom(json.At("evidence")));
  return verdict;
}

}  // namespace warpsmith
