#include "check_report.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "check_data.h"
#include "util/clock.h"
#include "util/file.h"

namespace warpsmith::check {
namespace {

constexpr int kCellsOfSubject = 11;  // check,m,n,k,ops,dtype,alpha,beta,lda,ldb,ldc

// Empty: not a row of something that was right.
std::string SubjectOfRight(const std::string& line) {
  size_t end = std::string::npos;
  for (int cell = 0; cell < kCellsOfSubject; ++cell) {
    end = line.find(',', end + 1);
    if (end == std::string::npos) return "";
  }
  return line.find(",right,", end) == std::string::npos ? "" : line.substr(0, end);
}

}  // namespace

Result<CheckReport> CheckReport::Open(const std::string& path, const std::string& skip,
                                      const cuda::DeviceProperties& device) {
  CheckReport report;
  const std::string version = std::string("libwarpsmith_gemm ") + warpsmith_gemm_version();
  if (!skip.empty() && skip == path) {
    return Error{ErrorCode::kUsage, "--skip and --csv are one file", "give --csv another name"};
  }
  if (!skip.empty()) TRY(report.ReadSkipped(skip, "# " + device.name + ", "));
  if (path.empty()) return report;
  report.file_.open(path);
  report.file_ << "# " << device.name << ", " << UtcTimestamp() << ", " << version
               << ", gemm_check\ncheck,m,n,k,ops,dtype,alpha,beta,lda,ldb,ldc,value,result,what\n";
  if (report.file_.good()) return report;
  return Error{ErrorCode::kIo, "cannot write " + path, "name another --csv"};
}

Status CheckReport::ReadSkipped(const std::string& path, const std::string& device) {
  const std::string text = TRY(ReadFile(path));
  if (!text.starts_with(device)) {
    return Error{ErrorCode::kBadInput, path + " does not begin with '" + device + "'",
                 "--skip is for rows of the same device"};
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const std::string subject = SubjectOfRight(line); !subject.empty()) {
      skipped_.insert(subject);
    }
  }
  return {};
}

bool CheckReport::Skips(const char* check, const warpsmith_gemm_problem& problem) const {
  return skipped_.contains(std::string(check) + "," + Text(problem));
}

void CheckReport::Add(const char* check, const warpsmith_gemm_problem& problem, double value,
                      bool right, const std::string& what) {
  ++done_;
  wrong_ += right ? 0 : 1;
  std::string words = what;
  std::replace(words.begin(), words.end(), ',', ';');
  char number[32];
  std::snprintf(number, sizeof number, "%.4g", value);
  const std::string line = std::string(check) + "," + Text(problem) + "," + number + "," +
                           (right ? "right," : "WRONG,") + words;
  file_ << line << "\n" << std::flush;
  if (!right) std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace warpsmith::check
