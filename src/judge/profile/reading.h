// One kernel's numbers as the rules read them. Private to this folder.
#ifndef WARPSMITH_JUDGE_PROFILE_READING_H_
#define WARPSMITH_JUDGE_PROFILE_READING_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/profile/bottleneck.h"

namespace warpsmith::profile {

// Loads or stores: the metrics that tell how well they use what they move.
struct GlobalAccess {
  std::string_view use_pct, sectors_per_request, sectors;
};
extern const GlobalAccess kLoads, kStores;

class Reading {
 public:
  Reading(const KernelProfile& kernel, const ProblemFacts& facts, size_t launches);

  std::optional<double> At(std::string_view metric) const;
  double Or(std::string_view metric, double absent) const;
  // "metric = value" for those that are there.
  std::vector<Citation> Cite(std::initializer_list<std::string_view> metrics) const;

  // Fraction of all waiting that these reasons make up; nullopt where they are all absent.
  std::optional<double> StallShare(std::initializer_list<std::string_view> reasons) const;
  // Part of the time in which even the busiest unit idles: what latency can be blamed for. Half
  // where no unit's use is known.
  double exposed() const { return exposed_; }
  // Fraction of the sectors that these accesses move for nothing.
  std::optional<double> Wasted(const GlobalAccess& access) const;
  // Their fraction of all sectors of global accesses; 1 where it is not known.
  double ShareOf(const GlobalAccess& access) const;
  // Of loads and stores together; 0 where it is not known.
  double WastedSectors() const;
  // Fraction of shared memory's wavefronts that are bank conflicts; 0 where it is not known.
  double ConflictShare() const;
  bool has_counters() const { return has_counters_; }

  const ProblemFacts& facts() const { return facts_; }
  size_t launches() const { return launches_; }  // in the whole plan

 private:
  const KernelProfile& kernel_;
  const ProblemFacts& facts_;
  size_t launches_;
  double exposed_ = 0.5;
  bool has_counters_ = false;
};

// Adds what it finds; `kernel` is filled in by the caller. Statements weigh 0 to 1.
using Rule = void (*)(const Reading& reading, std::vector<Statement>* found);

void ThroughputRules(const Reading& reading, std::vector<Statement>* found);
void AccessRules(const Reading& reading, std::vector<Statement>* found);
void LatencyRules(const Reading& reading, std::vector<Statement>* found);
void ShapeRules(const Reading& reading, std::vector<Statement>* found);

// About the whole plan: where the work lies under the part's roofline.
void RooflineRules(const ProblemFacts& facts, double time_us, bool has_counters,
                   std::vector<Statement>* found);

// "83" for 83.2, "0.41" for 0.412: for sentences.
std::string Rounded(double value);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_READING_H_
