#include "search/tuning/stored_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/build_info.h"
#include "base/json_reader.h"
#include "core/step.h"
#include "search/tuning/search.h"
#include "store/run_memos.h"

namespace warpsmith::search {
namespace {

// What the agent, or a coding agent's server, kept of a step. A memo of another form says nothing.
report::StepNotes NotesIn(const std::string& memo) {
  report::StepNotes notes;
  const auto json = ParseJson("a step's memo", memo);
  if (!json.ok()) return notes;
  const JsonReader root("a step's memo", *json);
  const auto text = [&](const char* field) {
    const auto value = root.At(field).String();
    return value.ok() ? *value : std::string();
  };
  notes.state = text("state");
  notes.technique = text("technique");
  notes.previous = text("previous");
  const auto gain = root.At("log_gain").Number();
  if (gain.ok()) notes.log_gain = *gain;
  return notes;
}

Result<report::StoredRun> StepsOf(store::DatabaseStore& store, const RunRecord& run,
                                  const std::vector<RunRecord>& all) {
  report::StoredRun steps;
  steps.record = run;
  steps.steps = TRY(store.Steps(run.id));
  store::RunMemos memos(store, run.id);
  for (const Step& step : steps.steps) {
    const auto memo = TRY(memos.Find(store::StepKey(step.index)));
    if (memo) steps.notes[step.index] = NotesIn(*memo);
  }
  steps.certified = TRY(CertifiedSteps(store, run, all));
  TRY(Overrule(store, run.id, steps.steps));
  TRY(Overrule(store, run.id, steps.certified));
  return steps;
}

}  // namespace

Result<Trajectory> CertifiedSteps(store::DatabaseStore& store, const RunRecord& run,
                                  const std::vector<RunRecord>& all) {
  Trajectory certified;
  for (const RunRecord& other : all) {
    if (!IsCertification(other.id) || CertifiedRun(other.id) != run.id) continue;
    for (Step& step : TRY(store.Steps(other.id))) certified.push_back(std::move(step));
  }
  return certified;
}

Result<report::SideRuns> SideOf(store::DatabaseStore& store, const std::string& name,
                                const std::vector<RunRecord>& all) {
  report::SideRuns side;
  side.name = name;
  for (const RunRecord& run : all) {
    const bool is_of_it = run.id == name || run.id.starts_with(name + "/");
    if (!is_of_it || IsCertification(run.id)) continue;
    side.runs.push_back(TRY(StepsOf(store, run, all)));
  }
  if (side.runs.empty()) {
    return Error{ErrorCode::kNoInput, "no run named '" + name + "'",
                 "'warpsmith report' lists the runs"};
  }
  return side;
}

report::Origin OriginOfSides(const std::vector<report::SideRuns>& sides) {
  report::Origin origin;
  for (const report::SideRuns& side : sides) {
    for (const report::StoredRun& run : side.runs) {
      const DeviceInfo& device = run.record.device;
      if (origin.device.find(device.name) == std::string::npos) {
        origin.device += (origin.device.empty() ? "" : " and ") + device.name;
      }
      origin.driver = device.driver;
      if (device.origin != "local") origin.recording = device.origin;
      for (const Step& step : run.steps) {
        const Evidence& evidence = step.verdict.evidence;
        origin.date = std::max(origin.date, evidence.date);
        if (!evidence.toolchain.empty()) origin.toolkit = evidence.toolchain;
      }
    }
  }
  origin.program = "warpsmith " + std::string(build_info::Version());
  return origin;
}

}  // namespace warpsmith::search
