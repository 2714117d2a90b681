#include "store/bundle.h"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <set>
#include <utility>

#include "base/clock.h"
#include "base/compression.h"
#include "base/file.h"
#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "core/serialize.h"

namespace warpsmith::store {
namespace {

constexpr const char* kResultsFile = "results.jsonl";
constexpr size_t kMaxResultsBytes = size_t{4} << 30;

Result<Completed> CompletedFrom(const JsonReader& line) {
  TRY(line.OnlyFields({"key", "gpu_seconds", "verdict", "sha256"}));
  Completed completed;
  completed.key = TRY(line.At("key").String());
  completed.verdict = TRY(VerdictFrom(line.At("verdict")));
  completed.gpu_seconds = TRY(line.At("gpu_seconds").Number());
  return completed;
}

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kManifestFile = "manifest.json";
constexpr const char* kJobsFile = "jobs.jsonl.zst";
constexpr size_t kMaxJobsBytes = size_t{1} << 30;
constexpr size_t kMaxFileBytes = size_t{256} << 20;  // the manifest, an image, the packed jobs
// Small, so that little is on its way when the run is stopped.
constexpr size_t kJobsAtOnce = 8;

constexpr std::string_view kRunScript = R"sh(#!/bin/sh
# Judges what has no result yet. Stop it at any time; it goes on where it was.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
exec "$here/warpsmith" bundle run "$here" "$@"
)sh";

std::string ImageFile(const std::string& sha256) { return "images/" + sha256 + ".cubin"; }

Status CheckFit(const std::vector<Job>& jobs) {
  std::set<std::string> keys;
  for (const Job& job : jobs) {
    const Error error{ErrorCode::kConfig, "job " + job.key + " does not fit into the bundle: ", ""};
    if (!job.artifact.has_value())
      return Error{error.code, error.message + "it has no artifact", ""};
    if (job.artifact->architecture != jobs.front().artifact->architecture) {
      return Error{error.code,
                   error.message + "it is for " + job.artifact->architecture + ", others for " +
                       jobs.front().artifact->architecture,
                   "make a bundle for each"};
    }
    if (!keys.insert(job.key).second)
      return Error{error.code, error.message + "it is there twice", ""};
  }
  if (!jobs.empty()) return {};
  return Error{ErrorCode::kNothingMeasured, "a bundle of no jobs", "choose at least one candidate"};
}

std::string JobLine(const Job& job) {
  return JsonText(json{{"key", job.key},
                       {"task", ToJson(job.task)},
                       {"workload", ToJson(job.workload)},
                       {"protocol", ToJson(job.protocol)},
                       {"candidate", ToJson(job.candidate)},
                       {"artifact", ToJson(*job.artifact)}}) +
         "\n";
}

// Everything but the executable: path -> bytes, with hashes in the manifest.
std::map<std::string, std::string> FilesOf(const BundleContents& contents) {
  std::map<std::string, std::string> files = contents.files;
  std::string jobs;
  for (const Job& job : contents.jobs) {
    jobs += JobLine(job);
    files.emplace(ImageFile(job.artifact->image_sha256), job.artifact->image);
  }
  files[kJobsFile] = Compress(jobs);
  files["run"] = kRunScript;
  return files;
}

std::string Manifest(const BundleContents& contents,
                     const std::map<std::string, std::string>& files) {
  json hashes = json::object();
  for (const auto& [path, bytes] : files) hashes[path] = Sha256Hex(bytes);
  return JsonText(json{{"warpsmith_bundle", kBundleVersion},
                       {"architecture", contents.jobs.front().artifact->architecture},
                       {"command", contents.command},
                       {"date", UtcTimestamp()},
                       {"jobs", contents.jobs.size()},
                       {"sha256", hashes}},
                  2);
}

Status CopyExecutable(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (!error) {
    fs::permissions(to, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec,
                    error);
  }
  if (!error) return {};
  return Error{ErrorCode::kIo,
               "copying " + from.string() + " to " + to.string() + ": " + error.message(),
               "look at free space and permissions"};
}

Status FillFolder(const fs::path& folder, const BundleContents& contents) {
  const std::map<std::string, std::string> files = FilesOf(contents);
  for (const auto& [path, bytes] : files) {
    TRY(CreateDirectories((folder / path).parent_path()));
    TRY(WriteFileAtomic(folder / path, bytes));
  }
  TRY(CopyExecutable(contents.executable, folder / "warpsmith"));
  std::error_code ignored;  // `sh run` works without
  fs::permissions(folder / "run", fs::perms::owner_all | fs::perms::group_read, ignored);
  return WriteFileAtomic(folder / kManifestFile, Manifest(contents, files));
}

Error Damaged(const fs::path& path, std::string_view what) {
  return {ErrorCode::kBadInput, path.string() + ": " + std::string(what),
          "copy the bundle again, or make it again"};
}

// Reads a file whose hash the manifest knows.
Result<std::string> ReadListed(const fs::path& folder, const JsonReader& manifest,
                               const std::string& path) {
  const std::string expected = TRY(manifest.At("sha256").At(path).String());
  std::string bytes = TRY(ReadFileInside(folder, path, kMaxFileBytes));
  if (Sha256Hex(bytes) != expected) {
    return Damaged(folder / path, "its contents are not what manifest.json says");
  }
  return bytes;
}

Result<Job> JobFrom(const JsonReader& line) {
  TRY(line.OnlyFields({"key", "task", "workload", "protocol", "candidate", "artifact"}));
  Job job;
  job.key = TRY(line.At("key").String());
  job.task = TRY(TaskFrom(line.At("task")));
  job.workload = TRY(WorkloadFrom(line.At("workload")));
  job.candidate = TRY(CandidateFrom(line.At("candidate")));
  job.artifact = TRY(ArtifactFrom(line.At("artifact")));
  job.protocol = TRY(ProtocolFrom(line.At("protocol")));
  if (MeasurementKey(job.candidate, job.task, job.workload, job.protocol) == job.key) return job;
  return line.At("key").Bad("the key of the job's contents");
}

Status CheckVersion(const JsonReader& manifest, const fs::path& folder) {
  const int64_t version = TRY(manifest.At("warpsmith_bundle").Int());
  if (version == kBundleVersion) return {};
  return Error{ErrorCode::kVersion,
               "bundle " + folder.string() + " has format " + std::to_string(version) +
                   ", this program reads " + std::to_string(kBundleVersion),
               "use the warpsmith that is inside the bundle"};
}

Result<std::vector<Job>> ReadJobs(const fs::path& folder, const JsonReader& manifest) {
  const std::string name = (folder / kJobsFile).string();
  const std::string text =
      TRY(Decompress(name, TRY(ReadListed(folder, manifest, kJobsFile)), kMaxJobsBytes));
  std::vector<Job> jobs;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string place = name + ", line " + std::to_string(jobs.size() + 1);
    const json parsed = TRY(ParseJson(place, std::string_view(text).substr(at, end - at)));
    Job job = TRY(JobFrom(JsonReader(place, parsed)));
    job.artifact->image = TRY(ReadListed(folder, manifest, ImageFile(job.artifact->image_sha256)));
    jobs.push_back(std::move(job));
    at = end + 1;
  }
  TRY(manifest.At("jobs").IntIn(static_cast<int64_t>(jobs.size()),
                                static_cast<int64_t>(jobs.size())));
  return jobs;
}

