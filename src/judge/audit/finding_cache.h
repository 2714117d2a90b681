// Findings that need not be made twice: <root>/<2 hex>/<62 hex>, written aside and renamed.
#ifndef WARPSMITH_JUDGE_AUDIT_FINDING_CACHE_H_
#define WARPSMITH_JUDGE_AUDIT_FINDING_CACHE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/audit/finding.h"

namespace warpsmith::audit {

// Thread-safe, and safe between processes.
class FindingCache {
 public:
  explicit FindingCache(std::filesystem::path root) : root_(std::move(root)) {}

  // Of everything that decides the finding.
  static std::string Key(const std::vector<std::string>& parts);

  // Nothing for a missing, damaged or foreign entry.
  std::optional<AuditFinding> Find(const std::string& key) const;
  // Clean and Rejected ones are kept; absence may pass, so it is not.
  Status Store(const std::string& key, const AuditFinding& finding) const;

 private:
  std::filesystem::path PathOf(const std::string& key) const;
  std::filesystem::path root_;
};

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_FINDING_CACHE_H_
