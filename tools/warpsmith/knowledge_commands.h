// `warpsmith kb ...`: look at the knowledge base, and move it.
#ifndef WARPSMITH_TOOLS_KNOWLEDGE_COMMANDS_H_
#define WARPSMITH_TOOLS_KNOWLEDGE_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

struct KnowledgeOptions {
  CommonOptions common;
  std::string knowledge;  // the base; empty: $XDG_DATA_HOME/warpsmith/knowledge.db
};

struct KnowledgeShowOptions : KnowledgeOptions {
  std::string state;                            // one state whole
  std::string html;                             // write a page here
  int top = 3;                                  // techniques a state; 0: all
  int64_t budget_tokens = 0, budget_bytes = 0;  // render as a prompt holds it
  std::string task;                             // content id: names what failed on it
  std::optional<std::string> architecture, dtype, toolchain, previous;
};
Result<int> RunKnowledgeShow(const KnowledgeShowOptions& options);

struct KnowledgeFilesOptions : KnowledgeOptions {
  std::vector<std::string> files;
};
Result<int> RunKnowledgeMerge(const KnowledgeFilesOptions& options);   // into the base
Result<int> RunKnowledgeImport(const KnowledgeFilesOptions& options);  // the same; the base is new
Result<int> RunKnowledgeDiff(const KnowledgeFilesOptions& options);    // 1 where they differ
Result<int> RunKnowledgeExport(const KnowledgeFilesOptions& options);  // "-": stdout
Result<int> RunKnowledgeVerify(const KnowledgeOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_KNOWLEDGE_COMMANDS_H_
