// The fields of the values, each listed once: see core/field_list.h. The order does not matter.
// A field that was added later is Optional, so that older files stay readable.
#ifndef WARPSMITH_CORE_FIELDS_H_
#define WARPSMITH_CORE_FIELDS_H_

#include <string_view>
#include <tuple>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/artifact.h"
#include "core/candidate.h"
#include "core/chat_model.h"
#include "core/device.h"
#include "core/field_list.h"
#include "core/launch_plan.h"
#include "core/protocol.h"
#include "core/space.h"
#include "core/step.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith {

// --- Launch plan.

constexpr auto FieldsOf(const TensorMapArgument*) {
  using T = TensorMapArgument;
  return std::tuple(
      Needed("tensor_map", &T::tensor, Kind::kName), Needed("dtype", &T::dtype),
      Needed("dims", &T::dims), Needed("strides_bytes", &T::strides_bytes), Needed("box", &T::box),
      Written("element_strides", &T::element_strides), Optional("swizzle", &T::swizzle),
      Optional("interleave_bytes", &T::interleave_bytes),
      Optional("l2_promotion_bytes", &T::l2_promotion_bytes), Optional("fill_nan", &T::fill_nan));
}
Status Finish(const JsonReader& json, TensorMapArgument& map);

constexpr std::string_view TagOf(const LaunchOperation*) { return "launch"; }
constexpr auto FieldsOf(const LaunchOperation*) {
  using T = LaunchOperation;
  return std::tuple(
      Needed("kernel", &T::kernel, Kind::kName), Needed("grid", &T::grid),
      Needed("block", &T::block), Optional("cluster", &T::cluster),
      Optional("shared_bytes", &T::shared_bytes), Optional("cooperative", &T::cooperative),
      Optional("programmatic", &T::programmatic),
      Optional("nonportable_cluster", &T::nonportable_cluster), Needed("arguments", &T::arguments));
}
Status Finish(const JsonReader& json, LaunchOperation& launch);

constexpr std::string_view TagOf(const MemsetOperation*) { return "memset"; }
constexpr auto FieldsOf(const MemsetOperation*) {
  using T = MemsetOperation;
  return std::tuple(Needed("target", &T::target, Kind::kName), Written("value", &T::value),
                    Needed("bytes", &T::bytes));
}

constexpr std::string_view TagOf(const CopyOperation*) { return "copy"; }
constexpr auto FieldsOf(const CopyOperation*) {
  using T = CopyOperation;
  return std::tuple(Needed("target", &T::target, Kind::kName),
                    Needed("source", &T::source, Kind::kName), Needed("bytes", &T::bytes));
}

constexpr std::string_view TagOf(const PadOperation*) { return "pad"; }
constexpr auto FieldsOf(const PadOperation*) {
  using T = PadOperation;
  return std::tuple(
      Needed("target", &T::target, Kind::kName), Needed("source", &T::source, Kind::kName),
      Needed("rows", &T::rows), Needed("width_bytes", &T::width_bytes),
      Needed("source_pitch_bytes", &T::source_pitch_bytes), Needed("target_rows", &T::target_rows),
      Needed("target_pitch_bytes", &T::target_pitch_bytes));
}

constexpr auto FieldsOf(const Workspace*) {
  using T = Workspace;
  return std::tuple(Needed("name", &T::name, Kind::kName), Needed("bytes", &T::bytes),
                    Optional("zero", &T::zero));
}

constexpr Format FormatOf(const LaunchPlan*) { return {kLaunchPlanVersion, "a launch plan"}; }
constexpr auto FieldsOf(const LaunchPlan*) {
  using T = LaunchPlan;
  return std::tuple(Optional("valid_when", &T::valid_when), Optional("workspaces", &T::workspaces),
                    Needed("operations", &T::operations));
}
Status Finish(const JsonReader& json, LaunchPlan& plan);

// --- Candidate and artifact.

constexpr auto FieldsOf(const SamplingParameters*) {
  using T = SamplingParameters;
  return std::tuple(Needed("model", &T::model), Needed("temperature", &T::temperature),
                    Needed("top_p", &T::top_p), Optional("seed", &T::seed, Kind::kSigned));
}

constexpr auto FieldsOf(const Provenance*) {
  using T = Provenance;
  return std::tuple(Optional("parent", &T::parent), Optional("proposer", &T::proposer),
                    Optional("group", &T::group), Optional("technique", &T::technique),
                    Optional("family", &T::family), Optional("config", &T::config),
                    Optional("prompt_sha256", &T::prompt_sha256),
                    Optional("sample_id", &T::sample_id), Optional("logprob_sum", &T::logprob_sum),
                    Optional("sampling", &T::sampling));
}

