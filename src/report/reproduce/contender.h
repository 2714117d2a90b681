// Who is timed, and how it is written down. Private to this folder.
#ifndef WARPSMITH_REPORT_REPRODUCE_CONTENDER_H_
#define WARPSMITH_REPORT_REPRODUCE_CONTENDER_H_

#include <string>
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

}  // namespace warpsmith::reproduce

#endif  // WARPSMITH_REPORT_REPRODUCE_CONTENDER_H_
