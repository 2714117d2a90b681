#include "store/recorded_device.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/resolved_plan.h"
#include "core/serialize.h"
#include "store/bundle.h"
#include "store/recording.h"

namespace warpsmith::store {
namespace {

// The spaces of one or more recordings, joined by name.

struct Origin {
  std::shared_ptr<const Recording> recording;
  RecordedPoint at;
};

const Space& SpaceOf(const Origin& origin) {
  return origin.recording->spaces()[static_cast<size_t>(origin.at.space)].space;
}

struct Draft {
  Task task;
  Workload workload;
  std::optional<Origin> whole;  // a space with a verdict on each point: then it is all there is
  std::vector<Point> points;
  std::map<std::string, Origin> origins;      // by point name
  std::map<std::string, Protocol> protocols;  // by id
  int64_t verdicts = 0;
};

Status CheckSame(const Draft& draft, const SpaceLine& line, const Recording& recording) {
  if (TaskId(draft.task) == TaskId(line.task) && ToJson(draft.workload) == ToJson(line.workload)) {
    return {};
  }
  return Error{ErrorCode::kConfig,
               recording.name() + " has another task or other sizes for space " +
                   line.space.name() + " than a recording before it",
               "replay them one at a time"};
}

// The points of space `index` that have a verdict, with the protocols they were judged under.
struct Judged {
  std::set<int> points;
  std::set<int> protocols;
  int64_t verdicts = 0;
};

std::map<int, Judged> JudgedSpaces(const Recording& recording) {
  std::map<int, Judged> judged;
  for (const LineStart& start : recording.verdict_starts()) {
    Judged& space = judged[start.at.space];
    space.points.insert(start.at.point);
    space.protocols.insert(start.protocol);
    space.verdicts += 1;
  }
  return judged;
}

// `points`: null for all of the space's.
void AddPoints(Draft& draft, const Origin& space, const std::set<int>* points) {
  const std::vector<Point>& all = SpaceOf(space).points();
  for (int index = 0; index < static_cast<int>(all.size()); ++index) {
    if (points != nullptr && !points->contains(index)) continue;
    const Point& point = all[static_cast<size_t>(index)];
    const Origin origin{space.recording, {space.at.space, index}};
    if (draft.origins.emplace(PointName(point), origin).second) draft.points.push_back(point);
  }
}

void AddTo(Draft& draft, const std::shared_ptr<const Recording>& recording, int space,
           const Judged& judged) {
  const SpaceLine& line = recording->spaces()[static_cast<size_t>(space)];
  if (draft.verdicts == 0 && judged.points.size() == line.space.size()) {
    draft.whole = Origin{recording, {space, 0}};
  } else {
    if (draft.whole) AddPoints(draft, *std::exchange(draft.whole, {}), nullptr);
    AddPoints(draft, {recording, {space, 0}}, &judged.points);
  }
  for (const int index : judged.protocols) {
    const Protocol& protocol = recording->protocols()[static_cast<size_t>(index)];
    draft.protocols.emplace(ProtocolId(protocol), protocol);
  }
  draft.verdicts += judged.verdicts;
}

Error NeverRecorded(const Point& point, const std::string& space, size_t others) {
  return {ErrorCode::kNotRecorded,
          "point \"" + PointName(point) + "\" of " + space + " was never recorded (" +
              std::to_string(others) + " other points were)",
          "choose a recorded point, or measure on a GPU"};
}

CandidateMaker MakerOf(const std::string& name, Origin whole) {
  return [name, whole = std::move(whole)](const Point& point) -> Result<Candidate> {
    const Space& space = SpaceOf(whole);
    const int index = space.Find(point);
    if (index < 0) return NeverRecorded(point, name, space.size());
    return whole.recording->ReadCandidate({whole.at.space, index});
  };
}

CandidateMaker MakerOf(const std::string& name, std::map<std::string, Origin> origins) {
  auto shared = std::make_shared<const std::map<std::string, Origin>>(std::move(origins));
  return [name, shared](const Point& point) -> Result<Candidate> {
    const auto found = shared->find(PointName(point));
    if (found == shared->end()) return NeverRecorded(point, name, shared->size());
    return found->second.recording->ReadCandidate(found->second.at);
  };
}

// In order of first appearance. The makers share the recordings. kConfig when two recordings give
// one name to different tasks or sizes.
Result<std::vector<ReplaySpace>> ReplaySpaces(
    const std::vector<std::shared_ptr<const Recording>>& recordings) {
  std::vector<std::string> order;
  std::map<std::string, Draft> drafts;
  for (const auto& recording : recordings) {
    for (const auto& [index, judged] : JudgedSpaces(*recording)) {
      const SpaceLine& line = recording->spaces()[static_cast<size_t>(index)];
      const auto [found, is_new] =
          drafts.emplace(line.space.name(), Draft{line.task, line.workload, {}, {}, {}, {}, 0});
      if (is_new) order.push_back(line.space.name());
      TRY(CheckSame(found->second, line, *recording));
      AddTo(found->second, recording, index, judged);
    }
  }
  std::vector<ReplaySpace> spaces;
  for (const std::string& name : order) {
    Draft& draft = drafts.at(name);
    ReplaySpace space{std::move(draft.task), std::move(draft.workload), {}, {}, {}, draft.verdicts};
    if (draft.whole) {
      space.space = SpaceOf(*draft.whole);
      space.make = MakerOf(name, *std::move(draft.whole));
    } else {
      space.space = Space(name, std::move(draft.points));
      space.make = MakerOf(name, std::move(draft.origins));
    }
    for (auto& [id, protocol] : draft.protocols) space.protocols.push_back(std::move(protocol));
    spaces.push_back(std::move(space));
  }
  return spaces;
}

Result<std::vector<std::filesystem::path>> RecordingFiles(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::filesystem::path>{path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == ".wsrec") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (!files.empty()) return files;
  return Error{ErrorCode::kNoInput, "there is no recording (*.wsrec) in " + path.string(),
               "name a recording, or make one with: warpsmith record"};
}

Status CheckSameDevice(const Recording& first, const Recording& other) {
  const DeviceInfo& a = first.header().device;
  const DeviceInfo& b = other.header().device;
  if (a.name == b.name && a.architecture == b.architecture) return {};
  return Error{ErrorCode::kConfig,
               first.name() + " was measured on " + a.name + ", " + other.name() + " on " + b.name,
               "replay one device's recordings at a time"};
}

std::string ProtocolNames(const std::vector<Protocol>& protocols) {
  std::string names;
  for (const Protocol& protocol : protocols) {
    names += (names.empty() ? "" : ", ") + std::string(Name(protocol.level));
    for (const Mode mode : protocol.modes) names += " " + std::string(Name(mode));
  }
  return names;
}

std::string SizesText(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) {
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  }
  return text;
}

std::string TextFor(const Candidate& candidate) {
  if (!candidate.provenance.family.empty()) {
    return PointName({candidate.provenance.family, candidate.provenance.config});
  }
  return CandidateId(candidate).substr(0, 12);
}

std::string Counted(int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

// kBadInput where the plan could not even be carried out for the workload. A judge that measures
// finds that out itself, as a verdict; a replay never gets to the plan.
Status CheckPlan(const Job& job, int sm_count) {
  if (job.candidate.form != Form::kKernel) return {};
  bool needs_gpu = false;
  const auto occupancy = [&needs_gpu](const ResolvedLaunch&) -> Result<int64_t> {
    needs_gpu = true;
    return int64_t{1};
  };
  const auto resolved =
      Resolve(job.candidate.plan, job.task, job.workload.sizes, sm_count, occupancy);
  if (resolved.ok() || needs_gpu) return {};
  Error error = resolved.error();
  error.message = "for workload '" + job.workload.name + "': " + error.message;
  return error;
}

}  // namespace

Error NeedsGpu(const std::string& what) {
  return {ErrorCode::kUnavailable, what + " needs an NVIDIA GPU; none here",
          "three ways to one: 'warpsmith serve' on a machine that has one and here --device "
          "http://HOST:PORT, for matrix products a bundle ('warpsmith bundle --help'), or a GPU "
          "rented by the hour; what was "
          "recorded replays without: --device FILE.wsrec"};
}

Result<std::unique_ptr<RecordedDevice>> RecordedDevice::Open(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path / "jobs.jsonl.zst", ignored)) {  // a bundle
    return Of({TRY(RecordedBundle(path))}, path.string());
  }
  std::vector<std::shared_ptr<const Recording>> recordings;
  for (const std::filesystem::path& file : TRY(RecordingFiles(path))) {
    recordings.push_back(TRY(Recording::Read(file)));
  }
  return Of(std::move(recordings), path.string());
}

