#include "store/bundle.h"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <deque>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/compression.h"
#include "base/file.h"
#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "core/json_fields.h"
#include "core/serialize.h"
#include "store/line_journal.h"
#include "store/recording_format.h"
#include "store/verdict_parts.h"

namespace warpsmith {

// A job's line. The artifact's image is a file of its own.
constexpr auto FieldsOf(const Job*) {
  return std::tuple(Needed("key", &Job::key), Needed("task", &Job::task),
                    Needed("workload", &Job::workload), Needed("protocol", &Job::protocol),
                    Needed("candidate", &Job::candidate), Needed("artifact", &Job::artifact));
}

}  // namespace warpsmith

namespace warpsmith::store {
namespace {

constexpr const char* kResultsFile = "results.jsonl";
constexpr size_t kMaxResultsBytes = size_t{4} << 30;

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kManifestFile = "manifest.json";
constexpr const char* kJobsFile = "jobs.jsonl.zst";
constexpr const char* kDeviceFile = "device.json";
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
    const auto& artifact = job.artifact;
    const char* const wrong = !artifact ? "it has no artifact"
                              : artifact->architecture != jobs.front().artifact->architecture
                                  ? "it is for another architecture than the first"
                                  : (keys.insert(job.key).second ? nullptr : "it is there twice");
    if (wrong == nullptr) continue;
    return Error{ErrorCode::kConfig, "job " + job.key + " does not fit into the bundle: " + wrong,
                 "make a bundle for each architecture"};
  }
  if (!jobs.empty()) return {};
  return Error{ErrorCode::kNothingMeasured, "a bundle of no jobs", "choose at least one candidate"};
}

// Everything but the executable: path -> bytes, with hashes in the manifest.
std::map<std::string, std::string> FilesOf(const BundleContents& contents) {
  std::map<std::string, std::string> files = contents.files;
  std::string jobs;
  for (const Job& job : contents.jobs) {
    jobs += JsonText(json_fields::Value(job)) + "\n";
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
  Job job = TRY(json_fields::ReadAs<Job>(line));
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

// Each a job's of the bundle.
Result<std::map<std::string, Completed>> ResultsOf(const Bundle& bundle) {
  auto results = TRY(ReadBundleResults(bundle.folder));
  std::set<std::string> keys;
  for (const Job& job : bundle.jobs) keys.insert(job.key);
  for (const auto& [key, completed] : results) {
    if (keys.contains(key)) continue;
    return Damaged(bundle.folder / kResultsFile,
                   "result " + key + " belongs to no job of the bundle");
  }
  return results;
}

// On the disk when it returns. After an Error nothing of the line stays.
Status AppendTo(LineJournal& results, const Completed& completed) {
  const json line{{"key", completed.key},
                  {"gpu_seconds", NumberToJson(completed.gpu_seconds)},
                  {"verdict", ToJson(completed.verdict)}};
  TRY(results.Append(WithLineDigest(JsonText(line)) + "\n"));
  return results.Sync();
}

// One device judges all jobs: the first one's description begins a recording of the results.
Status CheckDevice(const Bundle& bundle, const DeviceInfo& device) {
  const Error other{ErrorCode::kConfig, "bundle " + bundle.folder.string() + " was ",
                    "run it on the device it was made for, or make another bundle"};
  if (device.architecture != bundle.architecture) {
    return Error{other.code,
                 other.message + "built for " + bundle.architecture + ", " + device.name + " is " +
                     device.architecture,
                 other.fix};
  }
  const auto begun = ReadFileInside(bundle.folder, kDeviceFile, kMaxFileBytes);
  if (!begun.ok() && begun.error().code == ErrorCode::kNoInput) {
    const RecordingHeader header{device, bundle.jobs.front().artifact->toolchain, UtcTimestamp(),
                                 bundle.command, std::nullopt};
    return WriteFileAtomic(bundle.folder / kDeviceFile, LineOf(header));
  }
  const auto first = TRY(Recording::FromLines(kDeviceFile, TRY(begun)))->header().device.name;
  if (first == device.name) return {};
  return Error{other.code, other.message + "begun on " + first + ", this is " + device.name,
               other.fix};
}

}  // namespace

Result<std::map<std::string, Completed>> ReadBundleResults(const fs::path& folder) {
  std::map<std::string, Completed> results;
  const auto read = ReadFileInside(folder, kResultsFile, kMaxResultsBytes);
  if (!read.ok() && read.error().code == ErrorCode::kNoInput) return results;
  const std::string text = WholeLines(TRY(read));
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string place =
        (folder / kResultsFile).string() + ", line " + std::to_string(++number);
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const json parsed = TRY(ParseJson(place, line));
    const JsonReader reader(place, parsed);
    TRY(CheckLineDigest(place, reader, line));
    TRY(reader.OnlyFields({"key", "gpu_seconds", "verdict", "sha256"}));
    const std::string key = TRY(reader.At("key").String());
    results.emplace(key, Completed{key, TRY(VerdictFrom(reader.At("verdict"))),
                                   TRY(reader.At("gpu_seconds").Number())});
    at = end + 1;
  }
  return results;
}

