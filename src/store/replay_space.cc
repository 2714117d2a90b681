#include "store/replay_space.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/serialize.h"

namespace warpsmith::store {
namespace {

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

}  // namespace

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

}  // namespace warpsmith::store
