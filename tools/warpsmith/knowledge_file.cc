#include "knowledge_file.h"

#include <fstream>

#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/seed.h"
#include "base/file.h"

namespace warpsmith::cli {
namespace {

using knowledge::KnowledgeBase;

bool IsDatabase(const std::filesystem::path& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;  // a pipe is read only once
  std::ifstream file(path, std::ios::binary);
  std::string begin(kMagic.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == kMagic;
}

}  // namespace

std::filesystem::path KnowledgePath(const std::string& option) {
  return option.empty() ? DataHome() / "knowledge.db" : std::filesystem::path(option);
}

Result<std::unique_ptr<KnowledgeBase>> OpenKnowledge(const std::string& option) {
  const std::filesystem::path path = KnowledgePath(option);
  if (path.has_parent_path()) TRY(CreateDirectories(path.parent_path()));
  auto base =
      TRY(KnowledgeBase::Open(path, store::Durability::kPowerLoss, store::WhenMissing::kCreate));
  if (TRY(base->States()).empty()) TRY(base->Take(knowledge::Seed()));
  return base;
}

Result<std::unique_ptr<KnowledgeBase>> OpenKnowledgeToRead(const std::string& option) {
  if (option.empty()) return OpenKnowledge(option);
  return KnowledgeBase::Open(option, store::Durability::kProcessDeath, store::WhenMissing::kRefuse);
}

Result<knowledge::Contents> ReadKnowledge(const std::filesystem::path& path) {
  if (!IsDatabase(path)) {
    return knowledge::ContentsFromText(path.string(), TRY(ReadFile(path)));
  }
  auto base =
      TRY(KnowledgeBase::Open(path, store::Durability::kProcessDeath, store::WhenMissing::kRefuse));
  TRY(base->Verify());
  return base->Read();
}

bool IsSameFile(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code none;
  return std::filesystem::equivalent(a, b, none);
}

}  // namespace warpsmith::cli
