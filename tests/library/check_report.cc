#include "check_report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"
#include "check_data.h"
#include "core/space.h"
#include "hgemm/catalogue.h"
#include "hgemm/family.h"

namespace warpsmith::check {
namespace {

constexpr int kCellsOfSubject = 11;  // check,m,n,k,ops,dtype,alpha,beta,lda,ldb,ldc
constexpr std::string_view kRight = ",right,", kWrong = ",WRONG,";

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

// One kernel has one name, whatever parameters came later than the row.
std::string OneName(const std::string& by) {
  const Result<Point> kernel = hgemm::PointFromName(by);
  return kernel.ok() ? PointName(hgemm::WithAllParameters(*kernel)) : Words(by);
}

struct By {
  std::string name, workspace;
};

// Of what a row says, or the library explains: "0 elements differ; " before it, why behind it.
By ByOf(const std::string& what) {
  constexpr std::string_view kDiffer = " elements differ; ", kWorkspace = "; workspace ";
  std::string words = Words(what);
  if (const size_t at = words.find(kDiffer); at != std::string::npos) {
    words.erase(0, at + kDiffer.size());
  }
  const size_t end = words.find(kWorkspace);
  if (end == std::string::npos) return {OneName(words), ""};
  const size_t behind = words.find(';', end + 1);
  return {OneName(words.substr(0, end)),
          words.substr(end, behind == std::string::npos ? behind : behind - end)};
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
    if (end == std::string::npos) continue;
    const size_t right = line.find(kRight, end), wrong = line.find(kWrong, end);
    if (right == std::string::npos && wrong == std::string::npos) continue;
    const double times = std::strtod(line.c_str() + end + 1, nullptr);
    const std::string subject = line.substr(0, end), check = line.substr(0, line.find(','));
    const std::string what = right != std::string::npos ? line.substr(right + kRight.size())
                                                        : line.substr(wrong + kWrong.size());
    const By by = ByOf(what);
    Seen& seen = seen_[check + " " + by.name];
    if (right == std::string::npos) {
      seen.wrong.insert(subject + by.workspace);
      seen.right.erase(subject + by.workspace);
    } else {
      seen.wrong.erase(subject + by.workspace);
      double& most = seen.right[subject + by.workspace];
      most = std::max(most, times);
    }
  }
  return {};
}

bool CheckReport::Skips(const char* check, const warpsmith_gemm_problem& problem,
                        const std::string& explained) const {
  const By by = ByOf(explained);
  const auto seen = seen_.find(std::string(check) + " " + by.name);
  return seen != seen_.end() &&
         seen->second.right.contains(std::string(check) + "," + Text(problem) + by.workspace);
}

bool CheckReport::SkipsKernel(const char* check, const std::string& explained, double times) const {
  const auto seen = seen_.find(std::string(check) + " " + ByOf(explained).name);
  if (seen == seen_.end() || !seen->second.wrong.empty()) return false;
  return std::ranges::any_of(seen->second.right,
                             [&](const auto& subject) { return subject.second >= times; });
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
