// A folder that times one judged candidate without warpsmith: with a CUDA toolkit and a GPU.
//
//   reproduce.sh    builds and runs the rest
//   reproduce.cu    the tensors and the launch plan, every expression a number; or the program
//   candidate/      the candidate's sources; a program's with the generated call
//   rivals/<n>/     of the rivals that are timed beside it
//   support/        what all such folders share: buffers, launches, clocks
//   baseline.py, baseline.json, reference/   where PyTorch is a baseline
//   README.txt      what warpsmith said, and what this does not do that the judge does
#ifndef WARPSMITH_REPORT_REPRODUCE_FOLDER_H_
#define WARPSMITH_REPORT_REPRODUCE_FOLDER_H_

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "core/candidate.h"
#include "core/device.h"
#include "core/resolved_plan.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith::reproduce {

// One row of an evaluation.
struct Subject {
  std::string name;  // of the candidate, for a person
  Task task;
  Workload workload;
  Candidate candidate;
  std::string key;  // of the measurement
  Verdict verdict;  // a Passed: others have no time to reproduce
  DeviceInfo device;
};

// How many clusters (or CTAs) of a launch of this candidate the device holds at once; asked only
// for plans that depend on it. An Error where there is no device to ask.
using Occupancy = std::function<Result<int64_t>(const Candidate&, const ResolvedLaunch&)>;

using Files = std::map<std::string, std::string>;  // path -> contents

// kNothingMeasured where the verdict is no Passed; kBadInput where the plan cannot be written as
// numbers, or a source's name could lead out of the folder. A rival or baseline that cannot be
// written is left out, and README.txt says so.
Result<Files> MakeFolder(const Subject& subject, const Occupancy& occupancy);

// Makes `dir`; files of the same names are replaced.
Status WriteFolder(const std::filesystem::path& dir, const Files& files);

// A part of a path made of any text: letters, digits, '.', '_', '-'; never empty, "." or "..".
std::string FolderName(const std::string& text);

}  // namespace warpsmith::reproduce

#endif  // WARPSMITH_REPORT_REPRODUCE_FOLDER_H_
