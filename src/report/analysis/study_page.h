// A catalogue's parameters against shape as one HTML file: sentences, plots, tables.
#ifndef WARPSMITH_REPORT_ANALYSIS_STUDY_PAGE_H_
#define WARPSMITH_REPORT_ANALYSIS_STUDY_PAGE_H_

#include <string>
#include <string_view>

#include "report/analysis/study.h"

namespace warpsmith::analysis {

// `subtitle`: what it was made of.
std::string ToHtml(const Study& study, std::string_view subtitle);

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_STUDY_PAGE_H_
