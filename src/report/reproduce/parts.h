// What the files of a folder are made of. Private to this folder.
#ifndef WARPSMITH_REPORT_REPRODUCE_PARTS_H_
#define WARPSMITH_REPORT_REPRODUCE_PARTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "report/reproduce/folder.h"

namespace warpsmith::reproduce {

struct Contender {
  std::string name;         // "candidate", or the baseline's
  std::string variable;     // in reproduce.cu
  std::string definition;   // C++ before main; may be empty
  std::string declaration;  // C++ in main: "Candidate candidate;"
  std::string build;        // shell: how its image comes about; empty for libraries
  Files sources;            // path in the folder -> text
  bool needs_cublas = false, needs_nvrtc = false;
};

struct Contenders {
  std::vector<Contender> timed;      // the candidate first
  std::vector<std::string> callees;  // of PyTorch: "eager", "compile"; timed by baseline.py
  std::vector<std::string> absent;   // "name: why", for README.txt
};

// Sources below `folder`. kBadInput for a name that could lead out of it, or that a shell would
// run.
Result<Files> FilesIn(const std::string& folder, const Files& sources);

Result<Contenders> ContendersOf(const Subject& subject, const Occupancy& occupancy);

// --- Launch plans as C++: a class of script/measure.h's kind.

// What the class is called, what it prints, and where its cubin lies.
struct ClassNames {
  std::string type, title, cubin;
};

// `plan` tells integers from floats, which the resolved one no longer does.
std::string PlanClass(const ClassNames& names, const Task& task, const LaunchPlan& plan,
                      const ResolvedPlan& resolved);

// --- The folder's own files.

// reproduce.cu. kBadInput where a tensor's extents or bounds do not evaluate.
Result<std::string> SourceText(const Subject& subject, const Contenders& contenders);

// reproduce.sh
std::string ScriptText(const Subject& subject, const Contenders& contenders);

// baseline.json, which baseline.py reads.
Result<std::string> BaselineText(const Subject& subject, const Contenders& contenders);

// README.txt
std::string ReadmeText(const Subject& subject, const Contenders& contenders);

// --- Foreign text inside generated sources: names come from task and candidate files, which come
// from anywhere.

// One line that ends no comment and moves no cursor: other bytes than printable ASCII become '?'.
std::string Plain(std::string_view text);

// A C++ string literal, quotes included.
std::string CppLiteral(std::string_view text);

// One word of a POSIX shell's command line.
std::string ShellWord(std::string_view text);

}  // namespace warpsmith::reproduce

#endif  // WARPSMITH_REPORT_REPRODUCE_PARTS_H_
