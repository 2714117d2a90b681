#include "check_report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "check_data.h"
#include "util/clock.h"
#include "util/file.h"

namespace warpsmith::check {
namespace {

constexpr int kCellsOfSubject = 11;  // check,m,n,k,ops,dtype,alpha,beta,lda,ldb,ldc
constexpr std::string_view kRight = ",right,";

// npos: there are not so many cells.
size_t EndOfSubject(const std::string& line) {
  size_t end = std::string::npos;
  for (int cell = 0; cell < kCellsOfSubject; ++cell) {
    end = line.find(',', end + 1);
    if (end == std::string::npos) break;
  }
  return end;
}

// As a row has it: no commas.
std::string Words(std::string what) {
  std::replace(what.begin(), what.end(), ',', ';');
  return what;
}

}  // namespace

Result<CheckReport> CheckReport::Open(const std::string& path, const std::string& skip,
                                      const cuda::DeviceProperties& device) {
  CheckReport report;
  const std::string version = std::string("libwarpsmith_gemm ") + warpsmith_gemm_version();
  std::error_code unknown;
  if (!skip.empty() && std::filesystem::equivalent(skip, path, unknown)) {
    return Error{ErrorCode::kUsage, "--skip and --csv are one file", "give --csv another name"};
  }
  if (!skip.empty()) TRY(report.ReadSkipped(skip, "# " + device.name + ", ", version));
  if (path.empty()) return report;
  report.file_.open(path);
  report.file_ << "# " << device.name << ", " << UtcTimestamp() << ", " << version
               << ", gemm_check\ncheck,m,n,k,ops,dtype,alpha,beta,lda,ldb,ldc,value,result,what\n";
  if (report.file_.good()) return report;
  return Error{ErrorCode::kIo, "cannot write " + path, "name another --csv"};
}

Status CheckReport::ReadSkipped(const std::string& path, const std::string& device,
                                const std::string& version) {
  const std::string text = TRY(ReadFile(path));
  const std::string head = text.substr(0, text.find('\n'));
  if (!head.starts_with(device) || head.find(version) == std::string::npos) {
    return Error{ErrorCode::kBadInput,
                 path + " does not begin with '" + device + "..., " + version + "'",
                 "--skip is for rows of the same device and library"};
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = EndOfSubject(line);
    const size_t right = line.find(kRight, end);
    if (right == std::string::npos) continue;
    skipped_[line.substr(0, end)] = {std::strtod(line.c_str() + end + 1, nullptr),
                                     line.substr(right + kRight.size())};
  }
  return {};
}

bool CheckReport::Skips(const char* check, const warpsmith_gemm_problem& problem,
                        const std::string& by, double times) const {
  const auto found = skipped_.find(std::string(check) + "," + Text(problem));
  if (found == skipped_.end() || found->second.value < times) return false;
  return ("; " + found->second.what + ";").find("; " + Words(by) + ";") != std::string::npos;
}

void CheckReport::Add(const char* check, const warpsmith_gemm_problem& problem, double value,
                      bool right, const std::string& what) {
  ++done_;
  wrong_ += right ? 0 : 1;
  char number[32];
  std::snprintf(number, sizeof number, "%.4g", value);
  const std::string line = std::string(check) + "," + Text(problem) + "," + number + "," +
                           (right ? "right," : "WRONG,") + Words(what);
  file_ << line << "\n" << std::flush;
  if (!right) std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace warpsmith::check