constexpr Format FormatOf(const Candidate*) { return {1, "a candidate"}; }
constexpr auto FieldsOf(const Candidate*) {
  using T = Candidate;
  return std::tuple(Needed("sources", &T::sources), Optional("form", &T::form),
                    Needed("entry", &T::entry), Optional("toolchain", &T::toolchain),
                    Optional("flags", &T::flags), Needed("plan", &T::plan),
                    Optional("provenance", &T::provenance));
}
Status Finish(const JsonReader& json, Candidate& candidate);

constexpr auto FieldsOf(const KernelResources*) {
  using T = KernelResources;
  return std::tuple(Needed("name", &T::name), Needed("registers", &T::registers_per_thread),
                    Optional("static_shared_bytes", &T::static_shared_bytes),
                    Optional("stack_bytes", &T::stack_bytes),
                    Optional("spill_store_bytes", &T::spill_store_bytes),
                    Optional("spill_load_bytes", &T::spill_load_bytes));
}

constexpr size_t UnlistedOf(const Artifact*) { return 1; }  // the image's bytes
constexpr auto FieldsOf(const Artifact*) {
  using T = Artifact;
  return std::tuple(Needed("image_sha256", &T::image_sha256),
                    Needed("architecture", &T::architecture), Needed("toolchain", &T::toolchain),
                    Needed("kernels", &T::kernels),
                    Optional("writable_global_bytes", &T::writable_global_bytes),
                    Optional("opcodes", &T::opcodes), Optional("warnings", &T::warnings),
                    Optional("log", &T::log), Optional("compile_ms", &T::compile_ms),
                    Optional("from_cache", &T::from_cache));
}

// --- Task.

constexpr auto FieldsOf(const TensorSpec*) {
  using T = TensorSpec;
  return std::tuple(Needed("name", &T::name, Kind::kName), Needed("dtype", &T::dtype),
                    Needed("role", &T::role), Needed("shape", &T::shape),
                    Optional("generator", &T::generator), Optional("low", &T::low),
                    Optional("high", &T::high));
}
Status Finish(const JsonReader& json, TensorSpec& tensor);

constexpr auto FieldsOf(const ReferenceSpec*) {
  using T = ReferenceSpec;
  return std::tuple(Needed("kind", &T::kind), Optional("options", &T::options),
                    Optional("sources", &T::sources), Optional("plan", &T::plan));
}

constexpr auto FieldsOf(const Tolerance*) {
  using T = Tolerance;
  return std::tuple(Optional("reduction_length", &T::reduction_length),
                    Optional("accumulate", &T::accumulate), Optional("absolute", &T::absolute),
                    Optional("relative", &T::relative), Optional("reason", &T::reason));
}
Status Finish(const JsonReader& json, Tolerance& tolerance);

constexpr auto FieldsOf(const Workload*) {
  using T = Workload;
  return std::tuple(Needed("name", &T::name), Needed("sizes", &T::sizes),
                    Optional("weight", &T::weight), Optional("hidden", &T::hidden));
}
Status Finish(const JsonReader& json, Workload& workload);

constexpr auto FieldsOf(const ProgramEntry*) {
  using T = ProgramEntry;
  return std::tuple(Needed("declaration", &T::declaration), Needed("arguments", &T::arguments));
}

constexpr auto FieldsOf(const Rival*) {
  using T = Rival;
  return std::tuple(Needed("name", &T::name, Kind::kName), Needed("candidate", &T::candidate));
}

constexpr Format FormatOf(const Task*) { return {1, "a task"}; }
constexpr auto FieldsOf(const Task*) {
  using T = Task;
  return std::tuple(Needed("name", &T::name), Optional("tensors", &T::tensors),
                    Needed("reference", &T::reference), Needed("tolerance", &T::tolerance),
                    Optional("workloads", &T::workloads), Optional("baselines", &T::baselines),
                    Optional("forms", &T::forms), Optional("flops", &T::flops),
                    Optional("program", &T::program), Optional("rivals", &T::rivals),
                    Optional("allow", &T::allow), Optional("precision", &T::precision),
                    Optional("origin", &T::origin), Optional("headline", &T::headline));
}
Status Finish(const JsonReader& json, Task& task);

// --- Protocol, device.