// Hands jobs out in order, keeping at most kJobsAtOnce with the device.
class BundleRun {
 public:
  BundleRun(const Bundle& bundle, Device& device, BundleResults results,
            const std::map<std::string, Completed>& done)
      : device_(device), results_(std::move(results)) {
    for (const Job& job : bundle.jobs) {
      if (!done.contains(job.key)) todo_.push_back(&job);
    }
    progress_.total = static_cast<int64_t>(bundle.jobs.size());
    progress_.done = progress_.total - static_cast<int64_t>(todo_.size());
  }

  Status Turn(bool may_submit, const std::function<void(const BundleProgress&)>& on_progress) {
    if (may_submit) TRY(SubmitMore());
    for (const Completed& completed : TRY(device_.Collect(std::chrono::milliseconds(100)))) {
      TRY(results_.Append(completed));
      --with_device_;
      ++progress_.done;
      if (on_progress) on_progress(progress_);
    }
    return {};
  }

  bool AllHandedOut() const { return next_ == todo_.size(); }
  bool Idle() const { return with_device_ == 0; }
  const BundleProgress& progress() const { return progress_; }

 private:
  Status SubmitMore() {
    std::vector<Job> jobs;
    while (next_ < todo_.size() && with_device_ + jobs.size() < kJobsAtOnce) {
      jobs.push_back(*todo_[next_++]);
    }
    with_device_ += jobs.size();
    if (jobs.empty()) return {};
    return device_.Submit(std::move(jobs));
  }

  Device& device_;
  BundleResults results_;
  std::vector<const Job*> todo_;
  size_t next_ = 0, with_device_ = 0;
  BundleProgress progress_;
};

Status CheckRuns(const Bundle& bundle, const DeviceInfo& device) {
  if (device.architecture == bundle.architecture) return {};
  return Error{ErrorCode::kConfig,
               "bundle " + bundle.folder.string() + " was built for " + bundle.architecture + ", " +
                   device.name + " is " + device.architecture,
               "run it on the device it was made for, or make another bundle"};
}

Status CheckBelong(const fs::path& folder, const std::vector<Job>& jobs,
                   const std::map<std::string, Completed>& results) {
  std::set<std::string> keys;
  for (const Job& job : jobs) keys.insert(job.key);
  for (const auto& [key, completed] : results) {
    if (!keys.contains(key)) {
      return Damaged(folder / "results.jsonl",
                     "result " + key + " belongs to no job of the bundle");
    }
  }
  return {};
}

}  // namespace

