// Where the knowledge base lies, and the texts and files that count as one.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_KNOWLEDGE_FILE_H_
#define WARPSMITH_AGENT_KNOWLEDGE_KNOWLEDGE_FILE_H_

#include <memory>
#include <string>

#include "agent/knowledge/knowledge_base.h"
#include "base/result.h"

namespace warpsmith::knowledge {

// The base named by --knowledge (a path, or a server's address), else the user's.
std::string KnowledgePath(const std::string& option);

// What --knowledge names; where it names nothing and --store is a server's address, the base there.
std::string KnowledgeBeside(const std::string& store, const std::string& option);

// Made where there is none. A base that knows no state yet takes in the shipped seed.
Result<std::unique_ptr<knowledge::KnowledgeBase>> OpenKnowledge(const std::string& option);

// The same, to look at: one that was named and is not there is refused (kNoInput).
Result<std::unique_ptr<knowledge::KnowledgeBase>> OpenKnowledgeToRead(const std::string& option);

// What a base's file (which is then brought to the newest version) or its text holds. Refused: a
// file that is neither.
Result<knowledge::Contents> ReadKnowledge(const std::string& path);

// Are both the same file, whatever their names, or the same address?
bool IsSameBase(const std::string& a, const std::string& b);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_KNOWLEDGE_FILE_H_
