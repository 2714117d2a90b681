// Of a catalogue's page what is about ratios: where kernels win, and where they lose.
#ifndef WARPSMITH_REPORT_ANALYSIS_RATIO_CARDS_H_
#define WARPSMITH_REPORT_ANALYSIS_RATIO_CARDS_H_

#include <string>

#include "report/analysis/study.h"

namespace warpsmith::analysis {

// Means by class, plots over log2(MNK), maps over M and N.
std::string RatioCard(const Chapter& chapter);

// Every ratio below 1.
std::string LossCard(const Chapter& chapter);

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_RATIO_CARDS_H_