Result<std::map<std::string, Completed>> ReadBundleResults(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kResultsFile;
  std::map<std::string, Completed> results;
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path, ignored);
  if (status.type() == std::filesystem::file_type::not_found) return results;
  const std::string text = WholeLines(TRY(ReadFileInside(folder, kResultsFile, kMaxResultsBytes)));
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string place = path.string() + ", line " + std::to_string(++number);
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const nlohmann::json json = TRY(ParseJson(place, line));
    const JsonReader reader(place, json);
    TRY(CheckLineDigest(place, reader, line));
    Completed completed = TRY(CompletedFrom(reader));
    std::string key = completed.key;
    results.emplace(std::move(key), std::move(completed));
    at = end + 1;
  }
  return results;
}

Result<BundleResults> BundleResults::Open(const std::filesystem::path& folder) {
  FileLock lock = TRY(FileLock::Acquire(folder / "lock", "bundle " + folder.string(),
                                        std::chrono::milliseconds(0)));
  TRY(ReadBundleResults(folder));  // what is no file would be waited for, or written elsewhere
  LineJournal journal = TRY(LineJournal::Open(folder / kResultsFile));
  return BundleResults(std::move(lock), std::move(journal));
}

Status BundleResults::Append(const Completed& completed) {
  const nlohmann::json line{{"key", completed.key},
                            {"gpu_seconds", NumberToJson(completed.gpu_seconds)},
                            {"verdict", ToJson(completed.verdict)}};
  TRY(journal_.Append(WithLineDigest(JsonText(line)) + "\n"));
  return journal_.Sync();
}

Status MakeBundle(const fs::path& folder, const BundleContents& contents) {
  TRY(CheckFit(contents.jobs));
  std::error_code error;
  if (fs::exists(folder, error)) {
    return Error{ErrorCode::kConfig, "bundle folder " + folder.string() + " exists already",
                 "name another folder, or remove this one"};
  }
  const fs::path aside = folder.string() + ".partial-" + std::to_string(getpid());
  TRY(CreateDirectories(aside));
  const Status filled = FillFolder(aside, contents);
  if (filled.ok()) fs::rename(aside, folder, error);
  if (filled.ok() && !error) return {};
  std::error_code ignored;
  fs::remove_all(aside, ignored);
  if (!filled.ok()) return filled;
  return Error{ErrorCode::kIo, "renaming the bundle to " + folder.string() + ": " + error.message(),
               "look at permissions"};
}

Result<Bundle> ReadBundle(const fs::path& folder) {
  const std::string name = (folder / kManifestFile).string();
  const json parsed =
      TRY(ParseJson(name, TRY(ReadFileInside(folder, kManifestFile, kMaxFileBytes))));
  const JsonReader manifest(name, parsed);
  TRY(CheckVersion(manifest, folder));
  Bundle bundle;
  bundle.folder = folder;
  bundle.architecture = TRY(manifest.At("architecture").String());
  bundle.command = TRY(manifest.At("command").String());
  bundle.date = TRY(manifest.At("date").String());
  bundle.jobs = TRY(ReadJobs(folder, manifest));
  for (const auto& [path, hash] : TRY(manifest.At("sha256").Fields())) {
    if (path == kJobsFile || path.starts_with("images/")) continue;  // read with the jobs
    bundle.files[path] = TRY(ReadListed(folder, manifest, path));
  }
  return bundle;
}

Result<BundleProgress> RunBundle(const Bundle& bundle, Device& device,
                                 const std::function<bool()>& stop,
                                 const std::function<void(const BundleProgress&)>& on_progress) {
  TRY(CheckRuns(bundle, device.Info()));
  BundleResults results = TRY(BundleResults::Open(bundle.folder));
  const auto done = TRY(ReadBundleResults(bundle.folder));
  TRY(CheckBelong(bundle.folder, bundle.jobs, done));
  BundleRun run(bundle, device, std::move(results), done);
  while (!(run.AllHandedOut() && run.Idle())) {
    const bool stopping = stop && stop();
    if (stopping && run.Idle()) break;  // what the device has is waited for, and kept
    TRY(run.Turn(!stopping, on_progress));
  }
  return run.progress();
}

Result<TakenBundle> TakeBundle(const fs::path& folder, DatabaseStore& store) {
  const Bundle bundle = TRY(ReadBundle(folder));
  const auto results = TRY(ReadBundleResults(folder));
  TRY(CheckBelong(folder, bundle.jobs, results));
  TakenBundle taken;
  for (const Job& job : bundle.jobs) {
    const auto result = results.find(job.key);
    if (result == results.end()) {
      ++taken.without_result;
    } else if (TRY(store.Import(job, result->second))) {
      ++taken.imported;
    } else {
      ++taken.known_before;
    }
  }
  return taken;
}

}  // namespace warpsmith::store
