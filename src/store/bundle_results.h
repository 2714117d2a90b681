// results.jsonl of a bundle: one line a verdict, appended and synced as they come.
#ifndef WARPSMITH_STORE_BUNDLE_RESULTS_H_
#define WARPSMITH_STORE_BUNDLE_RESULTS_H_

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "base/file_lock.h"
#include "base/result.h"
#include "core/device.h"
#include "store/line_journal.h"

namespace warpsmith::store {

// By key. A torn last line (the writer was killed) is ignored; so is a key that came before.
Result<std::map<std::string, Completed>> ReadBundleResults(const std::filesystem::path& folder);

// The only writer of a bundle's results while it lives.
class BundleResults {
 public:
  // Cuts a torn last line off. kBusy when another process has the bundle open.
  static Result<BundleResults> Open(const std::filesystem::path& folder);
  // On the disk when it returns. After an Error nothing of the line stays.
  Status Append(const Completed& completed);

 private:
  BundleResults(FileLock lock, LineJournal journal)
      : lock_(std::move(lock)), journal_(std::move(journal)) {}

  FileLock lock_;
  LineJournal journal_;
};

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_BUNDLE_RESULTS_H_
