#include "agent/knowledge/knowledge_file.h"

#include <fstream>

#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/seed.h"
#include "base/file.h"
#include "store/postgres_connection.h"

namespace warpsmith::knowledge {
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

std::string KnowledgePath(const std::string& option) {
  return option.empty() ? (DataHome() / "knowledge.db").string() : option;
}

std::string KnowledgeBeside(const std::string& store, const std::string& option) {
  return option.empty() && store::IsServerAddress(store) ? store : option;
}

Result<std::unique_ptr<KnowledgeBase>> OpenKnowledge(const std::string& option) {
  auto base = TRY(KnowledgeBase::Open(KnowledgePath(option), store::Durability::kPowerLoss,
                                      store::WhenMissing::kCreate));
  if (TRY(base->States()).empty()) TRY(base->Take(knowledge::Seed()));
  return base;
}

Result<std::unique_ptr<KnowledgeBase>> OpenKnowledgeToRead(const std::string& option) {
  if (option.empty()) return OpenKnowledge(option);
  return KnowledgeBase::Open(option, store::Durability::kProcessDeath, store::WhenMissing::kRefuse);
}

Result<knowledge::Contents> ReadKnowledge(const std::string& path) {
  if (!store::IsServerAddress(path) && !IsDatabase(path)) {
    return knowledge::ContentsFromText(path, TRY(ReadFile(path)));
  }
  auto base =
      TRY(KnowledgeBase::Open(path, store::Durability::kProcessDeath, store::WhenMissing::kRefuse));
  TRY(base->Verify());
  return base->Read();
}

bool IsSameBase(const std::string& a, const std::string& b) {
  std::error_code none;
  return a == b || std::filesystem::equivalent(a, b, none);
}

}  // namespace warpsmith::knowledge
