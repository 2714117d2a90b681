// A table of measurements for people and programs: what a comparison comes to, and the libraries'
// times.
#ifndef WARPSMITH_HGEMM_BENCH_MEASUREMENT_REPORT_H_
#define WARPSMITH_HGEMM_BENCH_MEASUREMENT_REPORT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hgemm/measurement_table.h"

namespace warpsmith::hgemm {

enum class TableStyle : uint8_t { kPlain, kMarkdown };

// Of a comparison, by mode a table of the classes, then one table by log2(M*N*K); of the libraries
// every time. At the end what the bar is worth.
std::string SummaryText(const MeasurementTable& table, TableStyle style);

// Terms, sessions, rows and summary (`warpsmith.against`), or the libraries' rows
// (`warpsmith.baselines`); and what the bar is worth.
nlohmann::json ToJson(const MeasurementTable& table);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_MEASUREMENT_REPORT_H_
