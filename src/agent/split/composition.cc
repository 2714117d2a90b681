#include "agent/split/composition.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/file.h"
#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "core/json_fields.h"
#include "core/serialize.h"
#include "embedded/split_scripts.h"
#include "judge/correctness.h"
#include "judge/torch/torch_process.h"

namespace warpsmith::split {
namespace {

using nlohmann::json;

constexpr const char* kNoRun = "set WARPSMITH_PYTHON to a Python from 3.10 that has torch";
constexpr size_t kMaxReportBytes = size_t{256} << 20;  // of what a comparison answers

// TRY stands outside of braces here: what is built of them would be lost where it returns.
Result<json> TensorJson(const TensorSpec& tensor, const Sizes& sizes) {
  json object = {{"dtype", Name(tensor.dtype)},
                 {"generator", json_fields::Value(tensor.generator)}};
  object["extents"] = TRY(Extents(tensor, sizes));
  object["low"] = TRY(tensor.low.Evaluate(sizes));
  object["high"] = TRY(tensor.high.Evaluate(sizes));
  return object;
}

Result<json> BoundJson(const Task& task, const TensorSpec& output, const std::string& name,
                       const Sizes& sizes) {
  const judge::BoundCoefficients bound = TRY(judge::CoefficientsOf(
      task.tolerance, output.dtype, sizes, judge::MagnitudeKind::kLargestValue));
  return json{{"output", name},
              {"relative", bound.relative},
              {"absolute", bound.absolute},
              {"largest", bound.magnitude}};
}

// A longer sum allows a larger error, and a part may be a model's: it cannot add up more than there
// is, except as long as the whole's sums, whose tolerance it may have taken over.
Status CheckLength(const Task& whole, const Part& part, const Sizes& sizes) {
  if (!part.task.tolerance.reduction_length) return {};
  const int64_t length = TRY(part.task.tolerance.reduction_length->Evaluate(sizes));
  double longest = 0;
  if (whole.tolerance.reduction_length) {
    longest = static_cast<double>(TRY(whole.tolerance.reduction_length->Evaluate(sizes)));
  }
  for (const TensorSpec& tensor : part.task.tensors) {
    double elements = 1;
    for (const int64_t extent : TRY(Extents(tensor, sizes))) {
      elements *= static_cast<double>(extent);
    }
    longest += elements;
  }
  if (static_cast<double>(length) <= longest) return {};
  return Error{ErrorCode::kBadInput,
               "part '" + part.name + "': its reduction_length, " + std::to_string(length) +
                   ", is more than all its tensors hold",
               "give the length of the part's longest sum"};
}

// What each part's outputs are held to when it is measured alone.
Result<json> PartBounds(const Task& whole, const std::vector<Part>& parts, const Sizes& sizes) {
  json bounds = json::array();
  for (const Part& part : parts) {
    TRY(CheckLength(whole, part, sizes));
    for (const TensorSpec& tensor : part.task.tensors) {
      if (tensor.role != Role::kOutput) continue;
      json bound = TRY(BoundJson(part.task, tensor, part.values.at(tensor.name), sizes));
      bound["part"] = part.name;
      bounds.push_back(std::move(bound));
    }
  }
  return bounds;
}

Result<json> WorkloadJson(const Task& whole, const std::vector<Part>& parts,
                          const Workload& workload) {
  json tensors = json::object(), bounds = json::array();
  for (const auto& [name, tensor] : ValuesOf(whole, parts)) {
    tensors[name] = TRY(TensorJson(tensor, workload.sizes));
  }
  for (const TensorSpec& tensor : whole.tensors) {
    if (tensor.role != Role::kOutput) continue;
    bounds.push_back(TRY(BoundJson(whole, tensor, tensor.name, workload.sizes)));
  }
  const json part_bounds = TRY(PartBounds(whole, parts, workload.sizes));
  return json{{"name", workload.name},
              {"sizes", workload.sizes},
              {"tensors", tensors},
              {"bounds", bounds},
              {"part_bounds", part_bounds}};
}

json NamesOf(const Task& task, Role role) {
  json names = json::array();
  for (const TensorSpec& tensor : task.tensors) {
    if (tensor.role == role) names.push_back(tensor.name);
  }
  return names;
}

// What parts_process.py is told: nothing of the whole but its tensors' names.
json PartsJson(const Task& whole, const std::vector<Part>& parts, Author author) {
  json described = json::array();
  for (const Part& part : parts) {
    described.push_back(
        {{"name", part.name}, {"task", ToJson(part.task)}, {"values", part.values}});
  }
  return {{"strict", author == Author::kModel},
          {"inputs", NamesOf(whole, Role::kInput)},
          {"parts", described}};
}

Result<json> RequestOf(const Task& whole, const std::vector<Part>& parts, json parts_process) {
  json workloads = json::array();
  for (const Workload& workload : whole.workloads) {
    workloads.push_back(TRY(WorkloadJson(whole, parts, workload)));
  }
  return json{{"seeds", {1, 2}},
              {"whole", ToJson(whole)},
              {"parts", std::move(parts_process)},
              {"workloads", workloads}};
}

Result<Proof> ReadAnswer(const std::string& text) {
  const std::string source = "the composition's answer";
  const json value = TRY(ParseJson(source, text));
  const JsonReader reader(source, value);
  if (reader.Has("problem")) {
    const bool is_here =
        TRY(reader.At("code").Int()) == Describe(ErrorCode::kUnavailable).exit_status;
    const std::string problem = TRY(reader.At("problem").String());
    const std::string fix = TRY(reader.At("fix").String());
    return Error{is_here ? ErrorCode::kUnavailable : ErrorCode::kBadInput,
                 ForTerminal(problem, 600), ForTerminal(fix, 300)};
  }
  Proof proof;
  proof.worst = TRY(reader.At("worst").Number());
  proof.output = TRY(reader.At("output").String());
  proof.workload = TRY(reader.At("workload").String());
  proof.comparisons = TRY(reader.At("comparisons").Int());
  proof.confined = ForTerminal(TRY(reader.At("confined").String()), 300);
  return proof;
}

Status WriteScripts(const std::filesystem::path& folder) {
  for (const EmbeddedFile& file : embedded::SplitScripts()) {
    const std::string path(file.path);
    TRY(WriteFileAtomic(folder / path.substr(path.rfind('/') + 1), file.contents));
  }
  return {};
}

// Root becomes another user in the sandbox, or stays root without the right to read what is another
// user's: whoever it is, it reads this folder, and writes in its scratch folder.
Status OpenToAnyone(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  if (geteuid() != 0) return {};
  constexpr auto kRead = fs::perms::group_read | fs::perms::others_read;
  constexpr auto kEnter = kRead | fs::perms::group_exec | fs::perms::others_exec;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (!failed) fs::permissions(entry.path(), kRead, fs::perm_options::add, failed);
  }
  if (!failed) fs::permissions(folder, kEnter, fs::perm_options::add, failed);
  const auto all = fs::perms::all | fs::perms::sticky_bit;
  if (!failed) fs::permissions(folder / kScratch, all, failed);
  if (!failed) return {};
  return Error{ErrorCode::kIo, "opening " + folder.string() + ": " + failed.message(), ""};
}

// A Python program: `script` of the folder that its first argument names, with the other ones.
std::string ProgramFor(const std::string& script) {
  return torch::PeerProgram(
      "import runpy\nsys.path.insert(0, sys.argv[1])\nrunpy.run_path(sys.argv[1] + '/" + script +
      "')\n");
}

Result<std::string> Compose(const std::filesystem::path& folder, const json& request,
                            std::chrono::seconds limit) {
  const std::string python = TRY(torch::FindPython());
  const auto asked = folder / "request.json", answered = folder / "result.json";
  TRY(WriteScripts(folder));
  TRY(WriteFileAtomic(asked, JsonText(request)));
  ProcessLimits limits;
  limits.wall = limit;
  const ProcessOutcome ran = TRY(RunProcess(
      {python, "-c", ProgramFor("compose.py"), folder.string(), asked.string(), answered.string()},
      limits, {"CUDA_VISIBLE_DEVICES=", "PYTHONDONTWRITEBYTECODE=1"}));
  if (ran.timed_out) {
    return Error{
        ErrorCode::kTimeout,
        "comparing with the whole did not end within " + std::to_string(limit.count()) + " s",
        "give it longer: --limit SECONDS"};
  }
  std::error_code ignored;
  if (ran.signal == 0 && ran.exit_status == 0 && std::filesystem::exists(answered, ignored)) {
    return ReadRegularFile(answered, kMaxReportBytes);
  }
  return Error{ErrorCode::kUnavailable,
               "comparing with the whole with " + python + ": " +
                   (ran.signal != 0 ? std::string(strsignal(ran.signal))
                                    : ForTerminal(LastLine(ran.output), 300)),
               kNoRun};
}

Error TooSlow(std::chrono::seconds limit, Author author) {
  const std::string within = " did not end within " + std::to_string(limit.count()) + " s";
  // The whole did, which was tried before the model was asked.
  if (author == Author::kModel) {
    return {ErrorCode::kBadInput,
            "running the parts" + within + "; a few calls on whole tensors are faster than loops",
            "write them so, or give them longer: --limit SECONDS"};
  }
  return {ErrorCode::kUnavailable, "comparing the parts with the whole" + within,
          "give it longer: --limit SECONDS"};
}

}  // namespace

