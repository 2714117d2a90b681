#include "serve/http/task_table.h"

#include <algorithm>
#include <array>
#include <set>

#include "agent/prompts/code_reply.h"
#include "agent/prompts/prompt_values.h"
#include "agent/prompts/reply_text.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "core/serialize.h"
#include "hgemm/family.h"
#include "judge/resolved_task.h"
#include "task/hgemm_task.h"
#include "task/task_file.h"

namespace warpsmith::serve {
namespace {

using nlohmann::json;

constexpr size_t kMostRemembered = 4096;  // built-in tasks, and candidates, that were asked for
constexpr size_t kMostPointFields = 256;
// Whose parameters are looked at first where a point does not name its family.
constexpr std::array<std::string_view, 3> kFamilyOrder = {"wgmma", "mma_sync", "tiny"};

hgemm::Problem ProductOf(const Subject& subject) {
  const task::HgemmShape shape = task::ShapeOf(subject.workload);
  const auto layout = hgemm::LayoutFromText(task::LayoutOf(subject.task));
  return {shape.m, shape.n, shape.k, layout.value(), task::DTypeOf(subject.task)};
}

// The reference that LoadTask reads back.
std::string ProductName(const Task& product, const Workload& workload) {
  return "hgemm:" + task::Name(task::ShapeOf(workload)) + ":" + task::LayoutOf(product) +
         (task::DTypeOf(product) == DType::kBF16 ? ":bf16" : "");
}

Error NoSuchTask(const std::string& what) {
  return {ErrorCode::kNoInput, what, "GET /v1/tasks lists them; serve --task FOLDER adds yours"};
}

bool IsPoint(const json& object) {
  if (!object.is_object() || object.empty()) return false;
  if (object.contains("family") || object.contains("values")) return true;
  return std::ranges::all_of(object, [](const json& value) { return value.is_number_integer(); });
}

// The object that the reply's last fenced block is, or the whole reply; null where it is none.
Result<json> LastObject(const std::string& reply) {
  std::string_view text = reply;
  const std::vector<prompts::Block> blocks = prompts::CutBlocks(reply);
  for (const prompts::Block& block : blocks) {
    if (block.fenced) text = block.text;
  }
  if (!Trimmed(text).starts_with('{')) return json();
  return ParseJson("the configuration", text);
}

Form FormOf(const Task& task, bool has_plan) {
  const auto takes = [&](Form form) { return std::ranges::count(task.forms, form) > 0; };
  if (has_plan && takes(Form::kKernel)) return Form::kKernel;
  return takes(Form::kProgram) ? Form::kProgram : Form::kKernel;
}

Status CheckWhole(const Candidate& candidate) {
  const bool lacks_plan = candidate.form == Form::kKernel && candidate.plan.operations.empty();
  if (!lacks_plan) return {};
  return Error{ErrorCode::kBadInput, "the candidate has no launch plan",
               "add one in a fence ```json plan.json, as POST /v1/prompt shows"};
}

Rejected NoPoint(const std::string& why) { return {"configuration", why}; }

std::map<std::string, std::map<std::string, std::set<int64_t>>> FamiliesOf(const Space& space) {
  std::map<std::string, std::map<std::string, std::set<int64_t>>> values;
  for (const Point& point : space.points()) {
    for (const auto& [name, value] : point.config) values[point.family][name].insert(value);
  }
  return values;
}

}  // namespace

Result<std::unique_ptr<TaskTable>> TaskTable::Open(const std::vector<std::string>& folders,
                                                   const store::RecordedDevice* recorded,
                                                   const DeviceInfo& device, bool takes_tasks,
                                                   int64_t step_limit_ms) {
  std::unique_ptr<TaskTable> table(new TaskTable(recorded, device, takes_tasks, step_limit_ms));
  if (recorded != nullptr) TRY(table->AddSpaces());
  for (const std::string& folder : folders) {
    const task::LoadedTask loaded = TRY(task::LoadTask(folder));
    const std::string& name = loaded.task.name;
    if (table->listed_.contains(name)) {
      return Error{ErrorCode::kConfig, "--task " + folder + ": a task \"" + name + "\" is there",
                   "give the tasks different names"};
    }
    for (const Workload& workload : task::AllWorkloads(loaded)) {
      if (workload.hidden) continue;
      TRY(judge::CheckTask(loaded.task, workload));
      table->listed_[name].push_back(
          std::make_shared<Subject>(Subject{loaded.task, workload, nullptr}));
    }
    table->names_.push_back(name);
    table->own_.emplace(TaskId(loaded.task), loaded.task);
  }
  return table;
}

Status TaskTable::AddSpaces() {
  for (const store::ReplaySpace& space : recorded_->Spaces()) {
    const bool is_product = !task::LayoutOf(space.task).empty();
    auto subject = std::make_shared<Subject>(Subject{space.task, space.workload, &space});
    const std::string name = is_product ? ProductName(space.task, space.workload) : space.task.name;
    if (!listed_.contains(name)) names_.push_back(name);
    listed_[name].push_back(subject);
    own_.emplace(TaskId(space.task), space.task);
    for (const Point& point : space.space.points()) {
      if (is_product) break;  // its candidates are points
      const Candidate candidate = TRY(space.make(point));
      if (candidate.sources.size() != 1) continue;
      recorded_files_.emplace(candidate.sources.begin()->second, candidate.entry);
    }
  }
  return {};
}

// A file's name is part of a candidate's key, and a reply need not give it.
void TaskTable::TakeRecordedName(Candidate& candidate) const {
  if (candidate.sources.size() != 1) return;
  const auto known = recorded_files_.find(candidate.sources.begin()->second);
  if (known == recorded_files_.end()) return;
  candidate.entry = known->second;
  candidate.sources = {{known->second, known->first}};
}

std::optional<Point> TaskTable::PointOf(const store::ReplaySpace& space,
                                        const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, Point>& points = points_[&space];
  if (points.empty()) {
    for (const Point& point : space.space.points()) {
      points.emplace(PointName(hgemm::WithAllParameters(point)), point);
    }
  }
  const auto found = points.find(name);
  return found == points.end() ? std::nullopt : std::optional(found->second);
}

Result<SubjectPointer> TaskTable::Find(const std::string& task, const std::string& workload) {
  const auto pick = [&](const std::vector<SubjectPointer>& subjects) -> Result<SubjectPointer> {
    for (const SubjectPointer& subject : subjects) {
      if (workload.empty() || subject->workload.name == workload) return subject;
    }
    return NoSuchTask("task \"" + task + "\" has no workload \"" + workload + "\"");
  };
  if (const auto found = listed_.find(task); found != listed_.end()) return pick(found->second);
  if (!task.starts_with("hgemm:")) {
    return NoSuchTask("there is no task \"" + task.substr(0, 100) + "\"");
  }
  const std::scoped_lock lock(mutex_);
  if (const auto known = built_in_.find(task); known != built_in_.end()) {
    return pick({known->second});
  }
  const task::LoadedTask loaded = TRY(task::LoadTask(task));
  TRY(judge::CheckTask(loaded.task, loaded.workload));
  SubjectPointer subject;
  const std::string name = ProductName(loaded.task, loaded.workload);
  if (const auto same = listed_.find(name); same != listed_.end()) {
    subject = same->second.front();
  } else {
    subject = std::make_shared<Subject>(Subject{loaded.task, loaded.workload, nullptr});
  }
  if (built_in_.size() >= kMostRemembered) built_in_.clear();
  built_in_[task] = subject;
  return pick({subject});
}

Result<Job> TaskTable::Own(Job job) const {
  const std::string id = TaskId(job.task);
  const std::string layout = task::LayoutOf(job.task);
  const bool is_built_in =
      !layout.empty() && TaskId(task::HgemmTask(layout, task::DTypeOf(job.task))) == id;
  if (const auto own = own_.find(id); own != own_.end()) {
    job.task = own->second;
  } else if (!is_built_in && !takes_tasks_) {
    return Error{ErrorCode::kPermission, "task \"" + job.task.name + "\" is not this server's",
                 "its operator may add it (--task) or take clients' own (--client-tasks)"};
  }
  TRY(judge::CheckTask(job.task, job.workload));
  return job;
}

json TaskTable::List() const {
  json tasks = json::array();
  for (const std::string& name : names_) {
    const std::vector<SubjectPointer>& subjects = listed_.at(name);
    const Subject& first = *subjects.front();
    json forms = json::array();
    std::vector<std::string> workloads;  // a recording may hold one under several protocols
    for (const SubjectPointer& subject : subjects) {
      const std::string& workload = subject->workload.name;
      if (std::ranges::find(workloads, workload) == workloads.end()) workloads.push_back(workload);
    }
    for (const Form form : first.task.forms) forms.push_back(Name(form));
    Task shown = first.task;
    if (shown.workloads.empty()) shown.workloads = {first.workload};
    tasks.push_back(
        {{"name", name},
         {"title", first.task.name + " " + first.workload.name},
         {"workloads", workloads},
         {"forms", forms},
         {"baselines", first.task.baselines},
         {"families", FamiliesOf(first.space == nullptr ? Space() : first.space->space)},
         {"facts", prompts::TaskFacts(shown)}});
  }
  return {{"tasks", tasks}};
}

std::pair<Space, CandidateMaker> TaskTable::PointsOf(const Subject& subject) const {
  if (subject.space != nullptr) return {subject.space->space, subject.space->make};
  const hgemm::Problem product = ProductOf(subject);
  return {hgemm::SpaceFor(product, hgemm::TargetOf(device_)),
          [product](const Point& point) { return hgemm::MakeCandidate(product, point); }};
}

std::string TaskTable::ConfigurationsOf(const Subject& subject) const {
  std::string text;
  if (task::LayoutOf(subject.task).empty()) return text;
  for (const auto& [family, values] : FamiliesOf(PointsOf(subject).first)) {
    text += family + " " + JsonText(json(values)) + "\n";
  }
  return text;
}

void TaskTable::NamePoint(const Subject& subject, Candidate& candidate) const {
  if (task::LayoutOf(subject.task).empty()) return;
  const std::string id = CandidateId(candidate);
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = named_.find(id); known != named_.end()) {
      candidate.provenance = known->second;
      return;
    }
  }
  const auto [space, make] = PointsOf(subject);
  for (const Point& point : space.points()) {
    const auto made = make(point);
    if (!made.ok() || made->sources != candidate.sources || CandidateId(*made) != id) continue;
    candidate.provenance = made->provenance;
    break;
  }
  const std::scoped_lock lock(mutex_);
  if (named_.size() >= kMostRemembered) named_.clear();
  named_.emplace(id, candidate.provenance);
}

