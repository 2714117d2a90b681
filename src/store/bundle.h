// Work taken to a machine that has only a GPU and a driver, and back: docs/files.md.
//
//   MakeBundle here  ->  copy the folder  ->  ./run there  ->  copy it back  ->  TakeBundle here
#ifndef WARPSMITH_STORE_BUNDLE_H_
#define WARPSMITH_STORE_BUNDLE_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/device.h"
#include "store/database_store.h"
#include "store/recording.h"

namespace warpsmith::store {

// results.jsonl of a bundle: one line a verdict, appended and synced as they come.
// By key. A torn last line (the writer was killed) is ignored; so is a key that came before.
Result<std::map<std::string, Completed>> ReadBundleResults(const std::filesystem::path& folder);

inline constexpr int kBundleVersion = 1;

struct BundleContents {
  std::vector<Job> jobs;  // distinct keys; each with its artifact, all of one architecture
  std::string command;    // that made it, for a person
  std::filesystem::path executable;  // the warpsmith that will run it
  // Further files the run needs: path inside the bundle -> bytes ("judge.cubin", ...).
  std::map<std::string, std::string> files;
};

// Writes the folder aside and renames it into place. kConfig when `folder` exists, or the jobs are
// not fit for a bundle.
Status MakeBundle(const std::filesystem::path& folder, const BundleContents& contents);

struct Bundle {
  std::filesystem::path folder;
  std::string architecture, command, date;
  std::vector<Job> jobs;                     // artifacts with their images
  std::map<std::string, std::string> files;  // the further files, by path
};

// kBadInput: a file is missing, cut off or has another hash than the manifest says. kVersion.
Result<Bundle> ReadBundle(const std::filesystem::path& folder);

struct BundleProgress {
  int64_t done = 0, total = 0;
};

// Judges what has no result yet, appending each to results.jsonl as it comes; done before and
// killed at any instant, it goes on. Ends early, without an Error, when `stop` says so. kConfig
// when the device is of another architecture, or another than it was begun on; kBusy when another process runs the bundle.
Result<BundleProgress> RunBundle(const Bundle& bundle, Device& device,
                                 const std::function<bool()>& stop,
                                 const std::function<void(const BundleProgress&)>& on_progress);

// What a bundle's device measured, as if it had been recorded. kNotRecorded: nothing yet.
Result<std::shared_ptr<const Recording>> RecordedBundle(const std::filesystem::path& folder);

struct TakenBundle {
  int64_t imported = 0, known_before = 0, without_result = 0;
};

// Imports the results as verdicts; twice is the same as once. A result that belongs to no job of
// the bundle, or a job whose key is not its content's, refuses the whole bundle (kBadInput).
Result<TakenBundle> TakeBundle(const std::filesystem::path& folder, DatabaseStore& store);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_BUNDLE_H_