Result<std::unique_ptr<RecordedDevice>> RecordedDevice::Of(
    std::vector<std::shared_ptr<const Recording>> recordings, std::string origin) {
  CHECK(!recordings.empty());
  std::unique_ptr<RecordedDevice> device(new RecordedDevice());
  device->recordings_ = std::move(recordings);
  for (const auto& recording : device->recordings_) {
    TRY(CheckSameDevice(*device->recordings_.front(), *recording));
    for (const LineStart& start : recording->verdict_starts()) {
      device->sources_.emplace(start.name, recording.get());
    }
    device->baselines_.insert(device->baselines_.end(), recording->baselines().begin(),
                              recording->baselines().end());
  }
  device->info_ = device->recordings_.front()->header().device;
  device->info_.needs_artifacts = false;
  device->info_.origin = std::move(origin);
  device->spaces_ = TRY(ReplaySpaces(device->recordings_));
  TRY(device->CheckKeys());
  return device;
}

// Keys are content hashes: a program that hashes differently would find nothing and say that
// nothing was measured. One key of each recording tells.
Status RecordedDevice::CheckKeys() const {
  for (const auto& recording : recordings_) {
    if (recording->verdict_starts().empty()) continue;
    const LineStart& start = recording->verdict_starts().front();
    const Candidate candidate = TRY(recording->ReadCandidate(start.at));
    const SpaceLine& space = recording->spaces().at(static_cast<size_t>(start.at.space));
    const Protocol& protocol = recording->protocols().at(static_cast<size_t>(start.protocol));
    if (MeasurementKey(candidate, space.task, space.workload, protocol) == start.name) continue;
    return Error{
        ErrorCode::kVersion,
        recording->name() + " was made by a warpsmith that computes other measurement keys",
        "use that warpsmith, or record again"};
  }
  return {};
}

