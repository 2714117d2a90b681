// The last word on a search: its best few are judged again, thoroughly and on fresh data, because
// the best of many that were measured once is flattered by its luck.
#ifndef WARPSMITH_SEARCH_CERTIFY_H_
#define WARPSMITH_SEARCH_CERTIFY_H_

#include <optional>
#include <string>
#include <vector>

#include "search/loop.h"

namespace warpsmith::search {

struct Certification {
  std::string run;               // its id
  std::vector<Step> steps;       // one for each finalist that was judged, in their order
  std::optional<size_t> winner;  // among `steps`: passed, with the highest ratio to the bar
  LoopResult loop;
};

// A run of its own (id "<search's id>/certify-<hash>"), hence stored, cached and resumable
// like any other. `search` is the request that found the finalists; its budget does not apply here.
// Protocol::Certified, in the search's modes, unless `protocol` says otherwise.
Result<Certification> Certify(const LoopRequest& search, const std::vector<Step>& finalists,
                              Compiler* compiler, Device& device, Store& store,
                              const LoopCallbacks& callbacks = {},
                              const std::optional<Protocol>& protocol = std::nullopt);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_CERTIFY_H_
