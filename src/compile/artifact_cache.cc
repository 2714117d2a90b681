#include "compile/artifact_cache.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/compression.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "compile/compilation.h"
#include "core/serialize.h"

namespace warpsmith::compile {
namespace {

// Raised when an entry's format, or what we read out of images and logs, changes.
constexpr char kEntryVersion[] = "warpsmith artifact 2";
constexpr int kCompressionLevel = 3;  // entries are read back within a few ms and rarely kept long
constexpr size_t kEntryBytes = size_t{1} << 30;

// An entry is Pack({version, key, "artifact", JSON, image}) or Pack({version, key, "failed",
// reason, log}).
std::vector<std::string> ItemsOf(const std::string& key, const CompileOutcome& outcome) {
  if (const auto* failed = std::get_if<CompileFailed>(&outcome)) {
    return {kEntryVersion, key, "failed", failed->reason, failed->log};
  }
  const auto& artifact = std::get<Artifact>(outcome);
  return {kEntryVersion, key, "artifact", JsonText(ToJson(artifact)), artifact.image};
}

Result<CompileOutcome> ReadArtifact(const std::string& json_text, std::string image) {
  const nlohmann::json json = TRY(ParseJson("cached artifact", json_text));
  Artifact artifact = TRY(ArtifactFrom(JsonReader("cached artifact", json)));
  artifact.image = std::move(image);
  artifact.from_cache = true;
  if (Sha256Hex(artifact.image) != artifact.image_sha256) {
    return Error{ErrorCode::kBadInput, "cached artifact: the image is not the one described", ""};
  }
  return CompileOutcome(std::move(artifact));
}

Result<CompileOutcome> ReadEntry(const std::filesystem::path& path, const std::string& key) {
  const std::string bytes = TRY(ReadFile(path));
  const std::string packed = TRY(Decompress(path.string(), bytes, kEntryBytes));
  std::vector<std::string> items = TRY(Unpack(path.string(), packed));
  if (items.size() != 5 || items[0] != kEntryVersion || items[1] != key) {
    return Error{ErrorCode::kVersion, path.string() + ": not this key's entry", ""};
  }
  if (items[2] == "failed") {
    return CompileOutcome(CompileFailed{std::move(items[3]), std::move(items[4]), false});
  }
  return ReadArtifact(items[3], std::move(items[4]));
}

}  // namespace

std::string CacheKey(const Candidate& candidate, const std::vector<std::string>& flags,
                     const std::string& toolchain_identity, const std::string& architecture) {
  std::vector<std::string> items = {kEntryVersion,   toolchain_identity,
                                    architecture,    std::string(Name(candidate.form)),
                                    candidate.entry, std::to_string(flags.size())};
  items.insert(items.end(), flags.begin(), flags.end());
  for (const auto& [path, text] : candidate.sources) {
    items.push_back(path);
    items.push_back(text);
  }
  return Sha256Hex(Pack(items));
}

std::optional<CompileOutcome> FindOutcome(const std::filesystem::path& root,
                                          const std::string& key) {
  auto outcome = ReadEntry(EntryPath(root, key), key);
  if (!outcome.ok()) return std::nullopt;
  return std::move(outcome).value();
}

Status StoreOutcome(const std::filesystem::path& root, const std::string& key,
                    const CompileOutcome& outcome) {
  const std::filesystem::path path = EntryPath(root, key);
  TRY(CreateDirectories(path.parent_path()));
  return WriteFileAtomic(path, Compress(Pack(ItemsOf(key, outcome)), kCompressionLevel));
}

}  // namespace warpsmith::compile
