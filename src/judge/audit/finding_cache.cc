#include "judge/audit/finding_cache.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "base/utf8.h"

namespace warpsmith::audit {
namespace {

// Raised when what an audit means by a finding changes.
constexpr int kEntryVersion = 1;

Result<AuditFinding> ReadEntry(const std::filesystem::path& path, const std::string& key) {
  const std::string text = TRY(ReadFile(path));
  const nlohmann::json document = TRY(ParseJson(path.string(), text));
  const JsonReader json(path.string(), document);
  TRY(json.OnlyFields({"version", "key", "audit", "clean", "detail"}));
  if (TRY(json.At("version").Int()) != kEntryVersion || TRY(json.At("key").String()) != key) {
    return Error{ErrorCode::kVersion, path.string() + ": not this key's entry", ""};
  }
  const std::string audit = TRY(json.At("audit").String());
  const std::string detail = TRY(json.At("detail").String());
  return TRY(json.At("clean").Bool()) ? Clean(audit, detail) : Convicted(audit, detail);
}

}  // namespace

std::string FindingCache::Key(const std::vector<std::string>& parts) {
  std::string text = "warpsmith finding " + std::to_string(kEntryVersion);
  for (const std::string& part : parts) text += "\n" + Sha256Hex(part);
  return Sha256Hex(text);
}

std::filesystem::path FindingCache::PathOf(const std::string& key) const {
  return root_ / key.substr(0, 2) / key.substr(2);
}

std::optional<AuditFinding> FindingCache::Find(const std::string& key) const {
  auto finding = ReadEntry(PathOf(key), key);
  if (!finding.ok()) return std::nullopt;
  return std::move(finding).value();
}

Status FindingCache::Store(const std::string& key, const AuditFinding& finding) const {
  const auto* report = std::get_if<AuditReport>(&finding);
  if (report != nullptr && report->status == AuditStatus::kAbsent) return {};
  const auto* rejected = std::get_if<Rejected>(&finding);
  const nlohmann::json document = {
      {"version", kEntryVersion},
      {"key", key},
      {"audit", report != nullptr ? report->tool : rejected->rule},
      {"clean", report != nullptr},
      {"detail", ValidUtf8(report != nullptr ? report->detail : rejected->detail)}};
  const std::filesystem::path path = PathOf(key);
  TRY(CreateDirectories(path.parent_path()));
  return WriteFileAtomic(path, document.dump());
}

}  // namespace warpsmith::audit
