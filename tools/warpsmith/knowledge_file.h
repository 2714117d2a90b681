// Where the knowledge base lies, and the texts and files that count as one.
#ifndef WARPSMITH_TOOLS_KNOWLEDGE_FILE_H_
#define WARPSMITH_TOOLS_KNOWLEDGE_FILE_H_

#include <filesystem>
#include <memory>
#include <string>

#include "agent/knowledge/knowledge_base.h"
#include "base/result.h"

namespace warpsmith::cli {

// The base named by --knowledge, else the user's.
std::filesystem::path KnowledgePath(const std::string& option);

// Made where there is none. A base that knows no state yet takes in the shipped seed.
Result<std::unique_ptr<knowledge::KnowledgeBase>> OpenKnowledge(const std::string& option);

// The same, to look at: one that was named and is not there is refused (kNoInput).
Result<std::unique_ptr<knowledge::KnowledgeBase>> OpenKnowledgeToRead(const std::string& option);

// What a base's file (which is then brought to the newest version) or its text holds. Refused: a
// file that is neither.
Result<knowledge::Contents> ReadKnowledge(const std::filesystem::path& path);

// Are both the same file, whatever their names?
bool IsSameFile(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_KNOWLEDGE_FILE_H_
