// The proposals under way, in proposal order: two generations deep.
#ifndef WARPSMITH_SEARCH_PIPELINE_H_
#define WARPSMITH_SEARCH_PIPELINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "core/proposer.h"
#include "core/store.h"

namespace warpsmith::search {

struct Item {
  int64_t index = 0;  // of its step
  Proposal proposal;
  std::string key;
  std::optional<JobLease> lease;  // once begun
};

class Pipeline {
 public:
  using KeyFunction = std::function<std::string(const Candidate&)>;

  Pipeline(Proposer& proposer, int batch, KeyFunction key_of);

  // Proposes generation g + 1 if all of g - 1 has been popped. Always whole generations, and none
  // that begins at `index_limit` or after: so a run resumed with a larger budget meets the same
  // proposals. To be called before anything of g is observed.
  Status Refill(int64_t index_limit);

  bool empty() const { return generations_.empty(); }
  Item& front() { return generations_.front().front(); }
  const Item& front() const { return generations_.front().front(); }
  void PopFront() { generations_.front().pop_front(); }
  // The proposer had nothing to say when all it proposed had been observed.
  bool exhausted() const { return exhausted_; }

  // In proposal order, until `visit` fails or returns false.
  Status ForEach(const std::function<Result<bool>(Item&)>& visit);

 private:
  using Generation = std::deque<Item>;
  Result<Generation> Next();

  Proposer& proposer_;
  const int batch_;
  const KeyFunction key_of_;
  std::deque<Generation> generations_;  // after Refill, the front one has an item
  int64_t proposed_ = 0;
  bool exhausted_ = false;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_PIPELINE_H_
