#include "store/bundle_results.h"

#include <nlohmann/json.hpp>

#include "base/foreign_file.h"
#include "base/json_reader.h"
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
  TRY(journal_.Append(WithLineDigest(line.dump()) + "\n"));
  return journal_.Sync();
}

}  // namespace warpsmith::store