Result<Proof> Prove(const Task& whole, const std::vector<Part>& parts, Author author,
                    std::chrono::seconds limit) {
  const TemporaryDirectory ours = TRY(TemporaryDirectory::Create("warpsmith-split"));
  const TemporaryDirectory theirs = TRY(TemporaryDirectory::Create("warpsmith-parts"));
  TRY(WriteScripts(theirs.path()));
  TRY(CreateDirectories(theirs.path() / kScratch));
  TRY(WriteFileAtomic(theirs.path() / "parts.json", JsonText(PartsJson(whole, parts, author))));
  json launcher = json::array();
  if (author == Author::kModel) {
    TRY(OpenToAnyone(theirs.path()));
    launcher = {ThisExecutable().string(), kConfinedSubcommand, theirs.path().string()};
  }
  const json process = {{"launcher", launcher},
                        {"program", ProgramFor("parts_process.py")},
                        {"folder", theirs.path().string()},
                        {"scratch", (theirs.path() / kScratch).string()}};
  const Result<std::string> answer =
      Compose(ours.path(), TRY(RequestOf(whole, parts, process)), limit);
  if (answer.ok()) return ReadAnswer(*answer);
  if (answer.error().code == ErrorCode::kTimeout) return TooSlow(limit, author);
  return answer.error();
}

