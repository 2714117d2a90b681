// What Nsight Compute prints, down to the sentences that a person and a model are shown.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "fuzz.h"
#include "judge/profile/bottleneck.h"
#include "judge/profile/ncu_report.h"

using namespace warpsmith;

namespace {

void MustBeSane(const profile::NcuReport& report) {
  for (const KernelProfile& kernel : report.kernels) {
    CHECK(kernel.kernel.size() <= profile::kMaxKernelNameBytes && IsUtf8(kernel.kernel));
    for (const auto& [metric, value] : kernel.metrics) CHECK(std::isfinite(value));
  }
}

void MustBeShown(const Profile& profile) {
  profile::ProblemFacts facts;
  facts.flops = 1e9;
  facts.bytes = 1e8;
  facts.tensor_types = true;
  facts.tensor_flops_per_s = 1e15;
  facts.memory_bytes_per_s = 4e12;
  facts.roofline_us = 25;
  const profile::BottleneckReport report = profile::Diagnose(profile, facts);
  CHECK(IsUtf8(profile::BottleneckText(report)));
  CHECK(IsUtf8(profile::ModelBlock(report)));
  CHECK(!profile::ToJson(report, profile).dump().empty());
  for (const profile::Statement& statement : report.evidence) {
    CHECK(statement.weight >= 0 && statement.weight <= 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::TextOf(data, size);
  MustBeSane(profile::ReadNcuMessages(text));
  const auto report = profile::ReadNcuReport("ncu", text);
  if (fuzz::ValueOf(report) == nullptr) return 0;
  MustBeSane(*report);
  profile::DeniesCounters(*report);
  profile::UnknownMetrics(*report);
  MustBeShown({"ncu 2025.3.1", report->kernels});
  return 0;
}
