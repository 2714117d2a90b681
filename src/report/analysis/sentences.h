// What a study comes to in plain words. Every number is the study's own.
#ifndef WARPSMITH_REPORT_ANALYSIS_SENTENCES_H_
#define WARPSMITH_REPORT_ANALYSIS_SENTENCES_H_

#include <string>
#include <vector>

#include "report/analysis/study.h"

namespace warpsmith::analysis {

// "3 of 11 shapes (27 %)"; of none "no shapes".
std::string ShareText(int part, int whole);
// Up to four digits, without zeros at the end: "0.995", "2.5", "12288".
std::string NumberText(double value);
std::string RatioText(double value);  // "1.060"
// "device, hot L2"
std::string ModeTitle(Mode mode);

// Of the whole chapter: shapes, families, choices, ratios.
std::vector<std::string> Overview(const Chapter& chapter);

// Of one trait, by its place in Traits(): what leads in each class, who uses it, what it goes with.
std::vector<std::string> SentencesOf(const Chapter& chapter, size_t trait);

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_SENTENCES_H_