Result<TaskTable::Read> TaskTable::PointIn(const Subject& subject, const json& object) const {
  const JsonReader reader("candidate", object);
  if (task::LayoutOf(subject.task).empty()) {
    return reader.Bad("source and plan: only matrix products have a space of configurations");
  }
  Point point;
  if (reader.Has("family")) point.family = TRY(reader.At("family").String());
  if (reader.Has("values")) TRY(reader.OnlyFields({"family", "values"}));
  const JsonReader values = reader.Has("values") ? reader.At("values") : reader;
  for (const auto& [name, value] : TRY(values.Fields())) {
    if (name != "family") point.config[name] = TRY(value.Int());
  }
  if (point.config.empty() && !reader.Has("values")) {
    return Error{ErrorCode::kBadInput, "the configuration has no \"values\"", ""};
  }
  if (point.config.size() > kMostPointFields) return values.Bad("the values of one configuration");
  const bool is_named = !point.family.empty();
  for (const std::string_view family : kFamilyOrder) {
    if (is_named) break;
    point.family = family;
    if (hgemm::CheckPoint(point).ok()) break;
  }
  if (subject.space != nullptr) {
    const std::string name = PointName(hgemm::WithAllParameters(point));
    const auto recorded = PointOf(*subject.space, name);
    if (recorded) return Read(TRY(subject.space->make(*recorded)));
  }
  if (const Status known = hgemm::CheckPoint(point); !known.ok()) {
    return Read(NoPoint(known.error().message));
  }
  const hgemm::Problem product = ProductOf(subject);
  if (!hgemm::IsLegal(product, hgemm::TargetOf(device_), point)) {
    return Read(NoPoint("\"" + PointName(point) + "\" is outside of what its family can do for " +
                        hgemm::NameOf(product)));
  }
  return Read(TRY(hgemm::MakeCandidate(product, hgemm::WithAllParameters(point))));
}

