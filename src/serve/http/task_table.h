// The tasks that a server judges, by name, and candidates of theirs as clients give them.
#ifndef WARPSMITH_SERVE_HTTP_TASK_TABLE_H_
#define WARPSMITH_SERVE_HTTP_TASK_TABLE_H_

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/device.h"
#include "store/recorded_device.h"

namespace warpsmith::serve {

// A task with one of its workloads.
struct Subject {
  Task task;
  Workload workload;
  const store::ReplaySpace* space = nullptr;  // on a recording, where it has these sizes
};
using SubjectPointer = std::shared_ptr<const Subject>;

// Thread-safe.
class TaskTable {
 public:
  // `folders`: tasks of the operator's. `recorded`: whose spaces are tasks, too, or null; it
  // outlives the table. `takes_tasks`: clients' own tasks are judged. `step_limit_ms`: of JobOf's
  // protocols, where it is shorter than theirs; 0: theirs.
  static Result<std::unique_ptr<TaskTable>> Open(const std::vector<std::string>& folders,
                                                 const store::RecordedDevice* recorded,
                                                 const DeviceInfo& device, bool takes_tasks,
                                                 int64_t step_limit_ms = 0);

  // By a name of the list, or a built-in one ("hgemm:..."); never a path. kNoInput where there is
  // no such task or workload.
  Result<SubjectPointer> Find(const std::string& task, const std::string& workload);

  // The job with the server's own copy of its task; kPermission for a task that is not the
  // server's, since its reference runs as the operator.
  Result<Job> Own(Job job) const;

  bool takes_tasks() const { return takes_tasks_; }
  nlohmann::json List() const;  // /v1/tasks

  // What came of reading a candidate: it, or why it cannot be one.
  using Read = std::variant<Candidate, Rejected>;
  // A point, a source with its plan, or a whole candidate. kBadInput for anything else.
  Result<Read> CandidateIn(const Subject& subject, const nlohmann::json& candidate) const;
  // kBadInput where the reply holds no candidate.
  Result<Read> CandidateIn(const Subject& subject, std::string_view completion) const;

  // Of a matrix product at these sizes, what a point may be: the values of each family's parameters
  // in the recorded space, else in the families' own. Of other tasks: empty.
  std::string ConfigurationsOf(const Subject& subject) const;
  // Where one of those points made the candidate, its provenance says so from now on.
  void NamePoint(const Subject& subject, Candidate& candidate) const;

  // At this level, by the recording's own protocol where it has another one.
  Job JobOf(const Subject& subject, const Candidate& candidate, Level level) const;

 private:
  TaskTable(const store::RecordedDevice* recorded, DeviceInfo device, bool takes_tasks,
            int64_t step_limit_ms)
      : recorded_(recorded),
        device_(std::move(device)),
        takes_tasks_(takes_tasks),
        step_limit_ms_(step_limit_ms) {}
  Status AddSpaces();
  void TakeRecordedName(Candidate& candidate) const;
  std::pair<Space, CandidateMaker> PointsOf(const Subject& subject) const;
  std::optional<Point> PointOf(const store::ReplaySpace& space, const std::string& name) const;
  Result<Read> PointIn(const Subject& subject, const nlohmann::json& object) const;

  const store::RecordedDevice* const recorded_;
  const DeviceInfo device_;
  const bool takes_tasks_;
  const int64_t step_limit_ms_;
  std::vector<std::string> names_;                             // in the list's order
  std::map<std::string, std::vector<SubjectPointer>> listed_;  // name -> workloads
  std::map<std::string, Task> own_;                            // by id
  // Of recorded candidates of one file: its text -> its name.
  std::map<std::string, std::string, std::less<>> recorded_files_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, SubjectPointer> built_in_;
  mutable std::map<std::string, Provenance> named_;  // by candidate id: finding a point is slow
  // Of spaces that were asked for: their points by name, with all parameters.
  mutable std::map<const store::ReplaySpace*, std::map<std::string, Point>> points_;
};

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_HTTP_TASK_TABLE_H_