Status ProveWhole(const Task& whole, std::chrono::seconds limit) {
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("warpsmith-split"));
  TRY(ReadAnswer(TRY(Compose(folder.path(), TRY(RequestOf(whole, {}, nullptr)), limit))));
  return {};
}

namespace {

constexpr int64_t kMostProcesses = 2048;  // torch starts a thread for every core, several times
constexpr int64_t kMostOpenFiles = 4096;
constexpr int64_t kMostFileBytes = int64_t{64} << 20;

int64_t MemoryBytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

}  // namespace

sandbox::Policy ConfinedPolicy(const std::filesystem::path& folder,
                               const std::vector<std::filesystem::path>& readable, int socket) {
  sandbox::Policy policy;
  sandbox::AllowLibraries(&policy);
  policy.executable = readable;
  policy.executable.insert(policy.executable.end(), {"/usr", "/bin", "/lib", "/lib64"});
  policy.readable.insert(policy.readable.end(),
                         {folder, "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
                          "/sys/devices/system", "/sys/fs/cgroup"});
  policy.writable = {folder / kScratch};  // torch wants a temporary folder to begin at all
  policy.working_folder = folder;
  policy.descriptors = {socket};
  policy.environment = {"TMPDIR", "PYTHONPATH", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
                        "PYTHONDONTWRITEBYTECODE"};
  policy.allow_processes = true;  // to become Python
  policy.limits.processes = kMostProcesses;
  policy.limits.open_files = kMostOpenFiles;
  policy.limits.file_bytes = kMostFileBytes;
  policy.limits.data_bytes = MemoryBytes();
  return policy;
}

int ConfinedMain(const std::vector<std::string>& arguments) {
  const auto line = std::find(arguments.begin(), arguments.end(), "--");
  if (line == arguments.begin() || arguments.end() - line < 3) {
    return sandbox::Fail(
        {ErrorCode::kUsage,
         std::string(kConfinedSubcommand) + ": FOLDER READABLE... -- COMMAND... SOCKET", ""});
  }
  const auto reached = sandbox::Enter(ConfinedPolicy(
      arguments.front(), {arguments.begin() + 1, line}, std::atoi(arguments.back().c_str())));
  if (!reached.ok()) return sandbox::Fail(reached.error());
  setenv(kConfinedVariable, sandbox::Describe(*reached).c_str(), 1);
  return sandbox::Fail(sandbox::Become({line + 1, arguments.end()}));
}

}  // namespace warpsmith::split
