// A bounded line in which runs take turns: one that asks for much does not keep others waiting.
#ifndef WARPSMITH_SERVE_HTTP_FAIR_LINE_H_
#define WARPSMITH_SERVE_HTTP_FAIR_LINE_H_

#include <deque>
#include <map>
#include <optional>
#include <string>

namespace warpsmith::serve {

class FairLine {
 public:
  explicit FairLine(size_t capacity) : capacity_(capacity) {}

  size_t size() const { return size_; }
  bool HasRoomFor(size_t more) const { return size_ + more <= capacity_; }
  // What came before the line was there (a restart) is put in whatever its capacity.
  void Add(const std::string& run, std::string key) {
    std::deque<std::string>& keys = keys_[run];
    if (keys.empty()) turns_.push_back(run);
    keys.push_back(std::move(key));
    ++size_;
  }
  // The next run's first key.
  std::optional<std::string> Take() {
    if (turns_.empty()) return std::nullopt;
    std::string run = std::move(turns_.front());
    turns_.pop_front();
    const auto found = keys_.find(run);
    std::string key = std::move(found->second.front());
    found->second.pop_front();
    --size_;
    if (found->second.empty()) {
      keys_.erase(found);
    } else {
      turns_.push_back(std::move(run));
    }
    return key;
  }

 private:
  const size_t capacity_;
  size_t size_ = 0;
  std::map<std::string, std::deque<std::string>> keys_;  // by run; none is empty
  std::deque<std::string> turns_;                        // runs with keys, the next one first
};

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_HTTP_FAIR_LINE_H_
