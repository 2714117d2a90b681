// The next search, made ready while the one before is measured: between two searches the GPU waits
// for neither a space nor a compiler.
#ifndef WARPSMITH_TOOLS_SEARCH_AHEAD_H_
#define WARPSMITH_TOOLS_SEARCH_AHEAD_H_

#include <future>
#include <thread>

#include "core/task.h"
#include "hgemm/catalogue.h"
#include "machine.h"
#include "search.h"

namespace warpsmith::cli {

// The catalogue that a tuning begins with. `near`: its path, which the search must be able to make
// use of (kUsage); "none"; or empty for the shipped one, if the search can use it. A replay has none
// by default: what is found in a recording should not have been known from elsewhere.
Result<hgemm::Catalogue> NearbyCatalogue(const std::string& near, const std::string& proposer,
                                         bool is_replay);

// HgemmSearch, without overlapping kernels where `options` wants none, and, but in a replay, with
// the catalogue's own kernels of the shape, ranked by the model that `options` names. It begins with these, and with what won nearby in the
// catalogue, which may be empty.
Result<SearchJob> TuneSearch(Machine& machine, const SearchOptions& options,
                             const hgemm::Catalogue& nearby, const Task& task,
                             const Workload& workload);

// Belongs to one thread. `machine`, `options` and `nearby` must outlive it.
class SearchAhead {
 public:
  SearchAhead(Machine& machine, const SearchOptions& options, const hgemm::Catalogue& nearby)
      : machine_(machine), options_(options), nearby_(nearby) {}
  ~SearchAhead();
  SearchAhead(const SearchAhead&) = delete;
  SearchAhead& operator=(const SearchAhead&) = delete;

  // Begins to make the search of an HGEMM workload, and with `compile` to compile what it will
  // propose before anything is measured; the artifacts wait in the compiler's cache. To be followed
  // by Take.
  void Begin(const Task& task, const Workload& workload, bool compile);
  // Waits for the search, not for its artifacts.
  Result<SearchJob> Take();

 private:
  void Join();

  Machine& machine_;
  const SearchOptions& options_;
  const hgemm::Catalogue& nearby_;
  std::future<Result<SearchJob>> job_;
  std::thread maker_;
};

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_SEARCH_AHEAD_H_
