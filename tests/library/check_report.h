// The rows of a gemm_check, as they come.
#ifndef WARPSMITH_TESTS_LIBRARY_CHECK_REPORT_H_
#define WARPSMITH_TESTS_LIBRARY_CHECK_REPORT_H_

#include <warpsmith/gemm.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "cuda/driver.h"

namespace warpsmith::check {

class CheckReport {
 public:
  // `path`: empty for none. `skip`: the rows of an earlier run on the same device with the same
  // version of the library, whatever its pack; empty for none. kUsage where both are one file.
  static Result<CheckReport> Open(const std::string& path, const std::string& skip,
                                  const cuda::DeviceProperties& device);

  // Was it right when last seen in the run that is gone on with, run by the same with as much
  // workspace? `explained` is what the library says of it.
  bool Skips(const char* check, const warpsmith_gemm_problem& problem,
             const std::string& explained) const;
  // So many times on whatever problem, and wrong on none.
  bool SkipsKernel(const char* check, const std::string& explained, double times) const;
  void Add(const char* check, const warpsmith_gemm_problem& problem, double value, bool right,
           const std::string& what);

  int64_t done() const { return done_; }
  int64_t wrong() const { return wrong_; }
  bool is_whole() const { return !file_.is_open() || file_.good(); }  // every row was written

 private:
  // By check, problem and workspace.
  struct Seen {
    std::map<std::string, double> right;  // when last seen, so many times
    std::set<std::string> wrong;
  };

  Status ReadSkipped(const std::string& path, const std::string& device,
                     const std::string& version);

  std::ofstream file_;
  std::map<std::string, Seen> seen_;  // by check and kernel
  int64_t done_ = 0, wrong_ = 0;
};

}  // namespace warpsmith::check

#endif  // WARPSMITH_TESTS_LIBRARY_CHECK_REPORT_H_