Status RecordedDevice::Submit(std::vector<Job> jobs) {
  std::move(jobs.begin(), jobs.end(), std::back_inserter(pending_));
  return {};
}

Result<std::vector<Completed>> RecordedDevice::Collect(std::chrono::milliseconds /*patience*/) {
  std::vector<Completed> completed;
  while (!pending_.empty()) {
    const Job& job = pending_.front();
    if (!Has(job.key)) {
      if (!completed.empty()) return completed;
      const Status plan = CheckPlan(job, info_.sm_count);
      const Error error = plan.ok() ? NotRecorded(job) : plan.error();
      pending_.pop_front();
      return error;
    }
    completed.push_back(TRY(LookUp(job.key)));
    pending_.pop_front();
  }
  return completed;
}

Result<Completed> RecordedDevice::LookUp(const std::string& key) const {
  const auto found = sources_.find(key);
  if (found == sources_.end()) {
    return Error{ErrorCode::kNotRecorded, key + " was never measured", "measure on a GPU"};
  }
  VerdictLine line = TRY(found->second->ReadVerdict(key));
  return Completed{key, std::move(line.verdict), line.gpu_seconds};
}

Result<Candidate> RecordedDevice::CandidateOf(const std::string& key) const {
  const Recording& recording = *sources_.at(key);
  return recording.ReadCandidate(TRY(recording.ReadVerdict(key)).at);
}

Outcome RecordedDevice::Unmeasured(const Job& job) const {
  const Status plan = CheckPlan(job, info_.sm_count);
  if (!plan.ok()) return Rejected{"plan", plan.error().message};
  return Inconclusive{job.key +
                      " was never measured; without a GPU only recorded candidates have verdicts"};
}

const ReplaySpace* RecordedDevice::FindSpace(std::string_view task, const Sizes& sizes) const {
  const auto found = std::ranges::find_if(spaces_, [&](const ReplaySpace& space) {
    return space.task.name == task && space.workload.sizes == sizes;
  });
  return found == spaces_.end() ? nullptr : &*found;
}

// Says how near the recordings come: the same shape under other protocols, or which shapes there
// are.
Error RecordedDevice::NotRecorded(const Job& job) const {
  Error error{ErrorCode::kNotRecorded,
              info_.origin + " holds no verdict on \"" + TextFor(job.candidate) + "\" for " +
                  job.task.name + " " + SizesText(job.workload.sizes) + " (" +
                  ProtocolNames({job.protocol}) + ")",
              "ask for what was recorded, or measure on a GPU"};
  const ReplaySpace* of_task = nullptr;
  for (const ReplaySpace& space : spaces_) {
    if (TaskId(space.task) != TaskId(job.task)) continue;
    if (of_task == nullptr) of_task = &space;
    if (space.workload.sizes != job.workload.sizes) continue;
    error.message += "; of this shape it holds " +
                     Counted(static_cast<int64_t>(space.space.size()), "candidate") +
                     " judged as " + ProtocolNames(space.protocols);
    return error;
  }
  const Error needs_gpu =
      NeedsGpu("judging " + job.task.name + " (" + SizesText(job.workload.sizes) + ")");
  if (stands_in_) return needs_gpu;
  if (of_task == nullptr) {
    return {error.code, info_.origin + " holds nothing of task " + job.task.name, needs_gpu.fix};
  }
  error.message += "; of this task it holds other sizes, such as " + of_task->space.name();
  return error;
}

}  // namespace warpsmith::store
