// The measuring of `hgemm bench --against`: one shape after the other, our kernel with both
// libraries as its baselines.
#ifndef WARPSMITH_TOOLS_CONTEST_H_
#define WARPSMITH_TOOLS_CONTEST_H_

#include <future>
#include <optional>
#include <string>

#include "base/result.h"
#include "comparison_run.h"
#include "comparison_shape.h"
#include "core/protocol.h"
#include "core/verdict.h"
#include "hgemm/catalogue.h"
#include "machine.h"
#include "options.h"
#include "search.h"

namespace warpsmith::cli {

Protocol AgainstProtocol();

// What it is made with must outlive it.
class Contest {
 public:
  // `library`: an absolute path.
  Contest(Machine& machine, const BenchOptions& options, const hgemm::Catalogue& catalogue,
          const std::string& library);

  // The next shape's kernel is compiled meanwhile (null: there is none). Nullopt: the shape cannot
  // be compared now, as was said on stderr.
  Result<std::optional<Measured>> Measure(const hgemm::Problem& problem,
                                          const hgemm::Problem* next);

  // Of the measured kernels: those that are not the catalogue's any more.
  int changed() const { return changed_; }

 private:
  // A shape, and our kernel beside which the library and the bar are measured.
  struct Subject {
    SearchJob job;
    const hgemm::CatalogueRow* row;  // null: the catalogue has none
    Point point;
    std::optional<Candidate> plain =
        {};  // the same without launch overlap, where that is another one
  };

  // One look at the shape: its kernel, the bar, the library, and whoever else the terms name.
  Result<std::optional<Measured>> MeasureOnce(const Subject& subject, const ShapeTerms& terms);
  // The bar was found slower than another way of NVIDIA's.
  Status ChooseBarAgain(const Subject& subject);
  Result<Subject> Prepare(const hgemm::Problem& problem) const;
  std::future<void> CompileAhead(const Subject& subject);
  std::optional<Measured> Taken(const ShapeTerms& terms, const Verdict& verdict) const;

  Machine& machine_;
  const BenchOptions& options_;
  const hgemm::Catalogue& catalogue_;
  const std::string library_baseline_;  // its name: "lib:/..."
  std::optional<Subject> next_;
  std::future<void> compiled_;  // of the next one; waits when it is replaced
  int changed_ = 0;
};

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_CONTEST_H_
