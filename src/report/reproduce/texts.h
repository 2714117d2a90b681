// The folder's own files, as texts. Private to this folder.
#ifndef WARPSMITH_REPORT_REPRODUCE_TEXTS_H_
#define WARPSMITH_REPORT_REPRODUCE_TEXTS_H_

#include <string>

#include "report/reproduce/contender.h"
#include "report/reproduce/folder.h"

namespace warpsmith::reproduce {

// reproduce.cu. kBadInput where a tensor's extents or bounds do not evaluate.
Result<std::string> SourceText(const Subject& subject, const Contenders& contenders);

// reproduce.sh
std::string ScriptText(const Subject& subject, const Contenders& contenders);

// baseline.json, which baseline.py reads.
Result<std::string> BaselineText(const Subject& subject, const Contenders& contenders);

// README.txt
std::string ReadmeText(const Subject& subject, const Contenders& contenders);

}  // namespace warpsmith::reproduce

#endif  // WARPSMITH_REPORT_REPRODUCE_TEXTS_H_