Result<TaskTable::Read> TaskTable::CandidateIn(const Subject& subject,
                                               const json& candidate) const {
  const JsonReader reader("candidate", candidate);
  if (!candidate.is_object()) return reader.Bad("an object");
  if (reader.Has("values")) return PointIn(subject, candidate);
  Candidate read;
  if (reader.Has("source")) {
    TRY(reader.OnlyFields({"source", "plan"}));
    read.form = FormOf(subject.task, reader.Has("plan"));
    read.toolchain = read.form == Form::kKernel ? "nvrtc" : "nvcc";
    read.entry = "kernel.cu";
    read.sources[read.entry] = TRY(reader.At("source").String());
    if (reader.Has("plan")) read.plan = TRY(LaunchPlanFrom(reader.At("plan")));
  } else {
    read = TRY(CandidateFrom(reader));
  }
  TakeRecordedName(read);
  TRY(CheckWhole(read));
  TRY(task::CheckForm("candidate", read, subject.task));
  return Read(std::move(read));
}

Result<TaskTable::Read> TaskTable::CandidateIn(const Subject& subject,
                                               std::string_view completion) const {
  const std::string reply = TRY(prompts::CleanReply(completion));
  const Result<json> object = LastObject(reply);
  const bool takes_points = !task::LayoutOf(subject.task).empty();
  if (takes_points && object.ok() && IsPoint(*object)) return PointIn(subject, *object);
  const bool has_code = reply.find("__global__") != std::string::npos;
  if (takes_points && !object.ok() && !has_code) return object.error();
  const prompts::CodeReply code = TRY(prompts::ReadCodeReply(reply, {}));
  Candidate empty;
  empty.form = FormOf(subject.task, code.plan.has_value());
  empty.toolchain = empty.form == Form::kKernel ? "nvrtc" : "nvcc";
  Candidate read = prompts::WithReply(empty, code);
  TakeRecordedName(read);
  TRY(CheckWhole(read));
  TRY(task::CheckForm("the reply", read, subject.task));
  return Read(std::move(read));
}

Job TaskTable::JobOf(const Subject& subject, const Candidate& candidate, Level level) const {
  const auto under = [&](const Protocol& protocol) {
    return Job{MeasurementKey(candidate, subject.task, subject.workload, protocol),
               subject.task,
               subject.workload,
               candidate,
               std::nullopt,
               protocol};
  };
  Protocol usual = level == Level::kCertified ? Protocol::Certified() : Protocol::Screened();
  usual = usual.For(candidate.form);
  if (recorded_ == nullptr && step_limit_ms_ > 0) {
    usual.step_timeout_ms = std::min(usual.step_timeout_ms, step_limit_ms_);
  }
  Job job = under(usual);
  if (recorded_ == nullptr || recorded_->Has(job.key)) return job;
  if (subject.space == nullptr) return job;
  for (const Protocol& protocol : subject.space->protocols) {
    if (protocol.level != level) continue;
    Job other = under(protocol);
    if (recorded_->Has(other.key)) return other;
  }
  return job;
}

}  // namespace warpsmith::serve
