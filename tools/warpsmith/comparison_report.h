// A comparison's summary, as text, Markdown or JSON.
#ifndef WARPSMITH_TOOLS_COMPARISON_REPORT_H_
#define WARPSMITH_TOOLS_COMPARISON_REPORT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hgemm/comparison_table.h"

namespace warpsmith::cli {

enum class TableStyle : uint8_t { kPlain, kMarkdown };

// By mode a table of the classes, then one table by log2(M*N*K).
std::string SummaryText(const hgemm::ComparisonTable& table, TableStyle style);

// {"shapes": 1000, "checked": 125, "chosen_again": 2, "violations": 0, "headline": true}
nlohmann::json BarJson(const hgemm::BarStanding& standing);

// Terms, sessions, rows, summary, and what the bar is worth.
nlohmann::json ToJson(const hgemm::ComparisonTable& table);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMPARISON_REPORT_H_