constexpr Format FormatOf(const Protocol*) { return {kJudgeProtocolVersion, "a judge protocol"}; }
constexpr auto FieldsOf(const Protocol*) {
  using T = Protocol;
  return std::tuple(
      Needed("level", &T::level), Needed("modes", &T::modes), Needed("rounds", &T::rounds),
      Needed("samples_per_round", &T::samples_per_round),
      Needed("runner_processes", &T::runner_processes),
      Optional("renew_contents", &T::renew_contents),
      Optional("every_baseline", &T::every_baseline), Needed("confidence", &T::confidence),
      Needed("band", &T::band), Optional("target_half_width", &T::target_half_width),
      Needed("max_rounds", &T::max_rounds), Optional("warmup_seconds", &T::warmup_seconds),
      Optional("measure_seconds", &T::measure_seconds),
      Needed("step_timeout_ms", &T::step_timeout_ms));
}
Status Finish(const JsonReader& json, Protocol& protocol);

constexpr auto FieldsOf(const DeviceInfo*) {
  using T = DeviceInfo;
  return std::tuple(
      Needed("name", &T::name), Needed("uuid", &T::uuid), Needed("driver", &T::driver),
      Needed("architecture", &T::architecture), Needed("sm_count", &T::sm_count),
      Needed("max_shared_bytes_per_block", &T::max_shared_bytes_per_block),
      Needed("l2_bytes", &T::l2_bytes), Needed("memory_bytes", &T::memory_bytes),
      Needed("max_sm_mhz", &T::max_sm_mhz), Needed("hbm_bytes_per_s", &T::hbm_bytes_per_s),
      Needed("l2_bytes_per_s", &T::l2_bytes_per_s),
      Needed("tensor_f16_flops", &T::tensor_f16_flops),
      Optional("needs_artifacts", &T::needs_artifacts), Optional("origin", &T::origin));
}

// --- Verdict.

constexpr std::string_view TagOf(const CompileFailed*) { return "compile-failed"; }
constexpr auto FieldsOf(const CompileFailed*) {
  using T = CompileFailed;
  return std::tuple(Needed("reason", &T::reason), Optional("log", &T::log),
                    Optional("timed_out", &T::timed_out));
}

constexpr std::string_view TagOf(const Rejected*) { return "rejected"; }
constexpr auto FieldsOf(const Rejected*) {
  return std::tuple(Needed("rule", &Rejected::rule), Needed("detail", &Rejected::detail));
}

constexpr std::string_view TagOf(const RunFailed*) { return "run-failed"; }
constexpr auto FieldsOf(const RunFailed*) {
  using T = RunFailed;
  return std::tuple(Needed("call", &T::call), Needed("code", &T::code),
                    Needed("detail", &T::detail));
}

constexpr std::string_view TagOf(const TimedOut*) { return "timed-out"; }
constexpr auto FieldsOf(const TimedOut*) {
  return std::tuple(Needed("step", &TimedOut::step), Needed("limit_ms", &TimedOut::limit_ms));
}

constexpr std::string_view TagOf(const Incorrect*) { return "incorrect"; }
constexpr auto FieldsOf(const Incorrect*) {
  using T = Incorrect;
  return std::tuple(Needed("detector", &T::detector), Needed("detail", &T::detail),
                    Optional("error", &T::error), Optional("bound", &T::bound),
                    Optional("element", &T::element));
}

constexpr std::string_view TagOf(const Inconclusive*) { return "inconclusive"; }
constexpr auto FieldsOf(const Inconclusive*) {
  return std::tuple(Needed("reason", &Inconclusive::reason));
}

constexpr auto FieldsOf(const Estimate*) {
  return std::tuple(Needed("mean", &Estimate::value), Needed("interval", &Estimate::interval));
}

constexpr auto FieldsOf(const Bias*) {
  using T = Bias;
  return std::tuple(Needed("elements", &T::elements), Needed("magnitude", &T::magnitude),
                    Needed("value", &T::value), Optional("allowed", &T::allowed));
}

constexpr auto FieldsOf(const RareError*) {
  return std::tuple(Needed("once_in", &RareError::once_in), Needed("caught", &RareError::caught));
}

constexpr auto FieldsOf(const Correctness*) {
  using T = Correctness;
  return std::tuple(Needed("max_deviation", &T::max_deviation),
                    Needed("worst_bound_fraction", &T::worst_bound_fraction),
                    Needed("outputs_verified", &T::outputs_verified),
                    Optional("deterministic", &T::deterministic),
                    Optional("detectors", &T::detectors), Optional("absent", &T::absent),
                    Optional("degenerate", &T::degenerate), Optional("bias", &T::bias),
                    Optional("rare_errors", &T::rare_errors));
}

constexpr auto FieldsOf(const ContenderTiming*) {
  using T = ContenderTiming;
  return std::tuple(Needed("name", &T::name), Optional("median_us", &T::median_us),
                    Optional("gpu_busy_us", &T::gpu_busy_us),
                    Optional("interval_us", &T::interval_us), Optional("samples", &T::samples));
}