Status MakeBundle(const fs::path& folder, const BundleContents& contents) {
  TRY(CheckFit(contents.jobs));
  std::error_code error;
  if (fs::exists(folder, error)) {
    return Error{ErrorCode::kConfig, "bundle folder " + folder.string() + " exists already",
                 "name another folder, or remove this one"};
  }
  // Under another name until it is whole: a folder that was half written is never taken for a
  // bundle.
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
  const FileLock lock = TRY(FileLock::Acquire(
      bundle.folder / "lock", "bundle " + bundle.folder.string(), std::chrono::milliseconds(0)));
  TRY(CheckDevice(bundle, device.Info()));
  // Read first: what is no file would be waited for, or written elsewhere.
  const auto done = TRY(ResultsOf(bundle));
  LineJournal results = TRY(LineJournal::Open(bundle.folder / kResultsFile));
  std::deque<const Job*> todo;
  for (const Job& job : bundle.jobs) {
    if (!done.contains(job.key)) todo.push_back(&job);
  }
  BundleProgress progress{static_cast<int64_t>(done.size()),
                          static_cast<int64_t>(bundle.jobs.size())};
  for (size_t with_device = 0; !todo.empty() || with_device > 0;) {
    const bool stopping = stop && stop();
    if (stopping && with_device == 0) break;  // what the device has is waited for, and kept
    std::vector<Job> jobs;
    for (; !stopping && !todo.empty() && with_device < kJobsAtOnce; ++with_device) {
      jobs.push_back(*todo.front());
      todo.pop_front();
    }
    if (!jobs.empty()) TRY(device.Submit(std::move(jobs)));
    for (const Completed& completed : TRY(device.Collect(std::chrono::milliseconds(100)))) {
      TRY(AppendTo(results, completed));
      --with_device;
      ++progress.done;
      if (on_progress) on_progress(progress);
    }
  }
  return progress;
}

Result<std::shared_ptr<const Recording>> RecordedBundle(const fs::path& folder) {
  const Bundle bundle = TRY(ReadBundle(folder));
  const auto results = TRY(ResultsOf(bundle));
  if (results.empty()) {
    return Error{ErrorCode::kNotRecorded, "bundle " + folder.string() + " holds no results",
                 "start its ./run where the GPU is"};
  }
  std::string lines = TRY(ReadFileInside(folder, kDeviceFile, kMaxFileBytes));
  std::map<std::string, std::vector<const Job*>> spaces;  // of each task and its sizes
  for (const Job& job : bundle.jobs) {
    const std::string name = job.task.name + " " + job.workload.name;
    if (results.contains(job.key)) spaces[name].push_back(&job);
  }
  std::map<std::string, int> protocols;
  std::set<std::string> sources;
  RecordedPoint at;
  for (const auto& [name, jobs] : spaces) {
    std::map<std::string, int> known;  // by the point's name
    std::vector<Point> points;
    for (const Job* job : jobs) {
      const Point point{job->candidate.provenance.family, job->candidate.provenance.config};
      const int next = static_cast<int>(points.size());
      const auto [place, is_new] = known.emplace(PointName(point), next);
      at.point = place->second;
      const CandidateText text = TextOf(job->candidate);
      for (const auto& [path, sha256] : text.sources) {
        if (sources.insert(sha256).second) lines += LineOf(sha256, job->candidate.sources.at(path));
      }
      if (is_new) points.push_back(point);
      if (is_new) lines += LineOf(at, text);
      const int number = static_cast<int>(protocols.size());
      const auto [protocol, is_first] = protocols.emplace(ProtocolId(job->protocol), number);
      if (is_first) lines += LineOf(number, job->protocol);
      const Completed& result = results.at(job->key);
      lines +=
          LineOf(VerdictLine{job->key, at, protocol->second, result.gpu_seconds, result.verdict});
    }
    const Job& first = *jobs.front();
    lines += LineOf(at.space++, SpaceLine{first.task, first.workload, Space(name, points)});
  }
  return Recording::FromLines(folder.string(), std::move(lines));
}

Result<TakenBundle> TakeBundle(const fs::path& folder, DatabaseStore& store) {
  const Bundle bundle = TRY(ReadBundle(folder));
  const auto results = TRY(ResultsOf(bundle));
  TakenBundle taken;
  for (const Job& job : bundle.jobs) {
    const auto result = results.find(job.key);
    if (result == results.end()) {
      ++taken.without_result;
    } else if (TRY(store.ImportVerdict(job, result->second))) {
      ++taken.imported;
    } else {
      ++taken.known_before;
    }
  }
  return taken;
}

}  // namespace warpsmith::store
