#include "core/json_fields.h"
#include "core/serialize.h"
#include "core/serialize_timing.h"

namespace warpsmith {
namespace {

using nlohmann::json;
using namespace json_fields;  // NOLINT(google-build-using-namespace): made for these files

constexpr int kCandidateVersion = 1;

json ToJson(const SamplingParameters& sampling) {
  json object{{"model", Value(sampling.model)},
              {"temperature", Value(sampling.temperature)},
              {"top_p", Value(sampling.top_p)}};
  Put(object, "seed", sampling.seed);
  return object;
}

Result<SamplingParameters> SamplingFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"model", "temperature", "top_p", "seed"}));
  SamplingParameters sampling;
  TRY(Need(json, "model", sampling.model));
  TRY(Need(json, "temperature", sampling.temperature));
  TRY(Need(json, "top_p", sampling.top_p));
  if (json.Has("seed")) sampling.seed = TRY(json.At("seed").Int());
  return sampling;
}

json ToJson(const KernelResources& kernel) {
  json object{{"name", Value(kernel.name)}, {"registers", kernel.registers_per_thread}};
  Put(object, "static_shared_bytes", kernel.static_shared_bytes, 0);
  Put(object, "stack_bytes", kernel.stack_bytes, 0);
  Put(object, "spill_store_bytes", kernel.spill_store_bytes, 0);
  Put(object, "spill_load_bytes", kernel.spill_load_bytes, 0);
  return object;
}

}  // namespace

json ToJson(const Provenance& provenance) {
  json object = json::object();
  Put(object, "parent", provenance.parent, {});
  Put(object, "proposer", provenance.proposer, {});
  Put(object, "group", provenance.group, {});
  Put(object, "technique", provenance.technique, {});
  Put(object, "family", provenance.family, {});
  Put(object, "config", provenance.config, {});
  Put(object, "prompt_sha256", provenance.prompt_sha256, {});
  Put(object, "sample_id", provenance.sample_id, {});
  Put(object, "logprob_sum", provenance.logprob_sum);
  if (provenance.sampling) object["sampling"] = ToJson(*provenance.sampling);
  return object;
}

Result<Provenance> ProvenanceFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"parent", "proposer", "group", "technique", "family", "config",
                       "prompt_sha256", "sample_id", "logprob_sum", "sampling"}));
  Provenance provenance;
  TRY(Take(json, "parent", provenance.parent));
  TRY(Take(json, "proposer", provenance.proposer));
  TRY(Take(json, "group", provenance.group));
  TRY(Take(json, "technique", provenance.technique));
  TRY(Take(json, "family", provenance.family));
  TRY(Take(json, "config", provenance.config));
  TRY(Take(json, "prompt_sha256", provenance.prompt_sha256));
  TRY(Take(json, "sample_id", provenance.sample_id));
  TRY(Take(json, "logprob_sum", provenance.logprob_sum));
  if (json.Has("sampling")) provenance.sampling = TRY(SamplingFrom(json.At("sampling")));
  return provenance;
}

json ToJson(const Candidate& candidate) {
  json object{{"version", kCandidateVersion},
              {"sources", Value(candidate.sources)},
              {"entry", Value(candidate.entry)},
              {"plan", ToJson(candidate.plan)}};
  Put(object, "form", candidate.form, Form::kKernel);
  Put(object, "toolchain", candidate.toolchain, std::string("nvrtc"));
  Put(object, "flags", candidate.flags);
  json provenance = ToJson(candidate.provenance);
  if (!provenance.empty()) object["provenance"] = std::move(provenance);
  return object;
}

Result<Candidate> CandidateFrom(const JsonReader& json) {
  TRY(NeedVersion(json, kCandidateVersion, "a candidate"));
  TRY(json.OnlyFields(
      {"version", "sources", "form", "entry", "toolchain", "flags", "plan", "provenance"}));
  Candidate candidate;
  TRY(Need(json, "sources", candidate.sources));
  TRY(Take(json, "form", candidate.form));
  TRY(Need(json, "entry", candidate.entry));
  if (!candidate.sources.empty() && !candidate.sources.contains(candidate.entry)) {
    return json.At("entry").Bad("one of the sources");
  }
  TRY(Take(json, "toolchain", candidate.toolchain));
  if (candidate.toolchain != "nvrtc" && candidate.toolchain != "nvcc") {
    return json.At("toolchain").Bad("nvrtc or nvcc");
  }
  TRY(Take(json, "flags", candidate.flags));
  candidate.plan = TRY(LaunchPlanFrom(json.At("plan")));
  if (json.Has("provenance")) candidate.provenance = TRY(ProvenanceFrom(json.At("provenance")));
  return candidate;
}

Result<KernelResources> KernelResourcesFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"name", "registers", "static_shared_bytes", "stack_bytes",
                       "spill_store_bytes", "spill_load_bytes"}));
  KernelResources kernel;
  TRY(Need(json, "name", kernel.name));
  TRY(Need(json, "registers", kernel.registers_per_thread));
  TRY(Take(json, "static_shared_bytes", kernel.static_shared_bytes));
  TRY(Take(json, "stack_bytes", kernel.stack_bytes));
  TRY(Take(json, "spill_store_bytes", kernel.spill_store_bytes));
  TRY(Take(json, "spill_load_bytes", kernel.spill_load_bytes));
  return kernel;
}

json KernelsToJson(const std::vector<KernelResources>& kernels) {
  json array = json::array();
  for (const KernelResources& kernel : kernels) array.push_back(ToJson(kernel));
  return array;
}

json ToJson(const Artifact& artifact) {
  json object{{"image_sha256", Value(artifact.image_sha256)},
              {"architecture", Value(artifact.architecture)},
              {"toolchain", Value(artifact.toolchain)},
              {"kernels", KernelsToJson(artifact.kernels)}};
  Put(object, "writable_global_bytes", artifact.writable_global_bytes, int64_t{0});
  Put(object, "opcodes", artifact.opcodes, {});
  Put(object, "warnings", artifact.warnings);
  Put(object, "log", artifact.log, {});
  Put(object, "compile_ms", artifact.compile_ms, 0.0);
  Put(object, "from_cache", artifact.from_cache, false);
  return object;
}

Result<Artifact> ArtifactFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"image_sha256", "architecture", "toolchain", "kernels",
                       "writable_global_bytes", "opcodes", "warnings", "log", "compile_ms",
                       "from_cache"}));
  Artifact artifact;
  TRY(Need(json, "image_sha256", artifact.image_sha256));
  TRY(Need(json, "architecture", artifact.architecture));
  TRY(Need(json, "toolchain", artifact.toolchain));
  TRY(ReadList<KernelResources>(json.At("kernels"), artifact.kernels, KernelResourcesFrom));
  TRY(Take(json, "writable_global_bytes", artifact.writable_global_bytes));
  TRY(Take(json, "opcodes", artifact.opcodes));
  TRY(Take(json, "warnings", artifact.warnings));
  TRY(Take(json, "log", artifact.log));
  TRY(Take(json, "compile_ms", artifact.compile_ms));
  TRY(Take(json, "from_cache", artifact.from_cache));
  return artifact;
}

}  // namespace warpsmith