constexpr auto FieldsOf(const Comparison*) {
  using T = Comparison;
  return std::tuple(Needed("baseline", &T::baseline), Needed("ratio", &T::ratio),
                    Needed("interval", &T::interval), Needed("finding", &T::finding));
}

constexpr auto FieldsOf(const ModeTiming*) {
  using T = ModeTiming;
  return std::tuple(Needed("mode", &T::mode), Needed("candidate", &T::candidate),
                    Optional("floor_us", &T::roofline_us), Optional("aa_noise", &T::aa_noise),
                    Optional("below_floor", &T::below_roofline),
                    Optional("baselines", &T::baselines), Optional("comparisons", &T::comparisons));
}

constexpr auto FieldsOf(const Timing*) {
  return std::tuple(Needed("workload", &Timing::workload), Needed("modes", &Timing::modes));
}

constexpr auto FieldsOf(const AuditReport*) {
  using T = AuditReport;
  return std::tuple(Needed("tool", &T::tool), Needed("status", &T::status),
                    Optional("detail", &T::detail));
}

constexpr auto FieldsOf(const KernelProfile*) {
  return std::tuple(Needed("kernel", &KernelProfile::kernel),
                    Needed("metrics", &KernelProfile::metrics));
}

constexpr auto FieldsOf(const Profile*) {
  return std::tuple(Needed("source", &Profile::source), Needed("kernels", &Profile::kernels));
}

constexpr std::string_view TagOf(const Passed*) { return "passed"; }
constexpr auto FieldsOf(const Passed*) {
  using T = Passed;
  return std::tuple(Needed("level", &T::level), Needed("correctness", &T::correctness),
                    Needed("timings", &T::timings), Optional("profile", &T::profile),
                    Optional("audits", &T::audits));
}

constexpr auto FieldsOf(const Evidence*) {
  using T = Evidence;
  return std::tuple(
      Optional("device", &T::device), Optional("device_uuid", &T::device_uuid),
      Optional("driver", &T::driver), Optional("toolchain", &T::toolchain),
      Optional("architecture", &T::architecture), Optional("artifact_sha256", &T::artifact_sha256),
      Optional("baseline_library", &T::baseline_library), Optional("reference", &T::reference),
      Optional("baseline_choice", &T::baseline_choice), Optional("protocol", &T::protocol),
      Optional("sandbox", &T::sandbox), Optional("date", &T::date),
      Optional("kernels", &T::kernels), Optional("compile_ms", &T::compile_ms),
      Optional("judge_ms", &T::judge_ms));
}

// --- Search.

constexpr auto FieldsOf(const Point*) {
  return std::tuple(Needed("family", &Point::family), Needed("config", &Point::config));
}

constexpr auto FieldsOf(const Cost*) {
  using T = Cost;
  return std::tuple(Optional("evaluations", &T::evaluations),
                    Optional("gpu_seconds", &T::gpu_seconds),
                    Optional("wall_seconds", &T::wall_seconds), Optional("tokens", &T::tokens),
                    Optional("money", &T::money));
}

constexpr auto FieldsOf(const RewardTerms*) {
  using T = RewardTerms;
  return std::tuple(Needed("ratios", &T::ratios), Needed("deviations", &T::deviations),
                    Needed("code_length_bytes", &T::code_length_bytes));
}

// --- Chat.

constexpr auto FieldsOf(const ChatMessage*) {
  return std::tuple(Needed("role", &ChatMessage::role, Kind::kName),
                    Needed("text", &ChatMessage::text));
}

constexpr auto FieldsOf(const ChatSampling*) {
  using T = ChatSampling;
  return std::tuple(Optional("temperature", &T::temperature), Optional("top_p", &T::top_p),
                    Optional("max_tokens", &T::max_tokens),
                    Optional("seed", &T::seed, Kind::kSigned), Optional("stop", &T::stop));
}

constexpr auto FieldsOf(const ChatRequest*) {
  using T = ChatRequest;
  return std::tuple(Needed("asker", &T::role), Needed("samples", &T::samples),
                    Needed("messages", &T::messages), Optional("sampling", &T::sampling));
}
Status Finish(const JsonReader& json, ChatRequest& request);

constexpr auto FieldsOf(const ChatSample*) {
  return std::tuple(Needed("text", &ChatSample::text),
                    Needed("finish_reason", &ChatSample::finish_reason));
}
Status Finish(const JsonReader& json, ChatSample& sample);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_FIELDS_H_
