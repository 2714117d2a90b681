// What the time of a repeated piece of work goes to.
#ifndef WARPSMITH_BASE_PHASE_H_
#define WARPSMITH_BASE_PHASE_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace warpsmith {

// While it lives, its thread's time is its own; while one inside it lives, that one's. They end in
// the reverse order.
class Phase {
 public:
  explicit Phase(std::string_view name);  // a literal
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  void Charge() const;

  const std::string_view name_;
  Phase* const outer_;
  const std::string_view work_;  // the outermost one's name
  mutable double since_;         // of what is not counted yet
};

// Of this process so far, by the outermost phase and by the phase; what is only the outermost one's
// is its "other". Thread-safe.
std::map<std::pair<std::string, std::string>, double> PhaseSeconds();

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_PHASE_H_
