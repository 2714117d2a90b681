// A knowledge base for people: a table, a JSON document, a page. All three say what an Overview
// says.
#ifndef WARPSMITH_REPORT_KNOWLEDGE_REPORT_H_
#define WARPSMITH_REPORT_KNOWLEDGE_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "agent/knowledge/posterior.h"
#include "report/terminal.h"

namespace warpsmith::report {

inline constexpr int kKnowledgeReportVersion = 1;
// Outcomes listed one by one, the newest: a base may hold a hundred thousand.
inline constexpr size_t kListedOutcomes = 2000;

struct KnowledgeTitle {
  std::string title;    // the base's name
  std::string program;  // "warpsmith 0.1.0"
};

// What is in it, in two lines.
std::string KnowledgeLine(const knowledge::Overview& overview, const KnowledgeTitle& title);

// Each state's `most` most promising techniques; 0: all of them.
std::string RenderStates(const knowledge::Overview& overview, size_t most, Colour colour);

// One state whole: every technique, what foreign evidence counts, failures with reasons, notes.
// Empty where the base does not have the state.
std::string RenderState(const knowledge::Overview& overview, const std::string& state,
                        Colour colour);

std::string RenderTransitions(const knowledge::Overview& overview, size_t most, Colour colour);

nlohmann::json ToJson(const knowledge::Overview& overview, const KnowledgeTitle& title);
nlohmann::json ToJson(const knowledge::Difference& difference);  // `warpsmith.knowledge-diff`

std::string ToHtml(const knowledge::Overview& overview, const KnowledgeTitle& title);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_KNOWLEDGE_REPORT_H_
