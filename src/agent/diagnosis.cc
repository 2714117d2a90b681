#include "agent/diagnosis.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/json_reader.h"
#include "core/json_fields.h"
#include "core/serialize.h"
#include "judge/profile/metrics.h"

namespace warpsmith::profile {

// `measured_us` is the node's own, and is not remembered with the run's facts.
constexpr auto FieldsOf(const ProblemFacts*) {
  using T = ProblemFacts;
  return std::tuple(Needed("flops", &T::flops), Needed("bytes", &T::bytes),
                    Needed("tensor_types", &T::tensor_types),
                    Needed("tensor_flops_per_s", &T::tensor_flops_per_s),
                    Needed("memory_bytes_per_s", &T::memory_bytes_per_s),
                    Needed("floor_us", &T::roofline_us));
}
constexpr size_t UnlistedOf(const ProblemFacts*) { return 1; }

}  // namespace warpsmith::profile

namespace warpsmith::agent {
namespace {

using nlohmann::json;

constexpr double kWorthALook = 0.02;  // of the time

// A verdict is the format that knows how a profile is written.
std::string TextOf(const Result<Profile>& profile) {
  json text = json::object();
  if (profile.ok()) {
    Passed passed;
    passed.profile = *profile;
    text["profile"] = ToJson(Verdict{passed, {}});
  } else {
    text["absent"] = ForTerminal(profile.error().message, 300);
  }
  return JsonText(text);
}

Result<Profile> ProfileFrom(const std::string& key, const std::string& text) {
  const json parsed = TRY(ParseJson("memo " + key, text));
  const JsonReader root("memo " + key, parsed);
  if (root.Has("absent")) return Profile{"absent", {}};
  const Verdict verdict = TRY(VerdictFrom(root.At("profile")));
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  if (passed == nullptr || !passed->profile.has_value()) return root.At("profile").Bad("a profile");
  return *passed->profile;
}

void KeepTimes(Profile& profile) {
  for (KernelProfile& kernel : profile.kernels) {
    std::erase_if(kernel.metrics, [](const auto& metric) {
      return metric.first != profile::metric::kTimeNs && metric.first != profile::metric::kCycles;
    });
  }
}

Status Know(knowledge::KnowledgeBase& base, const std::string& state,
            const std::string& description) {
  if (TRY(base.FindState(state)).has_value()) return {};
  return base.Add(knowledge::State{state, knowledge::Origin::kDiscovered, description});
}

Result<std::string> NameIn(knowledge::KnowledgeBase& base, const std::string& primary,
                           const std::string& secondary, const std::string& description) {
  const std::string name = TRY(base.FinestName(primary, secondary));
  TRY(Know(base, name, description));
  return name;
}

// The node's kernels by the names that the base has: "primary/secondary" where it knows that finer
// state, else the primary; 'unknown' is added where it is missing.
Status NameKernels(Node& node, knowledge::KnowledgeBase& base) {
  node.kernels.clear();
  for (const prompts::State& state : node.states) {
    KernelState kernel;
    kernel.state = TRY(NameIn(base, state.name, state.secondary, ""));
    kernel.kernel = state.kernel;
    kernel.kernel_name = state.kernel_name;
    kernel.share = std::clamp(state.share, 1e-3, 1.0);
    node.kernels.push_back(std::move(kernel));
  }
  if (node.kernels.empty()) {
    node.kernels.push_back({std::string(prompts::kNoState), std::nullopt, "", 1});
    TRY(Know(base, node.kernels.front().state, ""));
  }
  return {};
}

}  // namespace

Result<profile::ProblemFacts> RememberedFacts(const profile::ProblemFacts& facts,
                                              store::RunMemos& memos) {
  constexpr const char* kKey = "facts";
  auto text = TRY(memos.Find(kKey));
  if (!text.has_value()) {
    text = JsonText(json_fields::Value(facts));
    TRY(memos.Keep(kKey, *text));
  }
  const json parsed = TRY(ParseJson(kKey, *text));
  return json_fields::ReadAs<profile::ProblemFacts>(JsonReader(kKey, parsed));
}

Result<Profile> RememberedProfile(const Node& node, const TakeProfile& take,
                                  store::RunMemos& memos) {
  const std::string key = "profile:" + node.id;
  auto text = TRY(memos.Find(key));
  if (!text.has_value()) {
    if (!take || memos.is_replay()) return Profile{"absent", {}};
    const Result<Profile> taken = take(node.candidate);
    if (!taken.ok() && taken.error().code == ErrorCode::kInterrupted) return taken.error();
    text = TextOf(taken);
    TRY(memos.Keep(key, *text));
  }
  return ProfileFrom(key, *text);
}

Status Diagnose(Node& node, Profile profile, Profiles shown, profile::ProblemFacts facts,
                knowledge::KnowledgeBase& base) {
  node.looked_at = true;
  if (shown == Profiles::kTimesOnly) KeepTimes(profile);
  facts.measured_us = node.time_us;
  node.report = profile::Diagnose(profile, facts);
  node.states = prompts::ExtractStates(node.report);
  return NameKernels(node, base);
}

Status TakeStates(Node& node, const std::vector<prompts::NamedState>& named,
                  knowledge::KnowledgeBase& base) {
  for (const prompts::NamedState& one : named) {
    for (KernelState& kernel : node.kernels) {
      if (kernel.kernel != one.kernel) continue;
      const std::string description = one.evidence.empty() ? "" : one.evidence.front();
      kernel.state = TRY(NameIn(base, one.state, one.secondary, description));
    }
  }
  return {};
}

bool IsUnsure(const Node& node) {
  if (node.report.kernels.empty()) return false;
  return std::any_of(node.states.begin(), node.states.end(), [](const prompts::State& state) {
    return prompts::IsUnsure(state) && state.kernel.has_value() && state.share >= kWorthALook;
  });
}

}  // namespace warpsmith::agent
